"""Interpolation of values at points by polynomials, in barycentric form."""

from __future__ import annotations

from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._pickles import State, pickled
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.approx import _barycentric as barycentric
from mdqr.linalg._shared.operands import gather

_FACTORS = 32  # of a product before it is scaled


def weights_of(points: MDArray) -> MDArray:
    """Return ``1 / prod(x[j] - x[k])`` over k other than j, times a power of two.

    The largest is near 1. A weight has a relative error of at most ``4 * n * eps`` unless it is
    below ``2**-600`` times the largest.
    """
    n = len(points)
    product, powers = mdqr.ones(n, precision=points.precision), np.zeros(n, np.int64)
    if points.is_complex:
        product = product.astype(dtype=complex)
    for start in range(0, n, _FACTORS):
        columns = np.arange(start, min(start + _FACTORS, n))
        distances = points[:, None] - points[columns]
        distances[columns, columns - start] = 1
        scaled, exponents = _near_one(distances)
        product, more = _near_one(product * mdqr.prod(scaled, axis=1))
        powers += exponents.sum(axis=1) + more
    found, more = _near_one(1 / product)
    powers = more - powers
    shift = np.maximum(powers - powers.max(), -1100)
    return _times_power(found, shift)


def _near_one(x: MDArray) -> tuple[MDArray, np.ndarray]:
    """Return values times powers of two, moduli from 1/2 to 1 or so, and the powers taken out."""
    _, exponents = np.frexp(abs(x).to_numpy())
    exponents = exponents.astype(np.int64)
    return _times_power(x, -exponents), exponents


def _times_power(x: MDArray, powers: np.ndarray) -> MDArray:
    """Multiply by powers of two, which may be below the smallest double."""
    half = powers // 2
    first, second = (mdqr.array(np.ldexp(1.0, p), precision=mdqr.d) for p in (half, powers - half))
    return x * first * second


@experimental
@pickled
class BarycentricInterpolator:
    """The polynomial of least degree with given values at points, with SciPy's name.

    An instance is a function of points of any shape, at which it returns values of that shape.

    Parameters
    ----------
    xi : array_like
        Points, real or complex, ``(n,)``, of which no two are equal.
    yi : array_like
        Values at the points, ``(n,)``.
    precision : Precision or str, optional
        The precision; by default the highest of `xi` and `yi`, for floats alone d.

    Attributes
    ----------
    xi, yi, wi : MDArray
        Points, values and weights, ``(n,)``.

    Raises
    ------
    ValueError
        If the shapes are empty, not equal or not one-dimensional, a point is not finite, or two are
        equal.

    Notes
    -----
    The error at x is at most ``(3 n + 4) eps cond(x) + (3 n + 2) eps lebesgue(x)`` relative to
    p(x), to first order, times 4 for the arithmetic here. The factor cond is
    ``sum(|l_j(x) y_j|) / |p(x)|`` and lebesgue ``sum(|l_j(x)|)``. The latter is below
    ``1 + log(n)`` for Chebyshev points and grows as ``2**n`` for equidistant ones (N. J. Higham,
    The numerical stability of barycentric Lagrange interpolation, 2004).

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.array([0, 1, 2], precision=mdqr.qd)
    >>> p = mdqr.approx.BarycentricInterpolator(x, x**2)
    >>> print(p(mdqr.qd("0.1")))
    0.01
    """

    def __init__(self, xi: Any, yi: Any, /, *, precision: PrecisionLike | None = None) -> None:
        work = gather(xi, yi, precision=precision).work
        self.xi, self.yi = mdqr.array(xi, precision=work), mdqr.array(yi, precision=work)
        if self.xi.ndim != 1 or self.xi.shape != self.yi.shape or not len(self.xi):
            raise ValueError(
                "BarycentricInterpolator: points and values must have one axis of one length from "
                f"1; got shapes {self.xi.shape} and {self.yi.shape}"
            )
        if not bool(mdqr.isfinite(self.xi).all()):
            raise ValueError("BarycentricInterpolator: a point is not finite")
        if len(mdqr.unique(self.xi)) < len(self.xi):
            raise ValueError("BarycentricInterpolator: two points are equal")
        self.wi = weights_of(self.xi)

    def __call__(self, x: Any, /) -> MDArray:
        """Return values at points of any shape."""
        points = mdqr.array(x, precision=self.xi.precision)
        found = barycentric.values(points.ravel(), self.xi, self.yi, self.wi)
        return found.reshape(points.shape)

    def _state(self) -> dict[str, Any]:
        return {"xi": self.xi, "yi": self.yi}

    @classmethod
    def _restored(cls, state: State) -> BarycentricInterpolator:
        return cls(state.checked("xi", MDArray), state.checked("yi", MDArray))


BarycentricInterpolator.__module__ = "mdqr.approx"
