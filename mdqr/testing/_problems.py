"""Least-squares problems with exact rational solutions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from mdqr.testing._exact import Integers

__all__ = ["LSTSQ_PROBLEMS", "LstsqProblem", "lstsq_problem"]


class LstsqProblem(NamedTuple):
    """A least-squares problem ``min norm(b - A x)`` and its exact solution.

    Attributes
    ----------
    name : str
        Its name.
    a : ndarray of Fraction, shape (m, n)
        The matrix.
    b : ndarray of Fraction, shape (m,)
        The right-hand side.
    x : ndarray of Fraction, shape (n,)
        The solution.
    residual : Fraction
        The sum of squares of ``b - A x``.
    variances : ndarray of Fraction, shape (n,)
        The squares of the standard errors: ``residual / (m - n) * diag(inv(A^T A))``.
    """

    name: str
    a: Integers
    b: Integers
    x: Integers
    residual: Fraction
    variances: Integers

    def standard_errors(self, digits: int = 50) -> Integers:
        """Return the standard errors as mpmath numbers with that many decimal digits."""
        return np.array([_root(value, digits) for value in self.variances], dtype=object)

    def residual_std(self, digits: int = 50) -> Any:
        """Return the residual standard deviation as an mpmath number."""
        m, n = self.a.shape
        return _root(self.residual / (m - n), digits)


LstsqProblem.__module__ = "mdqr.testing"


def lstsq_problem(name: str) -> LstsqProblem:
    """Return a least-squares problem with its exact rational solution.

    Parameters
    ----------
    name : str
        One of the linear regression sets of the NIST Statistical Reference Datasets: "noint1" and
        "noint2" (a line through the origin), "longley" (16 by 7), "wampler1" to "wampler5"
        (polynomials of degree 5 at 0, ..., 20).

    Returns
    -------
    LstsqProblem
        Exact Fractions; ``mdqr.array(problem.a, precision=p)`` rounds them once.

    Raises
    ------
    ValueError
        If there is no such problem.

    Notes
    -----
    The normal equations are solved in rational arithmetic. The solutions agree with NIST's
    certified values in all digits given there.

    Examples
    --------
    >>> from mdqr.testing import lstsq_problem
    >>> lstsq_problem("noint1").x
    array([Fraction(251, 121)], dtype=object)
    """
    if name not in _PROBLEMS:
        raise ValueError(f"no problem {name!r}; there are {', '.join(_PROBLEMS)}")
    a, b = _PROBLEMS[name]()
    m, n = a.shape
    normal = np.concatenate([a.T @ a, (a.T @ b)[:, None], _identity(n)], axis=1)
    solved = _eliminate(normal)
    x = solved[:, n]
    residual = b - a @ x
    square = residual @ residual
    variances = np.array([solved[i, n + 1 + i] * square / (m - n) for i in range(n)], dtype=object)
    return LstsqProblem(name, a, b, x, square, variances)


def _identity(n: int) -> Integers:
    return _fractions(np.eye(n, dtype=int).tolist())


def _fractions(values: Any) -> Integers:
    array = np.array(values, dtype=object)
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(array))


def _eliminate(rows: Integers) -> Integers:
    """Reduce ``[S, B]`` with a positive definite S to ``[I, inv(S) B]``."""
    rows = rows.copy()
    for i in range(len(rows)):
        rows[i] = rows[i] / rows[i, i]
        for k in range(len(rows)):
            if k != i:
                rows[k] = rows[k] - rows[k, i] * rows[i]
    return rows


def _root(value: Fraction, digits: int) -> Any:
    import mpmath

    with mpmath.workdps(digits + 5):
        return mpmath.sqrt(mpmath.mpf(value.numerator) / value.denominator)


def _noint1() -> tuple[Integers, Integers]:
    return _fractions([[x] for x in range(60, 71)]), _fractions(list(range(130, 141)))


def _noint2() -> tuple[Integers, Integers]:
    return _fractions([[4], [5], [6]]), _fractions([3, 4, 4])


def _longley() -> tuple[Integers, Integers]:
    rows = [line.split() for line in _LONGLEY.split("\n")]
    a = [[1, *row[1:]] for row in rows]
    return _fractions(a), _fractions([row[0] for row in rows])


def _wampler(ratio: Fraction, noise: int) -> tuple[Integers, Integers]:
    """Return powers of 0, ..., 20 and their sum at ``ratio x``, plus orthogonal noise."""
    a = _fractions([[x**k for k in range(6)] for x in range(21)])
    coefficients = _fractions([ratio**k for k in range(6)])
    return a, a @ coefficients + noise * _fractions(_WAMPLER_NOISE)


_WAMPLER_NOISE: Final = [
    759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048,
    -2048, 1838, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 759,
]  # fmt: skip

# employed; deflator, gnp, unemployed, armed forces, population, year
_LONGLEY: Final = """\
60323 83.0 234289 2356 1590 107608 1947
61122 88.5 259426 2325 1456 108632 1948
60171 88.2 258054 3682 1616 109773 1949
61187 89.5 284599 3351 1650 110929 1950
63221 96.2 328975 2099 3099 112075 1951
63639 98.1 346999 1932 3594 113270 1952
64989 99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962"""

_PROBLEMS: Final[dict[str, Callable[[], tuple[Integers, Integers]]]] = {
    "noint1": _noint1,
    "noint2": _noint2,
    "longley": _longley,
    "wampler1": lambda: _wampler(Fraction(1), 0),
    "wampler2": lambda: _wampler(Fraction(1, 10), 0),
    "wampler3": lambda: _wampler(Fraction(1), 1),
    "wampler4": lambda: _wampler(Fraction(1), 100),
    "wampler5": lambda: _wampler(Fraction(1), 10000),
}

LSTSQ_PROBLEMS: Final = tuple(_PROBLEMS)
