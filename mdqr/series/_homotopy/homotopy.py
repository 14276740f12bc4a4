"""Homotopies ``H(x, s)``: the start system at s = 1, the target at s = 0, on a patch.

Points are arrays ``(variables, paths)``, complex128 or MDArrays; corrections are complex128.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mdqr import concatenate
from mdqr._array.array import MDArray
from mdqr._backend.path_calls import PathSystem
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS, Precision
from mdqr.series._homotopy.tables import merged, path_system
from mdqr.series._systems.polynomial import ZERO, Gaussian
from mdqr.series._systems.terms import Terms, gaussian, rounded

Points = Any  # complex128 or MDArray
# See `no_x0`: of generic homotopies, whose ends may be as large, and of others.
_NO_X0 = {True: 1e-26, False: 1e-12}
# H, H_x and H_s at points.
Jet = tuple[Points, Points, Points]


@dataclass(frozen=True)
class Line:
    """``gamma s G + (1 - s) F``, and ``patch . x = 1``.

    `terms` are homogeneous: the n equations of F and the n of G. With `generic`, F has the
    monomials of G, and few paths, if any, lead to infinity. `units` are powers of two of the
    coordinates. On `device` many paths are followed.
    """

    terms: Terms
    gamma: complex
    patch: np.ndarray
    generic: bool = False
    units: np.ndarray | None = None
    device: str | None = None
    precision: Precision | None = None
    _within: dict[Precision | None, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def no_x0(self) -> float:
        """Paths whose x0 is a smaller part of the largest coordinate are at infinity."""
        return _NO_X0[self.generic]

    @property
    def variables(self) -> int:
        """The number of homogeneous coordinates."""
        return self.terms.variables

    def within(self, precision: Precision | None) -> Line:
        """Return the same homotopy, evaluated in a precision; None is complex128."""
        if precision not in self._within:
            self._within[precision] = replace(self, precision=precision)
        found: Line = self._within[precision]
        return found

    @cached_property
    def tables(self) -> PathSystem:
        """The homotopy for the kernel, in its precision."""
        n, gamma = self.variables - 1, gaussian(self.gamma)
        orders = [
            [ZERO, gamma * c] if place >= n else [c, -c]
            for place, c in zip(self.terms.equation, self.terms.coefficients, strict=True)
        ]
        rows = merged(self.terms.equation % n, self.terms.exponents, orders, self.precision)
        return path_system(*rows, n, patch=self.patch)

    def moduli(self, x: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the sums of the moduli of the terms of equations ``(n, paths)``."""
        n, values = self.variables - 1, self.terms.moduli(abs(x).astype(complex))[0].real
        return np.asarray(abs(self.gamma * s) * values[n:] + abs(1.0 - s) * values[:n])

    def jet(self, x: Points, s: np.ndarray) -> Jet:
        """Return H ``(paths, v)``, H_x ``(paths, v, v)`` and H_s ``(paths, v)``."""
        values, slopes = evaluated(self.terms, x, self.precision)
        n = self.variables - 1
        t = _as(s, self.precision)
        begin, end = self.gamma * t, 1.0 - t
        h = begin * values[n:] + end * values[:n]
        hs = self.gamma * values[n:] - values[:n]
        hx = begin * slopes[n:] + end * slopes[:n]
        return on_patch(self.patch, x, (h, hx, hs))


