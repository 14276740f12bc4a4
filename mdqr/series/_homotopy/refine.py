"""Regular solutions refined by Newton's method to the digits of a precision."""

from __future__ import annotations

import warnings

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.path_calls import PathGoal
from mdqr._errors import PrecisionWarning
from mdqr._functions.creation import array
from mdqr._functions.scales.exponents import ldexp
from mdqr._precision import Precision, precisions_with_paths
from mdqr.linalg import LinAlgError, solve
from mdqr.series._homotopy.homotopy import doubles, solved
from mdqr.series._homotopy.problem import in_units, units_near
from mdqr.series._homotopy.tables import merged, path_system
from mdqr.series._homotopy.tracker import Paths, by_kernel
from mdqr.series._systems.terms import Terms

_MOST_STEPS = 40
# Corrections of points near a cluster of solutions are smaller.
_FAR = 10.0
# Between the largest and the least coordinate of a point.
_WIDE = 2.0**30


def refined(terms: Terms, x: np.ndarray | MDArray, precision: Precision) -> MDArray:
    """Return solutions ``(points, n)`` near `x`, complex.

    Points whose coordinates differ by many powers of two are refined in units near them.
    """
    moduli = abs(doubles(x))
    least = np.where(moduli > 0, moduli, np.inf).min(axis=1)
    wide = np.isfinite(moduli).all(axis=1) & (moduli.max(axis=1) > _WIDE * least)
    found = array(x, precision=precision).astype(dtype=complex)
    narrow = np.flatnonzero(~wide)
    if narrow.size:
        found[narrow] = _refined(terms, x[narrow], precision)
    for i in np.flatnonzero(wide):
        powers = units_near(moduli[i])
        y = _refined(in_units(terms, powers).scaled(), ldexp(found[[i]], -powers), precision)
        found[[i]] = ldexp(y, powers)
    return found


def _refined(terms: Terms, x: np.ndarray | MDArray, precision: Precision) -> MDArray:
    """Return solutions near `x`, whose coordinates are of one size.

    Residuals are evaluated in the next higher precision, so that the solutions have all digits, and
    Jacobians in float64 while this makes corrections small.
    """
    work = precision.next
    point = array(x, precision=work)
    if not point.is_complex:
        point = point.astype(dtype=complex)
    before = np.full(len(point), np.inf)
    slow = np.ones(len(point), bool)
    for _ in range(_MOST_STEPS):
        near = point.to_numpy()
        _, slopes = terms.polynomials(near.T)
        residual = terms.precise(work).values(point).to_numpy()
        d = solved(slopes.transpose(2, 0, 1).copy(), residual[..., None])[..., 0]
        change = _relative(d, near)
        going = change < 0.3 * before
        point[going] = point[going] - d[going]
        slow &= ~(change < precision.eps / 8)
        before = np.where(going, change, before)
        if not (going & slow).any():
            break
    hard = np.flatnonzero(slow)
    if hard.size:
        point[hard] = _with_precise_jacobians(terms, point[hard], work)
    return array(point, precision=precision)


def separated(terms: Terms, x: np.ndarray | MDArray, precision: Precision) -> MDArray:
    """Return the ends of Newton's method from points ``(points, n)`` around close solutions.

    At first it halves the distance, at a solution of multiplicity m it takes a part of 1 / m; once
    it is smaller than that between solutions, it converges as usual.
    """
    work = min(precision.next, precisions_with_paths()[-1])
    # A homotopy that does not move: each call of the kernel corrects points twice.
    orders = [[value] for value in terms.coefficients]
    rows = merged(terms.equation, terms.exponents, orders, work)
    system = path_system(*rows, terms.equations)
    goal, going = PathGoal(0.0, 1.0, 1.0, 1.0), np.arange(len(x))
    point = array(x, precision=work).astype(dtype=complex)
    with np.errstate(all="ignore"):
        for _ in range(int(0.75 * precision.bits)):
            before = point[going]
            paths = Paths.at(before.T, 0.0)
            by_kernel(system, paths, np.arange(len(going)), goal)
            change = _relative((paths.x.T - before).to_numpy(), before.to_numpy())
            sound = change <= _FAR
            point[going[sound]] = paths.x.T[sound]
            going = going[sound & ~(change < precision.eps)]
            if not going.size:
                break
    return array(point, precision=precision)


def _with_precise_jacobians(terms: Terms, point: MDArray, work: Precision) -> MDArray:
    best = np.full(len(point), np.inf)
    for _ in range(12):
        values, slopes = terms.precise(work)(point)
        try:
            with warnings.catch_warnings():
                # Corrections need few digits.
                warnings.simplefilter("ignore", PrecisionWarning)
                d = solve(slopes, values[..., None])[..., 0]
        except LinAlgError:
            return point
        change = _relative(d.to_numpy(), point.to_numpy())
        going = change < 0.5 * best
        if not going.any():
            return point
        point[going] = point[going] - d[going]
        best = np.where(going, change, best)
    return point


def _relative(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    size = abs(x).max(axis=1)
    with np.errstate(invalid="ignore"):
        found: np.ndarray = abs(d).max(axis=1) / np.where(size > 0, size, 1.0)
    return np.where(np.isnan(found), np.inf, found)
