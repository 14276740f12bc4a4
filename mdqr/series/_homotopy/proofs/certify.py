"""Krawczyk's test in polydisks: one solution there, no other, and how far it is from a point.

For ``N(z) = z - B F(z)`` and ``Y = {z: |z_j - y_j| <= rho d_j}`` let, relative to d,

    a = |B F(y)|,   b = |1 - B J(y)|,   c = |B| |F''|(|y| + rho d) d d.

As ``N(z) - N(y)`` is the integral of ``1 - B J`` along the line from y to z, N maps Y into itself
if ``a + b rho + c rho^2 / 2 <= rho``, and contracts it if ``b + c rho < 1``. Then Y has exactly one
fixed point z; B is regular, as ``|1 - B J(y)| < 1``, so z is the only zero of F in Y. From
``z - y = (N(z) - N(y)) + (N(y) - y)`` follows ``|z - y| <= a / (1 - b - c rho / 2)``, and, once
more, ``|z - y| <= |B F(y)| + |1 - B J(y)| r + c r^2 / 2`` for each unknown, with r that bound.

F(y) is evaluated in integers; J(y) too, where float64 does not make b small. Everything else is
float64 with the errors below added: u is 2^-53, a product of complex numbers is wrong by less than
``3 u`` of its modulus, a sum of K of them by less than ``2 K u`` of the sum of the moduli.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._functions.scales.exponents import ldexp
from mdqr.series._homotopy.homotopy import eliminated
from mdqr.series._homotopy.problem import in_units, units_near
from mdqr.series._homotopy.proofs import integers
from mdqr.series._homotopy.proofs.integers import Fixed
from mdqr.series._homotopy.proofs.magnitudes import Magnitudes, U
from mdqr.series._systems.terms import Terms

# Bits behind those of the precision, in which points are cut off.
_GUARD = 64
# Larger points, or smaller than its inverse, are tested in units near them.
LIMIT = 2.0**100
# And others whose coordinates are as many powers of two from one, if they lose digits.
_FAR, _LOSSY = 10, 2.0**16
# Radii are tried that become smaller by this.
_TRIES, _SMALLER = 24, 0.5


@dataclass
class Certificates:
    """Proofs for points ``(n, points)``.

    Attributes
    ----------
    certified : numpy.ndarray
        Whether one solution lies in the disks of `error` around a point, and no other in the disks
        `unique`.
    error : numpy.ndarray
        ``(n, points)``, infinite where nothing is certified.
    unique : numpy.ndarray
        ``(n, points)``, zero where nothing is certified.
    points : MDArray
        The points themselves ``(points, n)``.
    """

    certified: np.ndarray
    error: np.ndarray
    unique: np.ndarray
    points: MDArray

    @classmethod
    def unknown(cls, n: int, points: MDArray) -> Certificates:
        """Return points ``(points, ...)`` of n unknowns of which nothing is certified."""
        count = len(points)
        return cls(np.zeros(count, bool), np.full((n, count), np.inf), np.zeros((n, count)), points)


def certificates(terms: Terms, x: MDArray) -> Certificates:
    """Test points ``(points, n)``, complex, as solutions of as many equations as unknowns.

    Points without a certificate, or with large bounds, are tested again in units near them.
    """
    found = Certificates.unknown(terms.variables, x)
    moduli = abs(x.to_numpy())
    size = moduli.max(axis=1, initial=0.0)
    _test(found, terms, x, np.flatnonzero(((size > 1 / LIMIT) & (size < LIMIT)) | (size == 0)))
    # Also where a small coordinate that is not zero has lost digits to the largest one.
    part = found.error.T / np.maximum(moduli, 2.0**-1000)
    lossy = ((part < 0.5) & (part > _LOSSY * x.precision.eps)).any(axis=1)
    for i in np.flatnonzero((lossy | ~found.certified) & np.isfinite(size)).tolist():
        powers = units_near(moduli[i])
        if abs(powers).max() <= _FAR:
            continue
        alone = certificates_in_units(terms, x[[i]], powers)
        if alone.certified[0]:
            found.certified[i] = True
            found.error[:, i] = np.ldexp(alone.error[:, 0], powers)
            found.unique[:, i] = np.ldexp(alone.unique[:, 0], powers)
    _test_as_zeros(found, terms, x, np.flatnonzero(~found.certified & (size <= 1 / LIMIT)))
    return found


def _test_as_zeros(found: Certificates, terms: Terms, x: MDArray, which: np.ndarray) -> None:
    """Certify points that should be zero: no digit of theirs is right, in no units."""
    _test(found, terms, 0.0 * x, which)
    moved = abs(x[which].to_numpy()).T * (1 + 4 * U) + 2.0**-1000
    found.error[:, which] += moved
    found.unique[:, which] = np.maximum(found.unique[:, which] - moved, 0.0)
    # Sums are rounded.
    found.error[:, which] *= 1 + 2 * U
    found.unique[:, which] *= 1 - 2 * U


def certificates_in_units(terms: Terms, x: MDArray, powers: np.ndarray) -> Certificates:
    """Test points as ``x = 2**powers y``: bounds are for y."""
    y = ldexp(x, -powers)
    found = Certificates.unknown(terms.variables, y)
    _test(found, in_units(terms, powers).scaled(), y, np.arange(len(y)))
    return found


def _test(found: Certificates, terms: Terms, x: MDArray, which: np.ndarray) -> None:
    """Certify some points, none far larger or smaller than one.

    Each is cut off to a common number of bits: that change is part of `error`.
    """
    if not which.size:
        return
    precision, y = x.precision, x[which]
    size = abs(y.to_numpy()).max(axis=1)
    least = size[size > 0].min(initial=1.0)
    bits = precision.bits + _GUARD - int(np.frexp(least)[1])
    points = Fixed.of(y.T, bits)
    some = Certificates.unknown(terms.variables, y)
    with np.errstate(all="ignore"):
        test = _ExactTest(terms, points, y)
        test.with_floats(some, np.arange(len(y)))
        test.with_integers(some, np.flatnonzero(~some.certified))
    # Limbs were cut off, each of the real and of the imaginary part.
    cut = 2.0 * precision.limbs * 2.0**-bits
    found.certified[which] = some.certified
    found.error[:, which] = some.error + cut
    found.unique[:, which] = np.maximum(some.unique - cut, 0.0) * (1 - 2 * U)


class Test:
    """One system at points.

    Parameters
    ----------
    terms : Terms
        In n unknowns, and parameters behind them.
    near : numpy.ndarray
        Points in complex128, with the parameters, each part wrong by less than 2 units.
    values : numpy.ndarray
        The equations ``(m, points)``.
    wrong : numpy.ndarray or float, optional
        Bounds of their errors, beyond their roundings to float64.
    """

    def __init__(
        self,
        terms: Terms,
        near: np.ndarray,
        values: np.ndarray,
        wrong: np.ndarray | float = 0.0,
    ) -> None:
        self._terms, self._near, self._values, self._wrong = terms, near, values, wrong
        self._sizes, self._n = Magnitudes(terms), terms.equations
        # |y| from above; a solution at zero has disks of radius one.
        self._moduli = abs(near) * (1 + 8 * U) + 2.0**-1000
        self._moduli[: self._n, ~near[: self._n].any(axis=0)] = 1.0

    def with_floats(self, found: Certificates, which: np.ndarray) -> None:
        """Certify points with Jacobians in float64."""
        n, sizes, moduli = self._n, self._sizes, self._moduli[:, which]
        slopes = self._terms.polynomials(self._near[:, which])[1][:, :n]
        slopes = slopes.transpose(2, 0, 1).copy()
        inverse = _inverses(slopes)
        # Each of D unknowns is rounded to 4 u and multiplied by another, coefficients are rounded
        # and multiplied, T terms added.
        factor = (8 * sizes.degree + 2 * sizes.most + 16) * U
        wrong = factor * sizes.slopes(moduli, n).transpose(2, 0, 1)
        wrong += sizes.floor(moduli)[:, None, None]
        b = abs(inverse) * (1 + 16 * U)
        left = abs(np.eye(n) - inverse @ slopes) * (1 + 4 * U) + 2 * U * np.eye(n) + 2.0**-1000
        left += (2 * n + 8) * U * (b @ abs(slopes)) + b @ wrong
        left = left * (1 + (4 * n + 32) * U)
        self._certify(found, which, inverse, left, self._values[:, which], sizes)

    def _certify(
        self,
        found: Certificates,
        which: np.ndarray,
        inverse: np.ndarray,
        left: np.ndarray,
        values: np.ndarray,
        sizes: Magnitudes,
    ) -> None:
        """Test points with the inverses ``(points, n, n)`` and bounds of ``|1 - B J|``."""
        n, f = self._n, values.T[..., None]
        b = abs(inverse) * (1 + 16 * U)
        wrong = np.broadcast_to(self._wrong, self._values.shape)[:, which].T[..., None]
        v = (abs(inverse @ f) + b @ ((4 * n + 32) * U * abs(f) + wrong))[..., 0].T
        v = v * (1 + (4 * n + 32) * U) + 2.0**-1000
        y = self._moduli[:, which]
        top = y[:n].max(axis=0)
        same = np.broadcast_to(top, (n, len(top)))
        for shape in (same, np.maximum(y[:n], 1e-8 * same)):
            here = np.flatnonzero(~found.certified[which])
            if here.size:
                rest = _Disks(sizes, b[here], left[here], v[:, here], y[:, here])
                good, error, unique = rest.test(shape[:, here])
                place = which[here[good]]
                found.certified[place] = True
                found.error[:, place], found.unique[:, place] = error[:, good], unique[:, good]


class _ExactTest(Test):
    """Points that are exact, and values without roundings."""

    def __init__(self, terms: Terms, points: Fixed, x: MDArray) -> None:
        self._points, self._x, self._precision = points, x, x.precision
        super().__init__(terms, points.floats, integers.values(terms, points))

    def with_integers(self, found: Certificates, which: np.ndarray) -> None:
        """Certify points with Jacobians and inverses that do not round."""
        if not which.size:
            return
        # These equations are others than before: B, F and F'' all belong to them.
        whole = integers.without_denominators(self._terms)
        try:
            sizes, precise = Magnitudes(whole), whole.precise(self._precision)
        except ValueError:  # a coefficient is too large
            return
        for place in which.tolist():
            y = self._points.at([place])
            try:
                slopes = precise(self._x[[place]])[1][0]
                one = array(np.eye(len(slopes), dtype=complex), precision=self._precision)
                inverse = eliminated(slopes[None], one[None])[0]
                top = abs(slopes.to_numpy()).max()
                bits = self._precision.bits + _GUARD + max(int(np.frexp(top)[1]), 0)
                b = Fixed.of(inverse, bits)
            except OverflowError:  # singular, or nearly
                continue
            left = abs(integers.product_minus_one(b, integers.matrix(whole, y)))
            left = left * (1 + 16 * U) + 2.0**-1000
            values = integers.values(whole, y)
            self._certify(found, np.array([place]), b.floats[None], left[None], values, sizes)


class _Disks:
    """The test of points with disks of one shape: bounds ``(n, points)`` relative to it.

    `y` has parameters behind the unknowns, which stay.
    """

    def __init__(
        self,
        sizes: Magnitudes,
        b: np.ndarray,
        left: np.ndarray,
        v: np.ndarray,
        y: np.ndarray,
    ) -> None:
        self._sizes, self._b, self._left, self._v, self._y = sizes, b, left, v, y
        n = len(v)
        # Sums of n products that are not negative, divided: from above.
        self._outward = 1.0 + (n + 16) * 4 * U

    def _times(self, matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (matrix @ x.T[..., None])[..., 0].T * self._outward

    def curvature(self, d: np.ndarray, rho: np.ndarray, which: Any = slice(None)) -> np.ndarray:
        """Return c ``(n, points)`` of some points, not yet divided by d."""
        y = self._y[:, which]
        rest = np.zeros((len(y) - len(d), d.shape[1]))
        wide = np.concatenate([d, rest]) if len(rest) else d
        second = 2.0 * self._sizes.orders((y + rho * wide) * (1 + 4 * U), wide)[2]
        second += self._sizes.floor(y)
        return self._times(self._b[which], second)

    def test(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which points are certified, their errors and the radii of uniqueness."""
        linear = self._times(self._left, d)
        a, b = ((x / d * self._outward).max(axis=0) for x in (self._v, linear))
        # The largest radius first: half of where the test of contraction would fail.
        rho = np.full(d.shape[1], 1.0)
        for _ in range(3):
            c = (self.curvature(d, rho) / d).max(axis=0)
            rho = np.minimum(1.0, np.where(c > 0, 0.9 * (1.0 - b) / c, 1.0))
        good = np.zeros(len(rho), bool)
        largest = np.zeros(len(rho))
        slope = np.full(len(rho), np.inf)
        for _ in range(_TRIES):
            rest = np.flatnonzero(~good)
            if not rest.size:
                break
            e, r = d[:, rest], rho[rest]
            c = (self.curvature(e, r, rest) / e * self._outward).max(axis=0)
            new = a[rest] + b[rest] * r + c * r * r / 2 < r * (1 - 16 * U)
            new &= b[rest] + c * r < 1 - 16 * U
            held = rest[new]
            largest[held], slope[held], good[held] = r[new], c[new], True
            rho[rest[~new]] *= _SMALLER
        below = 1.0 - b - slope * largest / 2 - 16 * U
        radius = np.where(good, a / np.where(good, below, 1.0) * (1 + 16 * U), 0.0)
        curved = self.curvature(d, np.where(good, largest, 0.0))
        error = (self._v + linear * radius + curved * radius * radius / 2) * (1 + 32 * U)
        return good, error, largest * d * (1 - 4 * U)


def _inverses(a: np.ndarray) -> np.ndarray:
    """Return approximate inverses, zeros for singular matrices."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        if len(a) == 1:
            return np.zeros_like(a)
        half = len(a) // 2
        return np.concatenate([_inverses(a[:half]), _inverses(a[half:])])
