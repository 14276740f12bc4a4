"""The moduli and tables of exact products."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact import lines, plan, product


@settings(max_examples=60)
@given(bits=st.integers(1, 980), is_complex=st.booleans())
@example(bits=363, is_complex=False)
def test_moduli(bits, is_complex):
    chosen = plan.moduli(bits, is_complex)
    values = chosen.values
    assert math.prod(values) >= 2**bits
    assert math.lcm(*values) == math.prod(values)
    assert all(m <= 256 for m in values[: chosen.narrow])
    assert all(256 < m <= 127 * 128 * 2 + 1 for m in values[chosen.narrow :])
    if is_complex:
        assert all(any((j * j + 1) % m == 0 for j in range(m)) for m in values)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("limbs", sorted({16, *(p.limbs for p in PRECISIONS)}))
@pytest.mark.parametrize("terms", [1, plan.MOST_TERMS])
def test_digits_of_the_longest_integers_are_doubles(limbs, terms, is_complex):
    """Kernels refuse digits beyond 2**1000 and below 2**-1000: 16 limbs take 1760 bits."""
    kind = Kind(limbs, is_complex)
    most = lines.full_bits(kind)
    for spans in ((most, most), (most, 1), (1, most), (most + 40, most)):
        found = product.integers_of(spans, most, terms, kind)
        pieces, width = found.back.weight.shape[-1], found.back.width
        assert 0 <= found.unit <= 1000
        assert width * pieces - found.unit <= 1000
        assert pieces <= 64
        # The result is the integer times this, but for the digits that are left out.
        left_out = (sum(found.tau) - found.unit + found.scale) // width
        assert left_out * width == sum(found.tau) - found.unit + found.scale


@settings(max_examples=20)
@given(tau=st.integers(1, 430), is_complex=st.booleans(), data=st.data())
def test_channels(tau, is_complex, data):
    """Bytes times the table are the residue, and no sum of them leaves its bounds."""
    words = plan.words_of(tau)
    chosen = plan.moduli(2 * tau + 20, is_complex)
    channels = plan.channels(chosen, words, False)
    parts = [data.draw(st.integers(-(2**tau), 2**tau)) for _ in range(chosen.parts)]
    raw = b"".join((x + 2 ** (32 * words - 1)).to_bytes(4 * words, "little") for x in parts)
    table = channels.low.view(np.int8).astype(int)
    table[channels.narrow :] += 128 * channels.high.view(np.int8).astype(int)
    sums = table @ np.frombuffer(raw, dtype=np.uint8).astype(int) + channels.start
    for i, (m, found) in enumerate(zip(channels.modulus.tolist(), sums.tolist(), strict=True)):
        value = parts[0]
        if is_complex:
            j = next(j for j in range(m) if (j * j + 1) % m == 0)
            value += parts[1] * (j if i % 2 == 0 else -j)
        assert (found - value) % m == 0
    worst = 255 * abs(channels.low.view(np.int8).astype(int)).sum(axis=1) + abs(channels.start)
    assert worst.max() < 2**22


@settings(max_examples=40)
@given(bits=st.integers(1, 980), is_complex=st.booleans())
def test_sums_of_digits_are_exact(bits, is_complex):
    chosen = plan.moduli(bits, is_complex)
    back = plan.reconstruction(chosen)
    total = math.prod(chosen.values)
    scale = [1 << (back.width * i) for i in range(len(back.product))]
    assert sum(int(d) * s for d, s in zip(back.product, scale, strict=True)) == total
    most = np.array([m // 2 * chosen.parts for m in chosen.values], dtype=object)
    for part in range(chosen.parts):
        sums = abs(back.weight[part]).astype(object).T.dot(most)
        turns = int(most.sum()) // 2 + 1
        carry = 2 ** (54 - back.width)
        assert all(
            s + turns * abs(p) + carry < 2**53 for s, p in zip(sums, back.product, strict=True)
        )
    assert back.width >= 30
