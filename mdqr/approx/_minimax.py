"""Polynomials of least maximal error, by the Remez algorithm."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import warn_caller
from mdqr._pickles import State, pickled
from mdqr._precision import as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.approx._remez import Levelled, Problem

_MOST_ITERATIONS = 60


@experimental
@pickled
class MinimaxPolynomial:
    """A polynomial as `minimax` returns it, a function of points of any shape.

    Attributes
    ----------
    coef : MDArray
        Coefficients of the Chebyshev polynomials of degrees 0, 1, ... on the interval, as in
        `numpy.polynomial.Chebyshev` with ``domain=interval``.
    interval : MDArray
        The ends of the interval.
    error : float
        The largest error found at points, relative ones with ``relative=True``.
    lower_bound : float
        No polynomial of the degree has a smaller maximal error (C.-J. de la Vallee Poussin), if
        values of `f` have relative errors of at most ``20 * eps``.
    iterations : int
        The exchanges of the reference.
    """

    def __init__(
        self, coef: MDArray, interval: MDArray, error: float, lower_bound: float, iterations: int
    ) -> None:
        self.coef, self.interval = coef, interval
        self.error, self.lower_bound, self.iterations = error, lower_bound, iterations

    def __call__(self, x: Any, /) -> MDArray:
        """Return values, by the recurrence of Clenshaw."""
        a, b = self.interval
        u = (2 * mdqr.array(x, precision=self.coef.precision) - a - b) / (b - a)
        after, before = mdqr.zeros_like(u), mdqr.zeros_like(u)
        for c in self.coef[:0:-1]:
            after, before = 2 * u * after - before + c, after
        return u * after - before + self.coef[0]

    def __repr__(self) -> str:
        a, b = self.interval.to_strings(6)
        return (
            f"<MinimaxPolynomial of degree {len(self.coef) - 1} on [{a}, {b}], "
            f"error {self.error:.4g}, {self.coef.precision}>"
        )

    def _state(self) -> dict[str, Any]:
        names = ("coef", "interval", "error", "lower_bound", "iterations")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def _restored(cls, state: State) -> MinimaxPolynomial:
        coef, interval = (state.checked(name, MDArray) for name in ("coef", "interval"))
        error, bound = (state.checked(name, float) for name in ("error", "lower_bound"))
        return cls(coef, interval, error, bound, state.checked("iterations", int))


MinimaxPolynomial.__module__ = "mdqr.approx"


@experimental
def minimax(
    f: Callable[[MDArray], Any],
    degree: int,
    interval: Sequence[Any] = (-1, 1),
    *,
    relative: bool = False,
    rtol: float = 1e-6,
    precision: PrecisionLike,
) -> MinimaxPolynomial:
    """Return the polynomial whose largest error on an interval is the smallest.

    Parameters
    ----------
    f : callable
        A continuous real function: gets points ``(n,)`` and returns values of that shape.
    degree : int
        The degree, from 0.
    interval : sequence, default: (-1, 1)
        The two ends, as `mdqr.array` takes them.
    relative : bool, default: False
        Whether errors are divided by `f`, which has no zero in the interval then.
    rtol : float, default: 1e-6
        The largest error is at most ``1 + rtol`` times the smallest possible one.
    precision : Precision or str
        The working precision. It should have some digits more than the error.

    Returns
    -------
    MinimaxPolynomial
        A function with attributes.

    Raises
    ------
    ValueError
        If an argument is out of range, or a value of `f` is not finite.

    Warns
    -----
    RuntimeWarning
        If `rtol` is not reached: the error is as small as rounding errors, or `f` has features
        between the points that are looked at, 8 for each extremum.

    Notes
    -----
    An exchange takes the polynomial whose errors at ``degree + 2`` points have one size and
    alternating signs, in barycentric form, and moves the points to the extrema of its error (E. Ya.
    Remez 1934; R. Pachon and L. N. Trefethen, Barycentric-Remez algorithms, 2009).

    Examples
    --------
    >>> import mdqr
    >>> p = mdqr.approx.minimax(mdqr.exp, 20, precision=mdqr.qd)
    >>> p
    <MinimaxPolynomial of degree 20 on [-1.00000, 1.00000], error 1.889e-26, qd>
    """
    n, work = operator.index(degree), as_precision(precision)
    ends = mdqr.array(list(interval), precision=work)
    if n < 0 or ends.shape != (2,) or not bool((ends[0] < ends[1]) & mdqr.isfinite(ends).all()):
        raise ValueError(
            f"minimax: degree must be at least 0 and interval two numbers in order; got {degree} "
            f"and {interval}"
        )
    problem = Problem("minimax", f, ends, relative=relative)
    places = (1 - np.cos(np.pi * np.arange(n + 2) / (n + 1))) / 2
    best = None
    for iteration in range(1, _MOST_ITERATIONS + 1):
        polynomial = Levelled(problem, places)
        found = polynomial.extrema()
        largest, level = float(abs(found.errors).max()), polynomial.level
        if best is None or largest < best[1]:
            best = polynomial, largest, level, iteration
        if largest <= (1 + rtol) * level or found.places is None:
            break
        places = found.places
    assert best is not None
    polynomial, largest, level, iteration = best
    if largest > (1 + rtol) * level:
        warn_caller(
            RuntimeWarning(
                f"minimax: the largest error found is {largest:.4g}, the smallest possible "
                f"{level:.4g}; take a higher precision than {work}, or a larger rtol"
            )
        )
    return MinimaxPolynomial(polynomial.coefficients(), ends, largest, level, iteration)


minimax.__module__ = "mdqr.approx"
