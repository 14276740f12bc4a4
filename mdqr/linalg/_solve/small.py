"""Systems that one kernel call solves and proves."""

from __future__ import annotations

from mdqr._backend import for_block
from mdqr._backend.protocol import Block
from mdqr._backend.small_systems import MOST_COLUMNS, small_systems
from mdqr._limbs.kind import Kind


def proven_solution(a: Block, b: Block, kind: Kind) -> Block | None:
    """Return x with ``a x = b`` if every component of the batch is proven right, else None."""
    backend = small_systems(for_block(a))
    if backend is None or not a.size or not b.size or a.shape[-1] > MOST_COLUMNS:
        return None
    found = backend.solve_small(a, b, kind=kind)
    return None if found.status.any() else found.x
