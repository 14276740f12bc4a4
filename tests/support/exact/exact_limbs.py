"""Limbs from their definition, in exact arithmetic, and draws of what is hard to round."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

SMALLEST = Fraction(1, 2**1074)


def nearest_double(value: Fraction) -> float:
    """Return the double nearest to `value`, ties to even, from the definition alone."""
    guess = float(Fraction(int(value / SMALLEST)) * SMALLEST) if abs(value) < 2**1024 else math.inf
    near = [guess, math.nextafter(guess, -math.inf), math.nextafter(guess, math.inf)]
    finite = [x for x in near if math.isfinite(x)]
    odd = {x: Fraction(x) / Fraction(math.ulp(x)) % 2 for x in finite}
    return min(finite, key=lambda x: (abs(Fraction(x) - value), odd[x]))


def greedy(value: Fraction, limbs: int) -> list[float]:
    """Return the greedy form with the FastTwoSum pass, in exact arithmetic."""
    out = []
    for _ in range(limbs):
        out.append(nearest_double(value))
        value -= Fraction(out[-1])
    while any(a + b != a for a, b in pairwise(out)):
        for i in range(limbs - 1):
            total = out[i] + out[i + 1]
            out[i], out[i + 1] = (
                total,
                float(Fraction(out[i]) + Fraction(out[i + 1]) - Fraction(total)),
            )
    return out


def exact(limbs: list[float]) -> Fraction:
    return sum(map(Fraction, limbs), Fraction(0))


def is_normalised(limbs: list[float]) -> bool:
    pairs = list(pairwise(limbs))
    return all(a + b == a for a, b in pairs) and all(a or not b for a, b in pairs)


def same(x: list[float], y: list[float]) -> bool:
    return np.array(x).tobytes() == np.array(y).tobytes()


MANTISSAS = st.one_of(
    st.integers(1, 2**53 - 1),
    st.integers(0, 53).map(lambda k: 2**k),
    st.integers(1, 53).map(lambda k: 2**k - 1),
)


@st.composite
def dyadics(draw, most_terms: int = 10, low: int = -1130, high: int = 900) -> Fraction:
    """Draw sums of doubles that lie next to each other, overlap, tie or leave gaps."""
    exponent = draw(st.integers(low, high))
    total = Fraction(0)
    for _ in range(draw(st.integers(1, most_terms))):
        total += draw(st.sampled_from([-1, 1])) * draw(MANTISSAS) * Fraction(2) ** exponent
        exponent -= draw(st.sampled_from([1, 52, 53, 54, 55, 60, 106, 107, 200]))
    return total


@st.composite
def stored(draw, limbs: int) -> list[float]:
    """Draw normalised limbs, among them forms that are not greedy."""
    out = [draw(MANTISSAS) * 2.0 ** draw(st.integers(-700, 700)) * draw(st.sampled_from([-1, 1]))]
    while len(out) < limbs and draw(st.integers(0, 9)):
        half = math.ulp(out[-1]) / 2
        scale = 2.0 ** -draw(st.sampled_from([0, 0, 0, 1, 2, 60]))
        limb = draw(st.sampled_from([-1.0, 1.0])) * half * scale
        if scale < 1 or draw(st.booleans()):
            limb *= draw(st.integers(2**52, 2**53 - 1)) * 2.0**-53
        if limb == 0 or out[-1] + limb != out[-1]:
            break
        out.append(limb)
    return out + [0.0] * (limbs - len(out))


@st.composite
def decimal_texts(draw) -> str:
    sign = draw(st.sampled_from(["", "-", "+"]))
    digits = str(draw(st.integers(0, 10 ** draw(st.integers(0, 200)))))
    cut = draw(st.integers(0, len(digits)))
    return f"{sign}{digits[:cut]}.{digits[cut:]}e{draw(st.integers(-400, 320))}"
