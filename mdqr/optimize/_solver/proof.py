"""A proof that a minimum lies where a fit found it.

The gradient of half the sum of squares, ``J^T r``, is enclosed at the point, and the Hessian
``J^T J + sum_i r_i r_i''`` in a box about it, by the caller's function of enclosures: the
box has one zero of the gradient (`_enclosure.krawczyk`), and as the Hessian is positive definite
there, it is a minimum. Parameters at bounds are held; where their gradients point outwards in
all of the box, it is a minimum of the problem with bounds.
"""

from __future__ import annotations

import numpy as np

from mdqr._array.array import MDArray
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg import LinAlgError
from mdqr.optimize._enclosure.ball import Ball, enclosed, size, up
from mdqr.optimize._enclosure.jet import Jet, variables, vector
from mdqr.optimize._enclosure.krawczyk import Unproven, definite, nearest
from mdqr.optimize._solver.newton import Minimum
from mdqr.optimize._solver.problem import Problem


def proven_error(problem: Problem, found: Minimum) -> np.ndarray:
    """Return proven bounds of the errors of a minimum, before x is rounded to the precision.

    Raises
    ------
    LinAlgError
        If it cannot be proven: the loss is not "linear", the caller's function does not take
        enclosures, or the bounds do not suffice.
    """
    name = problem.function.name
    try:
        return _Proof(problem, found).error()
    except Unproven as failure:
        raise LinAlgError(f"{name}: verified: {failure}") from None


class _Proof:
    """The gradient and the Hessian of a fit near its minimum."""

    def __init__(self, problem: Problem, found: Minimum) -> None:
        if problem.loss.rho is not None:
            raise Unproven(
                f"no proof for loss={problem.loss.name!r}: only sums of squares have one"
            )
        if problem.enclosed is None:
            raise Unproven("with a covariance matrix there is no proof: give standard deviations")
        self._problem, self._index = problem, np.flatnonzero(found.free)
        self._precision: Precision = found.x.precision
        self._free, self._mask = found.free, problem.box.mask(found.x)
        self._x, self._found = _with_bounds(problem, found), found.x

    def error(self) -> np.ndarray:
        """Return the distance of the minimum from the point at most, float64 ``(n,)``."""
        free = self._index
        exact = np.asarray(self._x.mid == self._found) & (self._x.rad == 0)
        error = np.where(exact, 0.0, up(size(self._x.mid - self._found) + self._x.rad))
        if free.size:
            start = self._hessian(np.zeros(free.size))
            moved, width = nearest(self._gradient()[free], self._hessian, definite(start))
            definite(self._hessian(width))
            error[free] = moved
        else:
            width = np.zeros(0)
        self._check_bounds(width)
        return np.asarray(error)

    def _residuals(self, width: np.ndarray, order: int) -> Jet:
        rad = self._x.rad.copy()
        rad[self._index] = width
        x = variables(Ball(self._x.mid, rad), order)
        try:
            assert self._problem.enclosed is not None
            r = vector(self._problem.enclosed(x), x)
        except (TypeError, AttributeError) as failure:
            raise Unproven(
                "the function must take enclosures, which have the arithmetic and the elementary "
                f"functions of mdqr; it raised {type(failure).__name__}: {failure}"
            ) from failure
        scaled = r * self._problem.function.scale
        if scaled.first is None:
            raise Unproven("the function does not depend on x")
        if not scaled.value.mid.is_complex:
            return scaled
        return scaled._parts(lambda ball, lead: ball.parts(lead))

    def _gradient(self) -> Ball:
        r = self._residuals(np.zeros(self._index.size), 1)
        assert r.first is not None
        return r.first @ r.value

    def _hessian(self, width: np.ndarray) -> Ball:
        r, free = self._residuals(width, 2), self._index
        assert r.first is not None
        assert r.second is not None
        jacobian = r.first[free]
        second = r.second[free[:, None], free].reshape((free.size**2, -1)) @ r.value
        return jacobian @ jacobian.T + second.reshape((free.size, free.size))

    def _check_bounds(self, width: np.ndarray) -> None:
        """Refuse gradients of held parameters that may point inwards, and boxes over the edge."""
        box, x = self._problem.box, self._x
        held = np.flatnonzero(~self._free)
        if held.size:
            r = self._residuals(width, 1)
            assert r.first is not None
            gradient = r.first[held] @ r.value
            near = -self._mask[held] * gradient.mid.to_numpy()
            if not np.all(near > up(gradient.rad + 2.0**-40 * np.abs(near))):
                raise Unproven("the gradient at a bound is not shown to point outwards")
        if box.bounded and width.size:
            reach = up(width)
            middle = x.mid[self._index].astype(PRECISIONS[-1])
            lower, upper = box.lower[self._index], box.upper[self._index]
            if not bool(((middle - reach >= lower) & (middle + reach <= upper)).all()):
                raise Unproven("the minimum is too near to a bound")


def _with_bounds(problem: Problem, found: Minimum) -> Ball:
    """Return the point, with parameters that are held exactly at their bounds."""
    mid, rad = found.x.copy(), np.zeros(found.x.shape[0])
    for j in np.flatnonzero(~found.free):
        side = problem.box.upper if problem.box.mask(found.x)[j] > 0 else problem.box.lower
        held: Ball = enclosed(side[j], mid.precision)
        mid[j], rad[j] = held.mid, float(held.rad)
    return Ball(mid, rad)


def with_rounding(error: np.ndarray, exact: MDArray, x: MDArray) -> np.ndarray:
    """Return bounds for x that was rounded, zero where neither it nor the point has an error."""
    is_exact = (error == 0) & np.asarray(exact == x)
    return np.where(is_exact, 0.0, up(error + size(exact - x.astype(exact.precision))))
