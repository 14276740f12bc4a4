"""Elementwise calls walk through memory as it lies: the layout changes no bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind

LENGTHS = st.sampled_from([1, 2, 3, 7, 8, 9, 16, 65])
KIND = Kind(2, False)


@st.composite
def layouts(draw, shape):
    """Return a function that gives an array another layout in memory, by axes from the last one."""
    axes = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    shared = [draw(st.integers(0, 5)) == 0 for _ in shape]

    def laid_out(x):
        lead = x.ndim - len(shape)
        memory = np.empty((*x.shape[:lead], *(2 * shape[axis] for axis in axes)), dtype=x.dtype)
        view = memory.transpose(*range(lead), *(lead + axes.index(i) for i in range(len(shape))))
        parts = [slice(None, n) if s == 1 else slice(None, None, 2)
                 for n, s in zip(shape, steps, strict=True)]  # fmt: skip
        view = view[(..., *parts)]
        view = view[(..., *(slice(None, None, -1 if s == -1 else 1) for s in steps))]
        view[...] = x
        first = tuple(slice(0, 1) if one else slice(None) for one in shared)
        return np.broadcast_to(view[(..., *first)], x.shape)

    return laid_out


@given(st.data(), st.lists(LENGTHS, min_size=0, max_size=4), st.integers(0, 2**32 - 1))
def test_layouts(data, shape, seed):
    rng = np.random.default_rng(seed)
    while np.prod(shape) > 2000:
        shape = shape[1:]
    x, y = (
        data.draw(layouts(shape))(
            mdqr.random.normal(tuple(shape), precision=mdqr.dd, rng=rng).limbs
        )
        for _ in range(2)
    )
    e = data.draw(layouts(shape))(rng.integers(-1100, 1100, shape))
    backend = host.backend()
    flat_x, flat_y = (block.reshape(2, -1).copy() for block in (x, y))
    for op in ("add", "divide"):
        wanted = backend.binary(op, flat_x, flat_y, kind=KIND)
        np.testing.assert_array_equal(backend.binary(op, x, y, kind=KIND).reshape(2, -1), wanted)
    wanted = np.stack(
        [backend.ldexp(flat_x[:, i], flat_e) for i, flat_e in enumerate(e.reshape(-1))], axis=-1
    )
    np.testing.assert_array_equal(backend.ldexp(x, e).reshape(2, -1), wanted)
