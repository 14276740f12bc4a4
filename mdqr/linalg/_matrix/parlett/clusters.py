"""Eigenvalues that are computed together: disks of a function without singularities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr.linalg._matrix.parlett.samples import Samples
from mdqr.linalg._spectral.disks import components

# Eigenvalues within this part of the largest entry are computed together if they can be: the
# recurrence divides by their distances.
_NEAR = 0.125
# Distances relative to the matrix that do not count: they may be rounding errors of float64.
_LEAST = 2.0**-44
# Disks have this multiple of the radius of the eigenvalues: Taylor series gain a bit in each term.
_WIDER = 2.0


class Disk(NamedTuple):
    """A disk in the complex plane."""

    center: complex
    radius: float


def clusters(samples: Samples, values: np.ndarray, size: float) -> tuple[np.ndarray, list[Disk]]:
    """Return labels of eigenvalues ``(n,)`` from 0 on, and a disk around each cluster.

    Clusters are chains of near neighbours (P. I. Davies and N. J. Higham, A Schur-Parlett
    algorithm for computing matrix functions, 2003), split where a function has singularities next
    to them or varies too much. They are in order of their mean real parts. `size` is the
    largest entry of the matrix.
    """
    search = _Search(samples, _LEAST * size, samples.size(values))
    search.split(values, np.arange(len(values)), _NEAR * size)
    order = sorted(search.parts, key=lambda part: float(values[part].real.mean()))
    labels = np.empty(len(values), dtype=np.int64)
    for i, part in enumerate(order):
        labels[part] = i
    return labels, [search.disk(values[part]) for part in order]


class _Search:
    def __init__(self, samples: Samples, least: float, most: float) -> None:
        self._samples, self._least, self._most = samples, least, most
        self.parts: list[np.ndarray] = []

    def split(self, values: np.ndarray, members: np.ndarray, distance: float) -> None:
        """Note clusters of members whose neighbours are within a distance, or less."""
        chosen = values[members]
        labels = components(abs(chosen[:, None] - chosen) <= distance)
        for label in np.unique(labels):
            part = members[labels == label]
            if len(part) == 1 or distance <= self._least or self._fits(values[part]):
                self.parts.append(part)
            else:
                self.split(values, part, max(distance / 2, self._least))

    def disk(self, values: np.ndarray) -> Disk:
        """Return a disk around eigenvalues in which a function should be analytic."""
        center = complex(values.mean())
        radius = float(abs(values - center).max())
        return Disk(center, _WIDER * max(radius, self._least or 1.0))

    def _fits(self, values: np.ndarray) -> bool:
        return self._samples.is_analytic(*self.disk(values), self._most)
