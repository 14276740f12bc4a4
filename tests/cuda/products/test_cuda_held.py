"""How many limbs hold anything, by emulated threads and on the host."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import flipped_axes
from hypothesis import given
from hypothesis import strategies as st

from mdqr._backend.cuda.axes import MAX_AXES
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import first_limbs, held_limbs

SHAPES = [(), (1,), (0,), (3, 0), (37,), (9, 300), (2, 3, 4, 5), (2100,)]
# The ends of the range, what is not finite, and a zero whose bits are not.
VALUES = [2.0**-1074, -(2.0**-1022), 1.0, 2.0**1023, np.inf, np.nan, -0.0]


def block_of(limbs, is_complex, shape):
    return np.zeros((*(2,) * is_complex, limbs, *shape))


@given(data=st.data())
def test_the_last_limb_in_use_is_found(cuda, data):
    """Whatever holds it: any part of a number, anywhere, below all others or not."""
    blocks, fields, wanted = [], [], []
    for _ in range(data.draw(st.integers(1, 3))):
        limbs, is_complex = data.draw(st.sampled_from([1, 2, 3, 4, 8])), data.draw(st.booleans())
        block = block_of(limbs, is_complex, data.draw(st.sampled_from(SHAPES)))
        last = 0
        for _ in range(data.draw(st.integers(0, 3)) if block.size else 0):
            place = [data.draw(st.integers(0, length - 1)) for length in block.shape]
            block[tuple(place)] = data.draw(st.sampled_from(VALUES))
            last = max(last, place[is_complex] + 1)
        blocks.append(block)
        fields.append(is_complex)
        wanted.append(last)
    assert [held_limbs(*pair) for pair in zip(blocks, fields, strict=True)] == wanted
    for backend in (host.backend(), cuda):
        found = backend.held_limbs(blocks, fields)
        assert found.dtype == np.int64
        assert found.tolist() == wanted


@pytest.mark.parametrize("is_complex", [False, True])
def test_views(cuda, is_complex):
    """In any order, with gaps, and with more axes than a launch has: of these alone."""
    whole = block_of(4, is_complex, (40, 60))
    whole[..., 2, 1::2, :] = 1.0
    whole[..., 1, ::2, 1] = 1.0
    many = block_of(8, is_complex, (2,) * (MAX_AXES + 2))
    many[..., 6, 0, 1, 0, 1, 1, 1, 0, 1] = 1.0
    flipped = flipped_axes(many, MAX_AXES + 2)[..., ::-1]
    cases = [
        (whole, 3),
        (whole[..., ::2, :], 2),
        (whole[..., ::2, 2:], 0),
        (whole.swapaxes(-1, -2)[..., ::-1, 1::2], 3),
        (whole[..., :2, -2::-2, 1], 2),
        (flipped, 7),
        (flipped[..., 0, :], 0),
        (first_limbs(many, is_complex, 6), 0),
        (first_limbs(many, is_complex, 7), 7),
        (np.broadcast_to(whole[..., :1], (*whole.shape[:-1], 3)), 3),
        (whole[::-1], 3),
        (whole, 3),
    ]
    found = cuda.held_limbs([x for x, _ in cases], [is_complex] * len(cases))
    assert found.tolist() == [held for _, held in cases]


def test_one_launch_an_array(cuda):
    del cuda.kernels.launched[:]
    cuda.held_limbs([block_of(2, False, (5, 0)), block_of(2, True, (5, 7))], [False, True])
    assert cuda.kernels.launched == ["mdqr_held"]
