"""Results of `solve`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._pickles import pickled, pickled_fields
from mdqr._stability import experimental
from mdqr.linalg import Info

# Indices that select one solution, or several.
One: TypeAlias = int | np.integer[Any]
Several: TypeAlias = slice | np.ndarray[Any, Any] | list[int] | list[bool]
_MOST_ROWS, _MOST_COLUMNS = 20, 6


@experimental
@pickled_fields
class Solution(NamedTuple):
    """One solution of a system; see `Solutions`."""

    x: MDArray
    multiplicity: int
    is_real: bool
    is_singular: bool
    is_certified: bool
    digits: np.ndarray
    error_bound: np.ndarray
    cluster_radius: float


@experimental
@pickled
class SolveInfo(Info):
    """Counts of paths, and the attributes of `mdqr.linalg.Info`.

    Attributes
    ----------
    paths : int
        Paths that were followed: the sum of the multiplicities, and of the next four.
    at_infinity : int
        Paths that went to infinity.
    positive_dimensional : int
        Paths that ended on a set of solutions of positive dimension: found by a numerical test.
    extraneous : int
        Paths that ended at solutions of combinations of the equations only, if the equations are
        more than the unknowns.
    failed : int
        Paths whose end was not found, or equals another one: solutions may be missing.
    followed_again : int
        Paths that met others, and were followed again with shorter steps.
    """

    paths: int
    at_infinity: int
    positive_dimensional: int
    extraneous: int
    failed: int
    followed_again: int
    _more = (
        *("paths", "at_infinity", "positive_dimensional", "extraneous", "failed"),
        "followed_again",
    )

    def __init__(self, counts: dict[str, int], *known: Any, **more: Any) -> None:
        super().__init__(*known, **more)
        self.__dict__ |= counts

    def _shown(self) -> str:
        counts = " ".join(f"{name}={getattr(self, name)}" for name in self._more)
        return f"method={self.method!r} {counts}"


@experimental
@pickled_fields
@dataclass(frozen=True, repr=False, eq=False)
class Solutions:
    """The isolated solutions of a polynomial system that were found.

    It has a length, `Solutions` or a `Solution` by an index, and can be iterated over.

    Attributes
    ----------
    variables : tuple of str
        The unknowns.
    x : MDArray
        ``(k, n)``: distinct finite solutions, complex; real ones have imaginary parts of zero.
    multiplicity : numpy.ndarray
        How many paths ended there. Solutions nearer to each other than `cluster_radius` may count
        as one.
    is_real : numpy.ndarray
        True if a solution is real: proven where it is certified, else by its size. False for
        equations with coefficients that are not real.
    is_singular : numpy.ndarray
        True for multiple solutions, and others at which the Jacobian is singular to working
        precision.
    is_certified : numpy.ndarray
        True if exactly one solution near x is proven to exist, and to differ from the others.
    error_bound : numpy.ndarray
        ``(k, n)``: proven bounds of the absolute errors, NaN where nothing is certified.
    cluster_radius : numpy.ndarray
        The largest distance of the paths of a multiple solution from it, where they were seen last;
        not proven. 0 for simple ones. It is less in a higher precision.
    info : SolveInfo
        The numbers of paths, precision, steps of a path (`iterations`, the most of all).
    """

    variables: tuple[str, ...]
    x: MDArray
    multiplicity: np.ndarray
    is_real: np.ndarray
    is_singular: np.ndarray
    is_certified: np.ndarray
    error_bound: np.ndarray
    cluster_radius: np.ndarray
    info: SolveInfo

    @property
    def digits(self) -> np.ndarray:
        """Correct decimal digits ``(k, n)``, proven; NaN where nothing is certified.

        A component without correct digits, as zero with an error, has 0.
        """
        return digits_of(self.x, self.error_bound)

    @property
    def at_infinity(self) -> int:
        """The number of paths that went to infinity."""
        return self.info.at_infinity

    @property
    def paths(self) -> int:
        """The number of paths."""
        return self.info.paths

    def __len__(self) -> int:
        return len(self.multiplicity)

    def __iter__(self) -> Iterator[Solution]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: One) -> Solution: ...

    @overload
    def __getitem__(self, index: Several) -> Solutions: ...

    def __getitem__(self, index: Any) -> Solution | Solutions:
        """Return a `Solution` for an integer, `Solutions` for a slice, a mask or indices."""
        parts = [getattr(self, name) for name in _ROWS]
        if isinstance(index, int | np.integer):
            x, m, real, singular, certified, error, radius = (part[index] for part in parts)
            flags = bool(real), bool(singular), bool(certified)
            return Solution(x, int(m), *flags, self.digits[index], error, float(radius))
        rows = dict(zip(_ROWS, (part[index] for part in parts), strict=True))
        return Solutions(variables=self.variables, info=self.info, **rows)

    def filter(self, *, real: bool | None = None, singular: bool | None = None) -> Solutions:
        """Return the solutions that are real, or not; singular, or not.

        Parameters
        ----------
        real, singular : bool, optional
            The demand; None for both.

        Returns
        -------
        Solutions
            The selected ones, with the `info` of all.
        """
        held = np.ones(len(self), bool)
        for demand, given in ((real, self.is_real), (singular, self.is_singular)):
            if demand is not None:
                held &= given == bool(demand)
        return self[held]

    def to_numpy(self) -> np.ndarray:
        """Return the solutions ``(k, n)`` in complex128."""
        return self.x.to_numpy()

    def to_sympy(self) -> list[dict[Any, Any]]:
        """Return the solutions as dicts of SymPy numbers by symbols, exactly as stored."""
        import sympy

        symbols = sympy.symbols(list(self.variables))
        return [
            {
                symbol: sympy.sympify(value.real if self.is_real[i] else value)
                for symbol, value in zip(symbols, row, strict=True)
            }
            for i, row in enumerate(self.x)
        ]

    def __repr__(self) -> str:
        info = self.info
        many = "solution" if len(self) == 1 else "solutions"
        lines = [
            f"<{len(self)} {many} in {self.x.precision}, {int(self.is_real.sum())} real, "
            f"{int(self.is_certified.sum())} certified; {info.paths} paths, "
            f"{info.at_infinity} to infinity"
            + (f", {info.positive_dimensional} on sets" if info.positive_dimensional else "")
            + (f", {info.failed} failed" if info.failed else "")
            + ">"
        ]
        if len(self):
            lines += self._table()
        return "\n".join(lines)

    def _table(self) -> list[str]:
        names = list(self.variables[:_MOST_COLUMNS])
        rows = [["", *names, "multiplicity", "digits"]]
        digits = self.digits.min(axis=1)
        for i, point in enumerate(self.to_numpy()[:_MOST_ROWS]):
            errors = self.error_bound[i] if self.is_certified[i] else np.zeros(len(point))
            shown = [
                f"{value.real:.8g}" if self.is_real[i] else f"{_without(value, error):.8g}"
                for value, error in zip(point[:_MOST_COLUMNS], errors, strict=False)
            ]
            known = f"{digits[i]:.1f}" if self.is_certified[i] else "none certified"
            if self.multiplicity[i] > 1:
                known += f", one within {self.cluster_radius[i]:.0e}"
            rows.append([str(i), *shown, str(self.multiplicity[i]), known])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        if len(self) > _MOST_ROWS:
            lines.append(f"... {len(self) - _MOST_ROWS} more")
        return lines


def _without(value: complex, error: float) -> complex:
    """Return a number with zero for a part that is not larger than the error."""
    real, imag = (part if abs(part) > error else 0.0 for part in (value.real, value.imag))
    return complex(real, imag)


def digits_of(x: MDArray, error: np.ndarray) -> np.ndarray:
    """Return the digits that bounds of absolute errors prove, NaN where these are NaN."""
    size = abs(x).to_numpy() * (1 - 2.0**-50)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(error < size, -np.log10(error / (size - error)), 0.0)
    found = np.clip(found - 1e-9, 0.0, x.precision.digits)
    return np.where(np.isnan(error), np.nan, found)


_ROWS = (
    *("x", "multiplicity", "is_real", "is_singular", "is_certified", "error_bound"),
    "cluster_radius",
)
for _kind in (Solution, SolveInfo, Solutions):
    _kind.__module__ = "mdqr.series"
