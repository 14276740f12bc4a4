"""Least-squares problems with exact rational solutions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from mdqr._pickles import pickled_fields
from mdqr.testing._exact import Integers
from mdqr.testing._nist import FILIP, LONGLEY, NORRIS, PONTIUS

__all__ = ["LSTSQ_PROBLEMS", "LstsqProblem", "lstsq_problem"]


@pickled_fields
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
        One of the linear regression sets of the NIST Statistical Reference Datasets: "norris" (a
        line), "pontius" (a parabola), "noint1" and "noint2" (a line through the origin), "filip"
        (degree 10, 82 by 11), "longley" (16 by 7), "wampler1" to "wampler5" (polynomials of degree
        5 at 0, ..., 20).

    Returns
    -------
    LstsqProblem
        Exact Fractions; ``mdqr.array(problem.a, precision=p)`` rounds them once.

    Raises
    ------
    ValueError
        If the problem does not exist.

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
    rows = [line.split() for line in LONGLEY.split("\n")]
    a = [[1, *row[1:]] for row in rows]
    return _fractions(a), _fractions([row[0] for row in rows])


def _polynomial(text: str, degree: int) -> tuple[Integers, Integers]:
    pairs = [pair.split() for pair in text.split(";")]
    a = [[Fraction(x) ** k for k in range(degree + 1)] for _, x in pairs]
    return _fractions(a), _fractions([y for y, _ in pairs])


def _wampler(ratio: Fraction, noise: int) -> tuple[Integers, Integers]:
    """Return powers of 0, ..., 20 and their sum at ``ratio x``, plus orthogonal noise."""
    a = _fractions([[x**k for k in range(6)] for x in range(21)])
    coefficients = _fractions([ratio**k for k in range(6)])
    return a, a @ coefficients + noise * _fractions(_WAMPLER_NOISE)


_WAMPLER_NOISE: Final = [
    759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048,
    -2048, 1838, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 759,
]  # fmt: skip

_PROBLEMS: Final[dict[str, Callable[[], tuple[Integers, Integers]]]] = {
    "norris": lambda: _polynomial(NORRIS, 1),
    "pontius": lambda: _polynomial(PONTIUS, 2),
    "noint1": _noint1,
    "noint2": _noint2,
    "filip": lambda: _polynomial(FILIP, 10),
    "longley": _longley,
    "wampler1": lambda: _wampler(Fraction(1), 0),
    "wampler2": lambda: _wampler(Fraction(1, 10), 0),
    "wampler3": lambda: _wampler(Fraction(1), 1),
    "wampler4": lambda: _wampler(Fraction(1), 100),
    "wampler5": lambda: _wampler(Fraction(1), 10000),
}

LSTSQ_PROBLEMS: Final = tuple(_PROBLEMS)
