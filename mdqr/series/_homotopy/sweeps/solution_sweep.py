"""Results of `solve` for many values of the parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._pickles import pickled_fields
from mdqr._precision import Precision
from mdqr._stability import experimental
from mdqr.series._homotopy.solutions import One, Several, Solutions, SolveInfo, digits_of


@experimental
@pickled_fields
@dataclass(frozen=True, repr=False, eq=False)
class SolutionSweep:
    """The ends of k paths to each of m values of the parameters.

    Entry ``[i, j]`` belongs to the path from start point j to value i. `Solutions` of one value
    are had by an integer index or iteration, a part of the sweep by a slice, a mask or indices.

    Attributes
    ----------
    variables : tuple of str
        The unknowns.
    x : MDArray
        ``(m, k, n)``, complex, NaN where a path has no finite end; real solutions have imaginary
        parts of zero.
    is_found : numpy.ndarray
        ``(m, k)``: True where a finite end was found.
    is_infinite : numpy.ndarray
        ``(m, k)``: True where a path went to infinity.
    is_on_set : numpy.ndarray
        ``(m, k)``: True where a path ended on a set of solutions of positive dimension, by a
        numerical test. Paths that are none of these are lost, or end where another one does.
    is_real, is_singular, is_certified : numpy.ndarray
        ``(m, k)``, as in `Solutions`. Singular ends of one value that are equal are one solution.
    error_bound : numpy.ndarray
        ``(m, k, n)``: proven bounds of the absolute errors, NaN where nothing is certified.
    cluster_radius : numpy.ndarray
        ``(m, k)``, as in `Solutions`.
    info : SolveInfo
        Counts of all paths. `followed_again` are those to values that were taken one by one.
    """

    variables: tuple[str, ...]
    x: MDArray
    is_found: np.ndarray
    is_infinite: np.ndarray
    is_on_set: np.ndarray
    is_real: np.ndarray
    is_singular: np.ndarray
    is_certified: np.ndarray
    error_bound: np.ndarray
    cluster_radius: np.ndarray
    info: SolveInfo

    @property
    def digits(self) -> np.ndarray:
        """Proven decimal digits ``(m, k, n)``, NaN where nothing is certified."""
        return digits_of(self.x, self.error_bound)

    def __len__(self) -> int:
        return len(self.is_found)

    def __iter__(self) -> Iterator[Solutions]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: One) -> Solutions: ...

    @overload
    def __getitem__(self, index: Several) -> SolutionSweep: ...

    def __getitem__(self, index: Any) -> Solutions | SolutionSweep:
        """Return the `Solutions` of one value for an integer, else a part of the sweep."""
        parts = [getattr(self, name)[index] for name in _ROWS]
        if not isinstance(index, int | np.integer):
            held: dict[str, Any] = dict(zip(_ROWS, parts, strict=True))
            info = self._info(held["is_found"], held["is_infinite"], held["is_on_set"])
            return SolutionSweep(self.variables, **held, info=info)
        x, found, infinite, on_set, real, singular, certified, error, radius = parts
        which, multiplicity = _distinct(x, found, singular)
        return Solutions(
            self.variables, x[which], multiplicity, real[which], singular[which],
            certified[which], error[which], radius[which], self._info(found, infinite, on_set),
        )  # fmt: skip

    def _info(self, found: np.ndarray, infinite: np.ndarray, on_set: np.ndarray) -> SolveInfo:
        return sweep_info(found, infinite, on_set, self.info.precision, 0)

    def to_numpy(self) -> np.ndarray:
        """Return the ends ``(m, k, n)`` in complex128."""
        return self.x.to_numpy()

    def __repr__(self) -> str:
        info, (m, k) = self.info, self.is_found.shape
        return (
            f"<{k} {'path' if k == 1 else 'paths'} to each of {m} values of the parameters, in "
            f"{self.x.precision}: {int(self.is_found.sum())} ends, {int(self.is_real.sum())} real, "
            f"{int(self.is_certified.sum())} certified, {info.at_infinity} at infinity"
            + (f", {info.failed} failed" if info.failed else "")
            + ">"
        )


_ROWS = (
    *("x", "is_found", "is_infinite", "is_on_set", "is_real", "is_singular", "is_certified"),
    *("error_bound", "cluster_radius"),
)
SolutionSweep.__module__ = "mdqr.series"


def _distinct(x: MDArray, found: np.ndarray, singular: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of distinct solutions, and how many paths end at each."""
    places: dict[Any, list[int]] = {}
    near = x.to_numpy()
    for place in np.flatnonzero(found).tolist():
        key = near[place].tobytes() if singular[place] else place
        places.setdefault(key, []).append(place)
    which = np.array([group[0] for group in places.values()], int)
    return which, np.array([len(group) for group in places.values()], int)


def sweep_info(
    found: np.ndarray,
    infinite: np.ndarray,
    on_set: np.ndarray,
    precision: Precision | None,
    again: int,
) -> SolveInfo:
    """Return the counts of ends, of which `again` were followed once more."""
    counts = {
        "paths": found.size,
        "at_infinity": int(infinite.sum()),
        "positive_dimensional": int(on_set.sum()),
        "extraneous": 0,
        "failed": int((~found & ~infinite & ~on_set).sum()),
        "followed_again": again,
    }
    return SolveInfo(counts, precision, method="parameters")
