"""Roots of polynomials by Aberth's iteration, and the disks that contain them.

On the host; in few limbs first, as far as these go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._functions.comparison import where
from mdqr._functions.creation import asarray
from mdqr._functions.sequences import concatenate, stack
from mdqr._limbs import scaling
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._spectral.disks import Disks, conjugates, disks

# Clusters gain about a bit a step.
_MOST_STEPS = 1000
# Points are evaluated with those whose moduli differ by a power of two below that over n.
_RANGE = 1024
# What underflow takes from sums of terms of at most about 1, and from results.
_LOST = 2.0**-1000
_LEAST = 2.0**-1070


class Found(NamedTuple):
    """Approximate roots, by decreasing modulus, and what is proven of them."""

    values: MDArray
    disks: Disks


class _Polynomial(NamedTuple):
    """``sum_k c_k (2**power z)**k``: the first and the last term are of like size."""

    coefficients: MDArray
    power: int

    @classmethod
    def of(cls, coefficients: MDArray) -> _Polynomial:
        """Return a polynomial in a variable that suits it."""
        sizes = scaling.exponents_of(scaling.magnitude_bits(coefficients._block, True))
        return cls(coefficients, round(int(sizes[0] - sizes[-1]) / (len(sizes) - 1)))

    def scaled(self, exponent: int) -> tuple[MDArray, int]:
        """Return the coefficients for ``z / 2**exponent``, at most 1, over a power of two; that."""
        block, index = self.coefficients._block, np.arange(self.coefficients.shape[0])
        powers = index.astype(np.int64) * (self.power + exponent)
        sizes = scaling.exponents_or_absent(scaling.magnitude_bits(block, True))
        top = int((sizes + powers).max())
        return _times_power(self.coefficients, powers - top), top


class _Near(NamedTuple):
    """What is known at points z: ``abs(p(z)) = size 2**scale``, but for `noise`.

    `newton` is p over p'.
    """

    size: np.ndarray
    noise: np.ndarray
    scale: np.ndarray
    newton: MDArray


def found_roots(coefficients: MDArray, precision: Precision) -> Found:
    """Return the roots of ``c_0 + c_1 z + ... + c_n z^n``, rounded to a precision.

    Parameters
    ----------
    coefficients : MDArray
        ``(n + 1,)``, in host memory, real or complex, finite; c_0 and c_n are not zero.
    precision : Precision
        That of the values.

    Returns
    -------
    Found
        The roots and their disks.

    Notes
    -----
    Aberth's iteration (O. Aberth, Iteration methods for finding all zeros of a polynomial
    simultaneously, 1973) from moduli of the Newton polygon (D. A. Bini, Numerical computation of
    polynomial zeros by means of Aberth's method, 1996). Roots are eigenvalues of
    ``diag(z) - W 1^T``, ``W_i = p(z_i) / (c_n prod_j (z_i - z_j))`` (B. T. Smith, Error bounds for
    zeros of a polynomial based upon Gerschgorin's theorems, 1970).
    """
    n = coefficients.shape[0] - 1
    if n < 1:
        nothing = np.zeros((0, 0))
        return Found(coefficients[:0].astype(precision, dtype=complex), disks(nothing, nothing))
    work = next((p for p in PRECISIONS if p.limbs >= 2 * precision.limbs), PRECISIONS[-1])
    p = _Polynomial.of(coefficients.astype(max(work, coefficients.precision), dtype=complex))
    z = asarray(_starts(p), precision=PRECISIONS[0])
    for stage in PRECISIONS:
        if stage <= p.coefficients.precision:
            few = p._replace(coefficients=p.coefficients.astype(stage))
            z = _iterated(few, z.astype(stage))
    z = _separated(z.astype(precision))
    apart = _distances(z, z)
    moduli = np.broadcast_to(_corrections(p, z, apart)[:, None], (n, n))
    found = disks(apart, moduli)
    if not coefficients.is_complex:
        z, found = _mirrored(z, found)
    order = _order(z.to_numpy())
    z, found = z[order], Disks(found.radii[order], found.counts[order])
    with np.errstate(over="ignore"):
        radii = np.ldexp(found.radii, p.power) + _LEAST
    return Found(_times_power(z, np.asarray(p.power)), found._replace(radii=radii))


def _times_power(z: MDArray, powers: np.ndarray) -> MDArray:
    return z._like(for_block(z._block).ldexp(z._block, powers, is_complex=True))


def _starts(p: _Polynomial) -> np.ndarray:
    """Return points on circles of the moduli that the Newton polygon gives."""
    c = p.coefficients
    sizes = scaling.exponents_of(scaling.magnitude_bits(c._block, True))
    with np.errstate(divide="ignore"):
        logs = np.log2(abs(_times_power(c, -sizes)).to_numpy())
    logs = logs + sizes + np.arange(len(sizes)) * p.power
    n, first = len(logs) - 1, 0
    found = []
    while first < n:
        steps = np.arange(1, n - first + 1)
        slopes = (logs[first + 1 :] - logs[first]) / steps
        # The farthest of the steepest ones.
        last = first + int(steps[np.flatnonzero(slopes >= slopes.max() - 1e-9)[-1]])
        turn = 2 * np.pi * (np.arange(last - first) / (last - first) + first / n) + 0.7
        with np.errstate(over="ignore"):
            modulus = np.exp2((logs[first] - logs[last]) / (last - first))
        found.append(modulus * np.exp(1j * turn))
        first = last
    return np.concatenate(found)


def _iterated(p: _Polynomial, z: MDArray) -> MDArray:
    """Return points where p is no larger than its rounding errors, or which stay."""
    eps, active = z.precision.eps, np.arange(z.shape[0])
    for _ in range(_MOST_STEPS):
        now = z[active]
        near = _evaluated(p, now)
        with np.errstate(all="ignore"):
            others = _reciprocal_sums(z, active)
            newton = near.newton.to_numpy()
            product = newton * others
            far = ~(abs(product) < 2.0**40)
            factor = np.where(far, 0.0, 1.0 / np.where(far | (product == 1), 2.0, 1.0 - product))
            beyond = np.where(far, -1.0 / others, 0.0)
        step = where(far, 0.0, near.newton) * np.nan_to_num(factor) + np.nan_to_num(beyond)
        moved = near.size > near.noise
        z[active] = where(moved, now - step, now)
        small = abs(step).to_numpy() <= 2 * eps * abs(now).to_numpy()
        active = active[moved & ~small]
        if not active.size:
            break
    return z


def _reciprocal_sums(z: MDArray, active: np.ndarray) -> np.ndarray:
    """Return ``sum_j 1 / (z_i - z_j)`` of some, complex128."""
    apart = (z[active][:, None] - z[None, :]).to_numpy()
    apart[np.arange(len(active)), active] = np.inf
    # Points that are one move apart along the real axis.
    apart[apart == 0] = z.precision.eps * (np.abs(z.to_numpy()).max() + _LOST)
    return np.asarray((1.0 / apart).sum(axis=1))


def _evaluated(p: _Polynomial, z: MDArray) -> _Near:
    """Evaluate p and p' in the variable over a power of two that is near its modulus."""
    width = max(_RANGE // (p.coefficients.shape[0] - 1), 1)
    with np.errstate(all="ignore"):
        logs = np.log2(abs(z).to_numpy())
    exponents = width * np.rint(np.where(np.isfinite(logs), logs, 0.0) / width).astype(np.int64)
    found = _Near(np.zeros(z.shape), np.zeros(z.shape), np.zeros(z.shape), z.copy())
    for exponent in np.unique(exponents):
        members = np.flatnonzero(exponents == exponent)
        coefficients, top = p.scaled(int(exponent))
        near = _near_one(coefficients, _times_power(z[members], -exponent))
        for whole, part in zip(found[:3], near[:3], strict=True):
            whole[members] = part
        found.scale[members] += top
        found.newton[members] = _times_power(near.newton, exponent)
    return found


def _near_one(p: MDArray, z: MDArray) -> _Near:
    """Evaluate p and p'; beyond the unit circle through the reversed polynomial r in ``w = 1/z``.

    There ``p(z) = z^n r(w)`` and ``p / p' = z r / (n r - w r')``.
    """
    n, modulus = p.shape[0] - 1, abs(z).to_numpy()
    far = modulus > 1
    w = where(far, 1 / where(far, z, 1.0), z)
    k = np.arange(1, n + 1)
    columns = []
    for c in (p, p[::-1]):
        columns += [c, concatenate([c[1:] * k, c[:1] * 0.0])]
    values = matmul(_powers(w, n), stack(columns, axis=-1))
    value = where(far, values[:, 2], values[:, 0])
    slope = where(far, n * value - w * values[:, 3], values[:, 1])
    newton = where(far, z, 1.0) * value / where(slope == 0, p.precision.tiny, slope)
    sizes, at = abs(p).to_numpy(), abs(w).to_numpy()
    sums = np.where(far, np.polyval(sizes, at), np.polyval(sizes[::-1], at))
    # Powers are right to 10 eps times their exponents, w to 4 eps.
    noise = (16 * n + 32) * p.precision.eps * sums + _LOST
    scale = n * np.log2(np.maximum(modulus, 1.0))
    return _Near(abs(value).to_numpy(), noise, scale, newton)


def _powers(w: MDArray, n: int) -> MDArray:
    """Return ``w**k``, k from 0 to n, as columns."""
    found = stack([w * 0.0 + 1.0, w], axis=-1)
    while found.shape[-1] <= n:
        more = found[:, 1 : n + 2 - found.shape[-1]] * found[:, -1:]
        found = concatenate([found, more], axis=-1)
    return found


def _separated(z: MDArray) -> MDArray:
    """Return values no two of which are equal."""
    _, group, counts = np.unique(
        z.limbs.reshape(-1, z.shape[0]), axis=1, return_inverse=True, return_counts=True
    )
    group = group.ravel()
    for which in np.flatnonzero(counts > 1):
        members = np.flatnonzero(group == which)
        angle = np.exp(2j * np.pi * np.arange(members.size) / members.size)
        z[members] = z[members] * (1 + z.precision.eps ** (1 / members.size) * angle)
    return z


def _distances(x: MDArray, y: MDArray) -> np.ndarray:
    return np.asarray(abs(x[:, None] - y[None, :]).to_numpy())


def _corrections(p: _Polynomial, z: MDArray, apart: np.ndarray) -> np.ndarray:
    """Return upper bounds of ``abs(W)``, by logarithms."""
    n, last = z.shape[0], p.coefficients[-1:]
    near = _evaluated(p, z.astype(last.precision))
    (power,) = scaling.exponents_of(scaling.magnitude_bits(last._block, True))
    with np.errstate(all="ignore"):
        logs = np.log2(apart + np.eye(n)).sum(axis=1)
        sizes = np.log2((near.size + near.noise) / abs(_times_power(last, -power)).to_numpy())
        sizes += near.scale - int(power) - n * p.power
        found = np.exp2(sizes - logs) * (1 + 2.0**-20)
    return np.nan_to_num(found + _LEAST, nan=np.inf, posinf=np.inf)


def _mirrored(z: MDArray, found: Disks) -> tuple[MDArray, Disks]:
    """Return roots of real polynomials, real or two conjugates where disks tell that."""
    partner, radii = conjugates(_distances(z.conj(), z), found), found.radii.copy()
    imag = z.imag.to_numpy()
    for i, j in enumerate(partner):
        if i == j:
            z.imag[i] = 0.0
        elif j >= 0 and imag[i] > 0:
            z[j], radii[j] = z[i].conj(), radii[i]
    return z, found._replace(radii=radii)


def _order(values: np.ndarray) -> np.ndarray:
    """Return the order of decreasing moduli; of equal ones, of real parts, then imaginary ones."""
    with np.errstate(divide="ignore"):
        modulus = np.round(np.log2(np.abs(values)) * 2.0**30)
    return np.lexsort((-values.imag, -values.real, -modulus))
