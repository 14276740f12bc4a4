"""Elementwise calls walk through memory as it lies: the layout changes no bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS

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


@pytest.mark.parametrize("precision", PRECISIONS[1:], ids=lambda p: p.name)
@pytest.mark.parametrize("count", [1, 64])
def test_ldexp_carries_from_a_limb_that_becomes_the_least_normal_double(precision, count):
    """It was taken for exact, and left as half a unit of an odd limb; other lanes decided that."""
    last = precision.limbs - 1
    limbs = np.ldexp(1 + 2.0**-52, -54 * np.arange(last + 1))
    limbs[last] = np.ldexp(1 - 2.0**-53, -54 * last + 1)  # just below half a unit
    x = np.repeat(limbs[:, None], count, axis=1) * np.where(np.arange(count) % 2, -1.0, 1.0)
    found = host.backend().ldexp(x, np.full(count, 54 * last - 1 - 1022))
    np.testing.assert_array_equal(found[:-1] + found[1:], found[:-1])
    wanted = np.ldexp(limbs, 54 * last - 1 - 1022)
    wanted[last - 1 :] = np.nextafter(wanted[last - 1], np.inf), -(2.0**-1022)
    np.testing.assert_array_equal(abs(found), np.repeat(abs(wanted)[:, None], count, axis=1))
    np.testing.assert_array_equal(found[:, 0], wanted)
