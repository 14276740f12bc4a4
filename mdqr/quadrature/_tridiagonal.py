"""Eigenvalues of Jacobi matrices and the first components of their eigenvectors, with bounds.

For a matrix J with diagonal a and off-diagonal b the vector ``v = p[0](x), ..., p[n-1](x)`` of
orthonormal polynomials satisfies ``(J - x) v = -t e``, where only the last component t is not
zero: x is an eigenvalue if it vanishes. ``x - v[n-1] t / (v^T v)`` is the Rayleigh quotient, whose
error is of second order. As computed, v has residuals r in all rows, the rounding errors of the
recurrence. ``norm(r) / norm(v)`` bounds the distance to an eigenvalue whatever v is; if the n
intervals are disjoint, each holds exactly one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Reporter
from mdqr.linalg import LinAlgError
from mdqr.quadrature._classical import Weight

# Passes in the last precision until the steps are rounding errors; more than two are rare.
_MOST = 8
# Beyond this a component and those before it are divided by it, an exact operation.
_LARGE = 2.0**300
_SLACK = 1 + 2.0**-30
_LEAST = 2.0**-900


# How much smaller eps is at least than the accuracy that the smallest component needs.
_MARGIN = 1e4


class Eigenvalues(NamedTuple):
    """Eigenvalues and first components of eigenvectors.

    Attributes
    ----------
    values : MDArray
        The eigenvalues, ascending.
    squares : MDArray
        Squares of the first components of the unit eigenvectors.
    errors : tuple of numpy.ndarray
        Bounds of the absolute errors of both, float64.
    passes : int
        How often the recurrence was evaluated.
    """

    values: MDArray
    squares: MDArray
    errors: tuple[np.ndarray, np.ndarray]
    passes: int


class Pass(NamedTuple):
    """The recurrence at n points: steps to the Rayleigh quotients, and norms of the residuals."""

    step: MDArray
    square: MDArray  # of the first component of v / norm(v)
    residual: np.ndarray  # bounds of norm(r) / norm(v)
    rounding: np.ndarray  # the part of them that the next step does not reduce


def solve(weight: Weight, precision: Precision, progress: Reporter | None) -> Eigenvalues:
    """Return the eigenvalues in a precision that leaves the rounded results all their digits.

    The precision is above the one of the result, and the higher, the smaller a first component of
    a vector is: these have absolute bounds.

    Raises
    ------
    LinAlgError
        If eigenvalues are not separated in the highest precision.
    """
    symmetric = not any(weight.diagonal)
    x = _in_float64(weight, symmetric)
    passes = 0
    for work in PRECISIONS[1:]:
        x, matrix = x.astype(precision=work), _Matrix(weight, work)
        for _ in range(_MOST):
            found = matrix.evaluate(x)
            passes += 1
            if progress is not None:
                progress("refine", passes, None)
            size = abs(found.step.limbs[0])
            smallest = float(found.square.limbs[0].min()) ** 0.5
            last = work is PRECISIONS[-1] or (
                work > precision and work.eps * _MARGIN <= precision.eps * smallest
            )
            if last and (size <= found.rounding).all():
                return _bounded(x, found, symmetric, len(weight.diagonal), passes)
            x = x - found.step
            if not last and (size <= matrix.norm * work.eps**0.4).all():
                break
    raise LinAlgError("gauss: nodes do not converge in the highest precision: take fewer of them")


def _in_float64(weight: Weight, symmetric: bool) -> MDArray:
    """Return the eigenvalues in float64; of symmetric weights those that are not negative."""
    a = np.array([float(value) for value in weight.diagonal])
    b = np.sqrt(np.array([float(square) for square in weight.squares]))
    values = np.linalg.eigvalsh(np.diag(a) + np.diag(b, -1))  # of the lower triangle
    if symmetric:
        values = values[len(a) // 2 :]
        values[0] = 0.0 if len(a) % 2 else values[0]
    return mdqr.array(values, precision=mdqr.d)


class _Matrix:
    """A Jacobi matrix in some precision."""

    def __init__(self, weight: Weight, work: Precision) -> None:
        self._eps = work.eps
        self._a = mdqr.array(weight.diagonal, precision=work) if any(weight.diagonal) else None
        self._b = mdqr.sqrt(mdqr.array(weight.squares, precision=work))
        self._sizes = [abs(float(value)) for value in weight.diagonal], self._b.limbs[0].tolist()
        self.norm = max(self._sizes[0]) + 2 * max(self._sizes[1], default=0.0)

    def evaluate(self, x: MDArray) -> Pass:
        """Return the values of the recurrence from ``v[0] = 1`` gives at points x.

        Row k of r has the errors of a difference, two products and a quotient, each within 2 eps,
        and of the rounded coefficients: at most
        ``8 eps ((abs(x) + abs(a[k])) abs(v[k]) + b[k-1] abs(v[k-1]) + b[k] abs(v[k+1]))``.
        """
        zero = mdqr.zeros_like(x)
        before, v, total = zero, mdqr.ones_like(x), zero
        squares, exponent = np.zeros(x.shape), np.zeros(x.shape, dtype=int)
        sizes, off, last = *self._sizes, len(self._sizes[0]) - 1
        for k in range(last + 1):
            t = (x if self._a is None else x - self._a[k]) * v
            row = (abs(x.limbs[0]) + sizes[k]) * abs(v.limbs[0])
            if k:
                t = t - self._b[k - 1] * before
                row += off[k - 1] * abs(before.limbs[0])
            total = total + v * v
            if k < last:
                before, v = v, t / self._b[k]
                row += off[k] * abs(v.limbs[0])
            squares += (8 * row + _LEAST / self._eps) ** 2  # the square of eps may vanish
            large = abs(v.limbs[0]) > _LARGE
            if k < last and large.any():
                scale = np.where(large, 1 / _LARGE, 1.0)
                before, v, total = before * scale, v * scale, total * scale**2
                squares, exponent = squares * scale**2, exponent + 300 * large
        length, unit = np.sqrt(total.limbs[0]), np.ldexp(1.0, -exponent)
        rounding = self._eps * np.sqrt(squares) / length * _SLACK
        return Pass(
            step=v * t / total,
            square=1 / total * unit * unit,
            residual=(rounding + abs(t.limbs[0]) / length) * _SLACK,
            rounding=rounding,
        )


def _bounded(x: MDArray, found: Pass, symmetric: bool, n: int, passes: int) -> Eigenvalues:
    """Return eigenvalues with bounds.

    With ``g = residual / gap``, where the gap is to the nearest other eigenvalue, the computed
    first component s is within ``g + g^2`` of the exact one: components of v along another vector
    are at most its component of r over the distance of the values.
    """
    residual = found.residual
    distance = (x[1:] - x[:-1]).limbs[0]
    left = np.concatenate([[np.inf], distance - residual[:-1]])
    right = np.concatenate([distance - residual[1:], [np.inf]])
    if symmetric and n % 2:
        residual = np.concatenate([[0.0], residual[1:]])  # the spectrum is symmetric: 0 is exact
    elif symmetric:
        left[0] = 2 * float(x[0]) - residual[0]
    gap = np.minimum(left, right) / _SLACK
    if not (gap > found.residual).all():
        raise LinAlgError("gauss: nodes are not separated in the highest precision: take fewer")
    g = found.residual / gap
    g = (g + g * g) * _SLACK
    s = found.square.limbs[0]
    error = g * (2 * np.sqrt(s) + g) + (2 * n + 8) * x.precision.eps * s
    errors = residual, error * _SLACK + 2.0**-1060
    if not symmetric:
        return Eigenvalues(x, found.square, errors, passes)
    mirrored = slice(None, 0 if n % 2 else None, -1)
    return Eigenvalues(
        mdqr.concatenate([-x[mirrored], x]),
        mdqr.concatenate([found.square[mirrored], found.square]),
        (_mirrored(errors[0], mirrored), _mirrored(errors[1], mirrored)),
        passes,
    )


def _mirrored(values: np.ndarray, mirrored: slice) -> np.ndarray:
    return np.concatenate([values[mirrored], values])
