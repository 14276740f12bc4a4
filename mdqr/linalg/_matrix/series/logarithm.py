"""Logarithms of matrices by square roots, until these are near I, and a polynomial."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._functions.creation import asarray
from mdqr._limbs.planes import Kind
from mdqr._precision import log_of_2
from mdqr.linalg._matrix.given import Keep, first_limbs, frobenius
from mdqr.linalg._matrix.refined.square_roots import SquareRoots
from mdqr.linalg._matrix.series.exponential import added
from mdqr.linalg._matrix.series.followed import lost_by_sum
from mdqr.linalg._matrix.series.plan import spectral_bound
from mdqr.linalg._matrix.series.polynomial import Polynomial
from mdqr.linalg._spectral.disks import SLACK

_GUARD = 64
# Roots are taken until ``norm(root - I)`` is at most this: more roots take longer than they save.
_NEAR = 0.25
# So many roots make every number of the range near 1.
_MOST_ROOTS = 40
# I is subtracted from matrices that differ from it by less.
_SMALL = 2.0
# Matrices are scaled where the mean logarithm of their eigenvalues to base 2 is beyond this.
_FAR = 64


class Logarithm:
    """The logarithms of matrices ``(batch, n, n)``, of two limbs or more.

    Attributes
    ----------
    value : MDArray
        The logarithms.
    last : numpy.ndarray
        Relative sizes of last corrections; infinite where none was found.
    """

    def __init__(self, backend: Backend, a: MDArray, *, keep: Keep) -> None:
        self._backend, self._keep = backend, keep
        self._powers = _mean_powers(first_limbs(a))[:, None, None]
        powers = backend.xp.asarray(-self._powers)
        a = self._a = a._like(backend.ldexp(a._block, powers, is_complex=a.is_complex))
        self._roots: list[SquareRoots] = []
        self.last = np.zeros(len(a))
        z = self._z = self._near_identity(backend, a)
        norm = spectral_bound(first_limbs(z)) * (1 + 2.0**-40) + 2.0**-1000
        is_near = norm <= 2 * _NEAR
        self.last = np.where(is_near, self.last, np.inf)
        self._norm = np.where(is_near, norm, 0.0)
        width, rows = _scheme(float(self._norm.max(initial=0.0)), a.precision.bits + 2)
        self._degree = width * rows
        self._series = Polynomial(backend, z, of_logarithm, width, rows, keep=keep)
        powers = backend.xp.asarray(np.full((1, 1, 1), len(self._roots)))
        value = backend.ldexp(self._series.value._block, powers, is_complex=z.is_complex)
        self.value = self._with_powers(z._like(value))

    def _near_identity(self, backend: Backend, a: MDArray) -> MDArray:
        """Take roots, and return Z with ``I + Z`` the last one."""
        x, z, before = a, _less_identity(backend, a), None
        for _ in range(_MOST_ROOTS):
            size = spectral_bound(first_limbs(z))
            if (size <= _NEAR).all() or not (self.last < 1).all():
                break
            if before is None or not before.shift:
                shift = int((size < _SMALL).all())
            before = SquareRoots(backend, z if shift else x, shift, before)
            self._roots.append(before)
            self.last = np.maximum(self.last, before.last)
            x = before.value
            z = x if shift else _less_identity(backend, x)
        return z

    def _with_powers(self, value: MDArray) -> MDArray:
        """Return the logarithms of the matrices before they were scaled."""
        if not self._powers.any():
            return value
        kind = Kind(value.precision.limbs, False)
        one = MDArray._wrap(kind.identity(np, value.shape[-2:]), value.precision, False)
        added = one * asarray(log_of_2(value.precision.bits + _GUARD), precision=value.precision)
        return value + (added * self._powers).to_device(value.device)

    @np.errstate(all="ignore")
    def error(self, of_a: np.ndarray) -> np.ndarray:
        """Return bounds of errors, in the Frobenius norm or of entries, for errors of entries of a.

        Errors of roots are errors of the next matrices. The error of the last, of norm e, changes
        the logarithm by at most ``e / (1 - norm(Z) - e)``; the first term that the polynomial omits
        and those behind it are below ``norm(Z)**(m + 1) / (m + 1) / (1 - norm(Z))``.
        """
        eps, n, norm = self._z.precision.eps, self._z.shape[-1], self._norm
        lost, basis, x, is_shifted = np.ldexp(of_a, -self._powers), None, self._a, 0
        for roots in self._roots:
            if roots.shift > is_shifted:
                lost = lost + self._lost(x, roots.z)
            x, is_shifted = roots.value, roots.shift
            within = roots.error(lost, basis)
            lost, basis = np.zeros(of_a.shape), within.basis
        entries = within.entries if self._roots else lost
        if not is_shifted:
            entries = entries + self._lost(x, self._z)
        e, degree = frobenius(entries), self._degree
        moved = np.where(norm + e < 1, e / (1 - norm - e), np.inf)
        omitted = math.sqrt(n) * norm ** (degree + 1) / (degree + 1) / (1 - norm)
        is_followed = self._keep == "errors"
        rounding = self._series.errors().entries() if is_followed else self._series.error()
        found = np.ldexp(SLACK**2 * added(rounding, moved + omitted), len(self._roots))
        size = frobenius(first_limbs(self.value)) + n * abs(self._powers[:, 0, 0])
        found = added(found, np.where(self._powers[:, 0, 0] != 0, 4 * eps * size, 0.0))
        return np.where(np.isfinite(found), SLACK * found, np.inf)

    def _lost(self, x: MDArray, z: MDArray) -> np.ndarray:
        """Return the rounding errors of entries of z where I was subtracted from x."""
        one = x._like(Kind(x.precision.limbs, x.is_complex).identity(self._backend.xp, x.shape))
        return lost_by_sum(self._backend, (1, x), (-1, one), (-1, z))


@np.errstate(all="ignore")
def _mean_powers(a: np.ndarray) -> np.ndarray:
    """Return the mean logarithms of eigenvalues to base 2, as integers; 0 where they are small."""
    mean = np.linalg.slogdet(a)[1] / (max(1, a.shape[-1]) * math.log(2))
    return np.where(np.isfinite(mean) & (abs(mean) > _FAR), mean, 0.0).astype(np.int64)


def _less_identity(backend: Backend, x: MDArray) -> MDArray:
    kind = Kind(x.precision.limbs, x.is_complex)
    one = kind.identity(backend.xp, x.shape)
    return x._like(backend.binary("subtract", x._block, one, kind=kind))


def _scheme(norm: float, bits: int) -> tuple[int, int]:
    """Return width and rows of the scheme with the fewest products."""
    gained = -math.log2(max(norm, 2.0**-400))
    degree = max(1, math.ceil(bits / gained))
    width = max(1, round(math.sqrt(degree)))
    return width, math.ceil(degree / width)


@cache
def of_logarithm(k: int) -> Fraction:
    """Return the coefficient of a power in the series of log(1 + z)."""
    return Fraction((-1) ** (k + 1), k) if k else Fraction(0)
