"""Limits of sequences of estimates, and how far they may be from the last one.

The last half of the orders is cut into four parts, and the changes in these are compared: changes
that fall by a factor r from part to part leave an error of about r / (1 - r) times the last.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray

PARTS = 4
# From part to part changes of n^-s fall by 0.75 for s = 1 and by 0.81 for s = 1/2; those of log(n)
# by 0.87.
_SLOWEST = 0.82
# The error is 1.8 (s = 1) to 2.8 (s = 1/2) times what the sum above says; few estimates prove less.
_SAFETY, _FEW = 32.0, 24


class Limit(NamedTuple):
    """The last of the estimates, 0-d.

    `uncertainty` is infinite where they do not converge; `change`, float, is by how much they
    changed at last, `is_drifting` whether changes go on smoothly without becoming less, and
    `is_growing` whether moduli do so.
    """

    value: MDArray
    uncertainty: float
    change: float
    is_drifting: bool
    is_growing: bool


def limit(estimates: MDArray, floor: float) -> Limit | None:
    """Judge estimates from rising orders, the first about half of the last.

    Parameters
    ----------
    estimates : MDArray
        Real or complex, at least five.
    floor : float
        What rounding errors may do to an estimate.

    Returns
    -------
    Limit or None
        None if there are too few, or they are zero or not finite.
    """
    count = len(estimates) - 1
    sizes = abs(estimates).to_numpy()
    if count < PARTS or not np.isfinite(sizes).all() or not sizes.all():
        return None
    cuts = [count * i // PARTS for i in range(PARTS + 1)]
    changes = [
        float(abs(estimates[first : last + 1] - estimates[last]).to_numpy().max())
        for first, last in pairwise(cuts)
    ]
    is_growing = bool((np.diff(sizes[cuts]) > 0.01 * sizes[cuts[:-1]]).all())
    value, top = estimates[-1], max(changes)
    if top <= floor:
        return Limit(value, _SAFETY * top + floor, top, False, False)
    # One change that is small by chance proves nothing.
    last = max(changes[3], min(changes[2], changes[2] * math.sqrt(changes[2] / changes[0])), floor)
    rate = last / max(changes[2], last)
    if rate <= _SLOWEST:
        found = _SAFETY * (1 + _FEW / count) * last / (1 - rate) + floor
        return Limit(value, found, last, False, is_growing)
    if _is_rough(estimates, top):
        is_small = top <= estimates.precision.eps**0.5 * float(sizes[-1])
        found = 4 * _SAFETY * top + floor if is_small and count >= 2 * PARTS else math.inf
        return Limit(value, found, top, False, is_growing)
    return Limit(value, math.inf, top, True, is_growing)


def _is_rough(estimates: MDArray, change: float) -> bool:
    """Return whether estimates differ as rounding errors do, not smoothly."""
    bends = abs(estimates[2:] - 2 * estimates[1:-1] + estimates[:-2]).to_numpy()
    return bool(bends.max() > change / 4)


def extrapolations(values: MDArray, last: int, most: int) -> list[tuple[MDArray, np.ndarray]]:
    """Return values for orders up to `last` extrapolated in 1/n, in the orders 0 to `most`.

    With each what rounding errors of the values are multiplied by (Neville's scheme for the nodes
    1/n).
    """
    n = np.arange(last - len(values) + 1, last + 1, dtype=np.float64)
    sums = np.ones(len(values))
    found = [(values, sums)]
    for order in range(1, most + 1):
        n = n[1:]
        values = (values[1:] * n - values[:-1] * (n - order)) / order
        sums = (sums[1:] * n + sums[:-1] * abs(n - order)) / order
        found.append((values, sums))
    return found