@dataclass(frozen=True)
class Parameters:
    """``F(x, p(s))`` with p(1) and p(0) given, and ``patch . x = 1``.

    p is ``u p(1) + (1 - u) p(0)`` with ``u = gamma s / (gamma s + 1 - s)``, an arc around real
    parameters for which paths may meet. p(0), `end`, is exact: a double solution may be two at its
    rounded value. `terms` are in x, homogeneous, and then p. The rest is as in `Line`.
    """

    terms: Terms
    gamma: complex
    patch: np.ndarray
    begin: np.ndarray
    end: list[Gaussian]
    generic: bool = True
    units: np.ndarray | None = None
    device: str | None = None
    precision: Precision | None = None
    _within: dict[Precision | None, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def no_x0(self) -> float:
        """Paths whose x0 is a smaller part of the largest coordinate are at infinity."""
        return _NO_X0[self.generic]

    @property
    def variables(self) -> int:
        """The number of homogeneous coordinates."""
        return len(self.patch)

    def within(self, precision: Precision | None) -> Parameters:
        """Return the same homotopy, evaluated in a precision; None is complex128."""
        if precision not in self._within:
            self._within[precision] = replace(self, precision=precision)
        found: Parameters = self._within[precision]
        return found

    @cached_property
    def _end(self) -> Points:
        found = rounded(self.end, self.precision or PRECISIONS[0])
        return doubles(found) if self.precision is None else found

    @cached_property
    def tables(self) -> PathSystem:
        """The homotopy for the kernel, in its precision."""
        v = self.variables
        powers = self.terms.exponents[:, v:]
        most = int(powers.sum(axis=1).max(initial=0))
        ends, begins = self.end, [gaussian(p) for p in self.begin.tolist()]
        orders = []
        for c, row in zip(self.terms.coefficients, powers.tolist(), strict=True):
            polynomial = [c] + [ZERO] * most
            for first, last, power in zip(ends, begins, row, strict=True):
                for _ in range(power):
                    polynomial = _times(polynomial, first, last + -first)
            orders.append(polynomial)
        rows = merged(self.terms.equation, self.terms.exponents[:, :v], orders, self.precision)
        return path_system(*rows, v - 1, gamma=self.gamma, patch=self.patch)

    def moduli(self, x: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the sums of the moduli of the terms of equations ``(n, paths)``."""
        u = self.gamma * s / (self.gamma * s + (1.0 - s))
        end = doubles(self._end)[:, None]
        p = end + (self.begin[:, None] - end) * u
        return self.terms.moduli(abs(np.concatenate([x, p])).astype(complex))[0].real.copy()

    def jet(self, x: Points, s: np.ndarray) -> Jet:
        """Return H ``(paths, v)``, H_x ``(paths, v, v)`` and H_s ``(paths, v)``."""
        v = self.variables
        t = _as(s, self.precision)
        below = self.gamma * t + (1.0 - t)
        u, rate = self.gamma * t / below, self.gamma / (below * below)
        end = self._end[:, None]
        way = _as(self.begin, self.precision)[:, None] - end
        p = end + way * u
        both = np.concatenate if self.precision is None else concatenate
        values, slopes = evaluated(self.terms, both([x, p]), self.precision)
        hs = (slopes[:, v:] * (way * rate)).sum(axis=1)
        return on_patch(self.patch, x, (values, slopes[:, :v], hs))


Homotopy = Line | Parameters


def _times(polynomial: list[Gaussian], constant: Gaussian, slope: Gaussian) -> list[Gaussian]:
    """Return a polynomial times ``constant + slope u``, without the last order."""
    before = [ZERO, *polynomial[:-1]]
    return [c * constant + d * slope for c, d in zip(polynomial, before, strict=True)]


def evaluated(terms: Terms, x: Points, precision: Precision | None) -> tuple[Points, Points]:
    """Return values ``(m, paths)`` and Jacobian ``(m, v, paths)`` at ``(v, paths)``."""
    if precision is None:
        return terms.polynomials(x)
    values, slopes = terms.precise(precision)(x.T.copy())
    return values.T, slopes.transpose(1, 2, 0)


def on_patch(patch: np.ndarray, x: Points, jet: Jet) -> Jet:
    """Return a jet, the paths in front, with the row ``patch . x - 1`` behind the others."""
    h, hx, hs = jet
    n, v, paths = hx.shape
    wide: list[Points] = [np.empty((paths, *shape), complex) for shape in ((v,), (v, v), (v,))]
    c: Points = patch
    if isinstance(x, MDArray):
        c = array(patch, precision=x.precision)
        wide = [array(each, precision=x.precision) for each in wide]
    wide[0][:, :n], wide[1][:, :n], wide[2][:, :n] = h.T, hx.transpose(2, 0, 1), hs.T
    wide[0][:, n], wide[1][:, n, :], wide[2][:, n] = (c[:, None] * x).sum(axis=0) - 1.0, c, 0.0
    return wide[0], wide[1], wide[2]


def newton(homotopy: Homotopy, x: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Newton's corrections and the tangents dx/ds ``(v, paths)`` in float64.

    NaN where the Jacobian is singular.
    """
    h, hx, hs = homotopy.jet(x, s)
    both = np.stack([h, hs], axis=-1)
    found = solved(hx, both)
    return found[..., 0].T, -found[..., 1].T


def solved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solutions of a batch, NaN for singular matrices."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        found = np.full(b.shape, np.nan, b.dtype)
        if len(a) == 1:
            return found
        half = len(a) // 2
        return np.concatenate([solved(a[:half], b[:half]), solved(a[half:], b[half:])])


def eliminated(a: MDArray, b: MDArray) -> MDArray:
    """Return the solutions of a batch by Gaussian elimination, pivots as float64 has them."""
    n, every = a.shape[-1], np.arange(len(a))
    rows = concatenate([a, b], axis=-1)
    for k in range(n):
        pivot = k + abs(rows[:, k:, k].to_numpy()).argmax(axis=1)
        order = np.tile(np.arange(n), (len(a), 1))
        order[:, k], order[every, pivot] = pivot, k
        rows = rows[every[:, None], order]
        rows[:, k] = rows[:, k] / rows[:, k, k][:, None]
        others = np.delete(np.arange(n), k)
        part = rows[:, others]
        rows[:, others] = part - part[:, :, k][..., None] * rows[:, k][:, None, :]
    return rows[:, :, n:]


def condition(homotopy: Homotopy, x: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the conditions of the Jacobians at points of size one.

    Rows are not scaled: at a singular end all entries of one may vanish.
    """
    size = abs(x).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        _, hx, _ = homotopy.within(None).jet(x / size, s)
    hx[~np.isfinite(hx).all(axis=(-2, -1))] = 0.0
    values = np.linalg.svd(hx, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values[:, -1] > 0, values[:, 0] / values[:, -1], np.inf)


def part_of_x0(homotopy: Homotopy, x: np.ndarray) -> np.ndarray:
    """Return x0 relative to the largest coordinate, in the units of x or of the problem.

    The larger one: units from a few coefficients may make solutions seem large.
    """
    size = abs(x[1:]).max(axis=0)
    if homotopy.units is not None:
        given = abs(x[1:]) * np.ldexp(1.0, homotopy.units)[:, None]
        size = np.minimum(size, given.max(axis=0))
    found: np.ndarray = abs(x[0]) / np.maximum(size, abs(x[0]))
    return found


def noise(homotopy: Homotopy, x: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return by how much roundings of the terms move points, relative to their size.

    In the precision of the homotopy; infinite at a singular Jacobian.
    """
    eps = (homotopy.precision or PRECISIONS[0]).eps
    plain = homotopy.within(None)
    with np.errstate(all="ignore"):
        _, hx, _ = plain.jet(x, s)
        terms = np.concatenate([plain.moduli(x, s), np.ones((1, x.shape[1]))])
        inverse = solved(hx, np.broadcast_to(np.eye(len(x), dtype=complex), hx.shape))
        moved = (abs(inverse) @ terms.T[..., None])[..., 0].max(axis=1)
        found = eps * moved / abs(x).max(axis=0)
    return np.where(np.isnan(found), np.inf, found)


def doubles(x: Points) -> np.ndarray:
    """Return points in complex128."""
    return x.to_numpy().astype(complex) if isinstance(x, MDArray) else x


def _as(value: np.ndarray, precision: Precision | None) -> Points:
    return value if precision is None else array(np.asarray(value, complex), precision=precision)
