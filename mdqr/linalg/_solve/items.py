"""Some matrices of a batch."""

from __future__ import annotations

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block

# An index for each axis of a batch, on the host.
Items = tuple[np.ndarray, ...]


def of_items(held: np.ndarray) -> Items | None:
    """Return those of a batch that are held; None for all."""
    return None if held.all() else np.nonzero(held)


def all_items(shape: tuple[int, ...]) -> Items:
    """Return all items of a batch, in order."""
    return np.unravel_index(np.arange(np.prod(shape, dtype=int)), shape) if shape else ()


def taken(x: Block, lead: int, items: Items) -> Block:
    """Return some items as a batch of one axis, behind `lead` axes."""
    return x[(slice(None),) * lead + _index(x, items)]


def put(x: Block, lead: int, items: Items, values: Block) -> None:
    """Write what `taken` returns."""
    x[(slice(None),) * lead + _index(x, items)] = values


def _index(x: Block, items: Items) -> tuple[Block, ...]:
    return tuple(map(planes.namespace(x).asarray, items))
