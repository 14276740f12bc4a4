"""How panels are divided among blocks and threads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mdqr._backend.cuda.factor import panel
from mdqr._limbs.planes import Kind


@given(
    items=st.integers(1, 20_000),
    w=st.integers(1, 128),
    rest=st.integers(0, 100_000),
    is_complex=st.booleans(),
)
def test_every_plan_can_run(precision, items, w, rest, is_complex):
    m = w + rest
    launch = panel.plan(items, m, w, Kind(precision.limbs, is_complex))
    assert launch.blocks * launch.rows_a_block >= m
    # What meets must run at once, also where a multiprocessor holds one block.
    assert launch.blocks == 1 or items * launch.group <= 96
    assert launch.shared <= 160_000
    # A warp for the scalars, one thread a factor, and a warp or more for the vector.
    warps = -(-w // 32)
    assert 32 * (warps + 1) <= launch.threads <= 256
