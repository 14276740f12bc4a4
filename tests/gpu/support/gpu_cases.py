"""Values of all families, and the comparison of results on the device with those on the host."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_presence import why_absent

import mdqr
from mdqr._backend.protocol import REAL_ONLY
from mdqr.testing import RELATIONS, assert_same_bits, matrix
from mdqr.testing._families import FAMILIES, SPECIAL, Bounds, draw
from mdqr.testing._relations import relate

# One skip a file: thousands of tests that say the same take half a minute.
if why_absent() is not None:
    pytest.skip(str(why_absent()), allow_module_level=True)

DEVICE = "cuda"
VALUES = int(float(os.environ.get("MDQR_GPU_VALUES", "100_000")))
LARGEST_CHUNK = 2**20
EVERYTHING = Bounds(-1074, 1023, True)
ORDINARY = Bounds(-300, 300, False)
SPREAD = 40


def of_field(operations, dtype):
    """Return those of the operations that numbers of a type have."""
    missing = {*REAL_ONLY, "compare"} if dtype is complex else ()
    return [op for op in operations if op not in missing]


def drawn(rng, limbs, parts, size, *, special=True, bounds=EVERYTHING):
    """Draw ``(limbs, parts, size)`` planes: all families in equal parts, shuffled.

    One value in 50 each is a zero, an infinity and a NaN if `special`.
    """
    planes = np.empty((limbs, parts, size))
    names = list(FAMILIES)
    for part in range(parts):
        order = rng.permutation(size)
        rare = size // 50 if special else 0
        start = 0
        for name in SPECIAL if rare else ():
            where = order[start : start + rare]
            planes[:, part, where] = draw(name, rng, limbs, rare, SPREAD, bounds)
            start += rare
        edges = np.linspace(start, size, len(names) + 1).astype(int)
        for name, first, last in zip(names, edges, edges[1:], strict=False):
            planes[:, part, order[first:last]] = draw(
                name, rng, limbs, last - first, SPREAD, bounds
            )
    return planes


def block_of(planes, is_complex):
    """Return the block of planes ``(limbs, parts, size)``."""
    return np.ascontiguousarray(planes.swapaxes(0, 1) if is_complex else planes[:, 0])


def pair(limbs, is_complex, index, size):
    """Return two blocks of values of all families, in one of the relations by turns."""
    parts = 2 if is_complex else 1
    rng = np.random.default_rng([limbs, parts, index])
    with np.errstate(all="ignore"):
        x, y = (drawn(rng, limbs, parts, size) for _ in range(2))
        y = relate(RELATIONS[index % len(RELATIONS)], x, y, rng, limbs)
    return block_of(x, is_complex), block_of(y, is_complex)


def pairs(limbs, is_complex, values=VALUES):
    """Return a list of pairs of blocks with `values` values in all, every relation among them."""
    size = min(LARGEST_CHUNK, max(1, values // (2 * len(RELATIONS))))
    chunks = -(-values // size)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda index: pair(limbs, is_complex, index, size), range(chunks)))


def block(rng, limbs, shape, is_complex, **options):
    """Draw a block of ordinary values unless told otherwise."""
    parts = 2 if is_complex else 1
    options = {"special": False, "bounds": ORDINARY} | options
    planes = drawn(rng, limbs, parts, int(np.prod(shape)), **options)
    whole = block_of(planes, is_complex)
    return whole.reshape(*whole.shape[:-1], *shape)


def array(rng, precision, shape, dtype, **options):
    """Draw an array on the host, as `block`."""
    is_complex = dtype is complex
    limbs = block(rng, precision.limbs, shape, is_complex, **options)
    return mdqr.MDArray._wrap(limbs, precision, is_complex)


def random_matrix(m, n, precision, dtype, rng, cond=100):
    """Return a random matrix of the condition on the device."""
    a = matrix("random", m, n, cond=cond, precision=precision, dtype=dtype, rng=rng)
    return to_device(a)


def to_device(x):
    return x.to_device(DEVICE) if isinstance(x, mdqr.MDArray) else x


def to_host(x):
    if isinstance(x, mdqr.MDArray):
        return x.to_device("cpu")
    return x.get() if hasattr(x, "get") else x


def assert_same(got, wanted):
    """Compare a result on the device with the one on the host, bit for bit."""
    if isinstance(wanted, mdqr.MDArray):
        assert isinstance(got, mdqr.MDArray)
        assert got.device.startswith(DEVICE)
        assert got.precision is wanted.precision
        assert_same_bits(to_host(got), wanted)
    elif isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for x, y in zip(got, wanted, strict=True):
            assert_same(x, y)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        found = np.asarray(to_host(got))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    else:
        assert got == wanted


def same_on_both(call, *arguments):
    """Compare a call on the device with the same call on the host."""
    try:
        wanted = call(*(x.copy() if isinstance(x, mdqr.MDArray) else x for x in arguments))
    except ImportError as error:
        pytest.skip(f"nothing to compare with: {error}")
    assert_same(call(*map(to_device, arguments)), wanted)


def assert_same_block(xp, got, wanted, what, operands):
    """Compare two blocks of one shape on the device; show the operands of the first difference."""
    assert got.shape == wanted.shape, what
    assert got.dtype == wanted.dtype, what
    other = xp.asarray(wanted)
    if wanted.dtype == np.float64:
        different = got.view(np.int64) != other.view(np.int64)
        different &= ~(xp.isnan(got) & xp.isnan(other))
        # C99 leaves the signs open that complex functions have beside a NaN.
        for x in operands:
            if got.ndim == 3 and np.shape(x)[-1:] == got.shape[-1:]:
                open_signs = xp.asarray(np.isnan(x).any(axis=tuple(range(np.ndim(x) - 1))))
                different &= ~(open_signs & (abs(got) == abs(other)))
    else:
        different = got != other
    if not bool(different.any()):
        return
    where = np.asarray(to_host(different))
    at = int(np.argwhere(where.reshape(-1, where.shape[-1]).any(axis=0))[0, 0])
    lines = [f"{what}: {int(where.any(axis=tuple(range(where.ndim - 1))).sum())} values differ"]
    shown = {"device": np.asarray(to_host(got)), "host": wanted}
    shown |= {f"operand {i}": x for i, x in enumerate(operands)}
    for name, values in shown.items():
        lines.append(f"{name}: {[v.hex() for v in values[..., at].astype(float).ravel().tolist()]}")
    raise AssertionError("\n".join(lines))


def to_device_block(values):
    """Return a NumPy array on the device."""
    import cupy

    return cupy.asarray(values)
