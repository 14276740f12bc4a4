"""How panels are divided among blocks and threads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ONE_BLOCK, STAND_INS

from mdqr._backend.cuda.factor import panel
from mdqr._limbs.planes import Kind


@given(
    items=st.integers(1, 20_000),
    w=st.integers(1, 128),
    rest=st.integers(0, 100_000),
    is_complex=st.booleans(),
    device=st.sampled_from([ONE_BLOCK, *STAND_INS.values()]),
)
def test_every_plan_can_run(precision, items, w, rest, is_complex, device):
    kind = Kind(precision.limbs, is_complex)
    w = min(w, panel.most_columns(kind))
    m = w + rest
    launch = panel.plan(items, m, w, kind, device)
    assert launch.blocks * launch.rows_a_block >= m
    # What meets must run at once, also where a multiprocessor holds one block.
    assert launch.group == 1 or items * launch.group <= device.multiprocessors
    assert launch.in_turn == (launch.blocks > max(launch.group - 1, 1))
    assert launch.shared <= device.shared
    # A warp for the scalars, one thread a factor, and a warp or more for the vector.
    warps = -(-w // 32)
    assert 32 * (warps + 1) <= launch.threads <= 256
    # What is summed with what is the same on every device.
    large = panel.plan(items, m, w, kind, STAND_INS["a100"])
    assert launch[:3] == large[:3]
    assert not large.in_turn
