"""Many paths followed at once, by a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr import concatenate
from mdqr._array.array import MDArray
from mdqr._backend import path_follower
from mdqr._backend.path_calls import PathGoal, PathPoints, PathSystem
from mdqr._functions.creation import array
from mdqr._functions.from_limbs import from_limbs
from mdqr._precision import Precision
from mdqr.series._homotopy.homotopy import Homotopy, Points, doubles

# By how much predictions may be wrong, relative to the point; the longest step, and the first.
TOLERANCE, _LONGEST, _FIRST = 1e-5, 0.1, 0.02
# Points before the last one that predictions know.
_PAST = 3
# States of `PathFollower.follow_paths`.
THERE, FAILED = 1, 2


_FIELDS = PathPoints._fields


@dataclass
class Paths:
    """Paths at their points: arrays with the path as last axis.

    Attributes
    ----------
    x : complex128 or MDArray
        ``(v, paths)``.
    s : numpy.ndarray
        Complex.
    step : numpy.ndarray
        The lengths that the last steps should have had.
    tangent : numpy.ndarray
        dx/ds.
    past_x, past_tangent : numpy.ndarray
        The last points before ``(3, v, paths)``: differences from x, and tangents.
    past_s : numpy.ndarray
        Their s, ``(3, paths)``.
    held : numpy.ndarray
        How many points with tangents are known, 0 at the start.
    steps : numpy.ndarray
        The numbers of accepted steps.
    set : numpy.ndarray
        Which coefficients of the homotopy are theirs.
    """

    x: Points
    s: np.ndarray
    step: np.ndarray
    tangent: np.ndarray
    past_x: np.ndarray
    past_tangent: np.ndarray
    past_s: np.ndarray
    held: np.ndarray
    steps: np.ndarray
    set: np.ndarray

    @classmethod
    def at(cls, x: Points, s: Any, *, step: Any = _FIRST, set: Any = 0) -> Paths:
        """Return paths that begin at points."""
        v, count = x.shape
        past = _PAST, v, count
        return cls(
            x.copy(), np.full(count, s, complex), np.full(count, step, float),
            np.zeros((v, count), complex), np.zeros(past, complex), np.zeros(past, complex),
            np.zeros((_PAST, count), complex), np.zeros(count, np.int64),
            np.zeros(count, np.int64), np.full(count, set, np.int64),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.s)

    def _parts(self) -> list[Any]:
        return [getattr(self, name) for name in _FIELDS]

    def __getitem__(self, which: np.ndarray) -> Paths:
        """Return copies of some paths."""
        return Paths(*(_contiguous(part[..., which]) for part in self._parts()))

    def __setitem__(self, which: np.ndarray, other: Paths) -> None:
        for part, new in zip(self._parts(), other._parts(), strict=True):
            part[..., which] = new

    def within(self, x: Points) -> Paths:
        """Return the same with other points, in another precision."""
        return Paths(x, *(part.copy() for part in self._parts()[1:]))


def advance(
    homotopy: Homotopy,
    paths: Paths,
    which: np.ndarray,
    target: complex,
    *,
    tolerance: float = TOLERANCE,
    least: float = 1e-10,
    longest: float = _LONGEST,
    jump: bool = False,
    most: int = 20000,
    report: Callable[[int], object] | None = None,
) -> np.ndarray:
    """Follow paths straight to a target, and return their states: THERE or FAILED.

    Parameters
    ----------
    homotopy : Homotopy
        In the precision of the points.
    paths : Paths
        Changed in place.
    which : numpy.ndarray
        Indices of the paths to follow.
    target : complex
        Where they are to end.
    tolerance : float, optional
        By how much a prediction may be wrong, relative to the point.
    least : float, optional
        Steps that would become shorter are failures.
    longest : float, optional
        Steps are no longer.
    jump : bool, optional
        Whether a step that reaches zero may go there at once: then s is 0.
    most : int, optional
        Paths are lost after so many steps.
    report : callable, optional
        Called with the number of paths that ended.
    """
    goal = PathGoal(complex(target), tolerance, least, longest, homotopy.no_x0, jump, most)
    state = by_kernel(homotopy.tables, paths, which, goal, homotopy.device)
    if report is not None:
        report(len(which))
    return state


def by_kernel(
    system: PathSystem, paths: Paths, which: np.ndarray, goal: PathGoal, device: str | None = None
) -> np.ndarray:
    """Follow paths in the precision of their points and of the system; see `advance`.

    On a device where that is worth while; points stay on the CPU.
    """
    x, *others = paths._parts()
    wide = isinstance(x, MDArray)
    block = x.limbs.copy() if wide else np.stack([x.real, x.imag])[:, None]
    with path_follower(device, system, len(which)) as follower:
        state = follower.follow_paths(system, PathPoints(block, *others), which, goal)
    paths.x = from_limbs(block, dtype=complex) if wide else block[0, 0] + 1j * block[1, 0]
    return state


def joined(first: Paths, second: Paths) -> Paths:
    """Return paths behind others."""
    if not len(second):
        return first
    x = concatenate if isinstance(first.x, MDArray) else np.concatenate
    pairs = zip(first._parts()[1:], second._parts()[1:], strict=True)
    others = [np.concatenate(pair, axis=-1) for pair in pairs]
    return Paths(x([first.x, second.x], axis=1), *others)


def in_precision(paths: Paths, precision: Precision) -> Paths:
    """Return paths whose points are held in a precision."""
    return paths.within(array(paths.x, precision=precision))


def in_double(paths: Paths) -> Paths:
    """Return paths whose points are held in complex128."""
    x = paths.x
    return paths.within(doubles(x).copy() if isinstance(x, MDArray) else x.copy())


def _contiguous(part: Any) -> Any:
    return part if isinstance(part, MDArray) else np.ascontiguousarray(part)
