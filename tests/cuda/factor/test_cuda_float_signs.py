"""The end of updates of float matrices: the CUDA kernel, emulated, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdqr._backend.cuda.floats.signs import sign_rows


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@settings(max_examples=30)
@given(data=st.data())
def test_signs(kernels, dtype, data):
    """Bit for bit, with subnormal numbers, infinities and signed zeros; rows of a wider matrix."""
    m, n = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 300))
    count = data.draw(st.integers(0, min(m, n)))
    columns = data.draw(st.integers(count, n))
    seed = data.draw(st.integers(0, 2**32 - 1))
    r = drawn(np.random.default_rng(seed), (m, n + 3), dtype)[:, 1 : n + 1]
    wanted = r.copy()
    wanted[:, :columns] = np.triu(r[:, :columns])
    signs = np.where(np.diagonal(r).real[:count] < 0, -1, 1).astype(r.real.dtype)
    for i, sign in enumerate(signs):
        # Parts by themselves: a complex product would make 0 of -0.
        for part in (wanted[i].real, wanted[i].imag) if wanted.dtype.kind == "c" else (wanted[i],):
            part[i:] *= sign
            part[columns:i] *= sign
        entry = wanted.real[i : i + 1, i]
        entry += 0
    found = sign_rows(kernels, r, count, columns)
    np.testing.assert_array_equal(found, signs)
    assert found.dtype == signs.dtype
    assert r.tobytes() == wanted.tobytes()


def drawn(rng, shape, dtype):
    kind = np.dtype(dtype)
    parts = (2,) if kind.kind == "c" else ()
    real = np.dtype(f"f{kind.itemsize // (1 + len(parts))}")
    bits = rng.integers(
        0, 2 ** (8 * real.itemsize), (*shape, *parts), dtype=f"u{real.itemsize}", endpoint=False
    )
    values = bits.view(real)
    values[np.isnan(values)] = 1.0
    values[rng.random(values.shape) < 0.1] = 0.0
    values[rng.random(values.shape) < 0.1] = -0.0
    return values.view(kind)[..., 0] if parts else values
