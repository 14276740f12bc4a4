"""Families of normalised limbs that make multiple-double arithmetic fail, drawn vectorised.

A batch is a float64 array of shape ``(N, size)``: limb 0 first. Every family is a function of a
NumPy generator, so one seed is one batch on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdqr._limbs.planes import is_normalised, renormalize

__all__ = ["FAMILIES", "SPECIAL", "Bounds", "Planes", "draw", "draw_mixed", "fits", "normalize"]

Planes = NDArray[np.floating[Any]]

LOWEST: Final = -1074  # exponent of the smallest positive double
HIGHEST: Final = 1023  # exponent of the largest double
STEP: Final = 54  # a limb of exponent E - 54 is below half an ulp of one of exponent E


class Bounds(NamedTuple):
    """Exponents of the first limb: ``2**low <= |x[0]| < 2**(high + 1)``; `subnormal` limbs kept."""

    low: int
    high: int
    subnormal: bool


def normalize(planes: Planes) -> Planes:
    """Return normalised limbs with the same exact sums; what already is normalised stays."""
    planes = planes.copy()
    loose = ~is_normalised(planes)
    if loose.any():
        planes[:, loose] = renormalize(planes[:, loose])
    return planes


def draw(
    family: str, rng: np.random.Generator, limbs: int, size: int, spread: int, bounds: Bounds
) -> Planes:
    """Draw `size` normalised values of one family.

    The first limbs have exponents within `spread` of 0, or in the interval of the family, and
    always within `bounds`.
    """
    return draw_mixed((family,), np.zeros(size, dtype=np.int64), rng, limbs, spread, bounds)


def draw_mixed(
    families: Sequence[str],
    member: NDArray[np.int64],
    rng: np.random.Generator,
    limbs: int,
    spread: int,
    bounds: Bounds,
) -> Planes:
    """Draw values of several families: value `i` of ``families[member[i]]``."""
    planes = np.zeros((limbs, len(member)))
    wanted = np.zeros(len(member), dtype=np.int64)
    special = np.zeros(len(member), dtype=bool)
    for i, family in enumerate(families):
        where = np.flatnonzero(member == i)
        if family in SPECIAL:
            planes[0, where] = np.copysign(SPECIAL[family], _signs(rng, len(where)))
            special[where] = True
            continue
        shape, interval = FAMILIES[family]
        low, high = (-spread, spread) if interval is None else interval(limbs)
        low = min(max(low, bounds.low), bounds.high)
        high = max(min(high, bounds.high), bounds.low)
        planes[:, where] = shape(rng, limbs, len(where))
        wanted[where] = rng.integers(low, high, size=len(where), endpoint=True)
    # All at once: most of the time is that of the calls.
    drawn = normalize(planes[:, ~special])
    drawn = normalize(_scale(drawn, wanted[~special] - (np.frexp(drawn[0])[1] - 1)))
    if not bounds.subnormal:
        drawn[np.abs(drawn) < 2.0**-1022] = 0.0
    planes[:, ~special] = drawn
    return planes


def fits(family: str, limbs: int, bounds: Bounds) -> bool:
    """Say whether `family` has values within `bounds`."""
    if family in SPECIAL:
        return True
    if family == "subnormal" and not bounds.subnormal:
        return False
    interval = FAMILIES[family].interval
    if interval is None:
        return True
    low, high = interval(limbs)
    return low <= bounds.high and bounds.low <= high


def _scale(planes: Planes, exponent: NDArray[np.int64]) -> Planes:
    with np.errstate(under="ignore"):
        return np.ldexp(planes, exponent) + 0.0


def _signs(rng: np.random.Generator, size: int | tuple[int, ...]) -> Planes:
    return np.where(rng.integers(0, 2, size=size) == 0, 1.0, -1.0)


def _mantissas(rng: np.random.Generator, size: int | tuple[int, ...]) -> Planes:
    """Full-width random doubles in [1, 2); the last bit is set, so that the limb is full."""
    return 1.0 + (2.0 * rng.integers(0, 2**51, size=size) + 1.0) * 2.0**-52


def _chain(mantissas: Planes, extra: NDArray[np.int64], signs: Planes) -> Planes:
    """Hang limbs below one another, `extra[i]` bits further down than they must."""
    exponent = -np.cumsum(STEP * (np.arange(len(mantissas)) > 0)[:, None] + extra, axis=0)
    return _scale(mantissas * signs, exponent)


def _random(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    extra = rng.geometric(0.5, size=(limbs, size)) - 1
    return _chain(_mantissas(rng, (limbs, size)), extra, _signs(rng, (limbs, size)))


def _integers(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    planes = np.zeros((limbs, size))
    planes[0] = rng.integers(1, 100, size=size) * _signs(rng, size)
    return planes


def _short(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    """Values with fewer limbs than the precision."""
    filled = rng.integers(1, limbs, size=size, endpoint=True)
    return _random(rng, limbs, size) * (np.arange(limbs)[:, None] < filled)


def _runs(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    """Long runs of ones and zeros, across the limbs where the signs agree."""
    shape = (limbs, size)
    bits = np.zeros(shape, dtype=np.int64)
    for _ in range(3):
        bits ^= (np.int64(1) << rng.integers(0, 53, size=shape)) - 1
    full = rng.integers(0, 3, size=shape)  # a third each: all ones, a power of two, runs
    bits = np.where(full == 0, 2**52 - 1, np.where(full == 1, 0, bits & (2**52 - 1)))
    signs = np.where(rng.integers(0, 2, size=size) == 0, _signs(rng, size), _signs(rng, shape))
    extra = rng.integers(0, 2, size=shape) * rng.integers(0, 3, size=shape)
    return _chain(1.0 + bits * 2.0**-52, extra, signs)


def _gaps(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    """Zeros between the limbs, up to 70 bits of them."""
    extra = rng.integers(0, 70, size=(limbs, size), endpoint=True)
    return _chain(_mantissas(rng, (limbs, size)), extra, _signs(rng, (limbs, size)))


def _sparse(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    """Sums of at most 2 N powers of two."""
    shape = (limbs, size)
    second = np.where(rng.integers(0, 2, size=shape), 2.0 ** -rng.integers(1, 53, size=shape), 0.0)
    extra = rng.integers(0, 2, size=shape) * rng.integers(0, 50, size=shape)
    return _chain(1.0 + second, extra, _signs(rng, shape))


def _ties(rng: np.random.Generator, limbs: int, size: int) -> Planes:
    """Limbs of exactly half an ulp of the limb above, the case where the form is not unique."""
    planes = _random(rng, limbs, size)
    where = rng.integers(0, 2, size=(limbs, size)).astype(bool)
    for i in range(limbs - 1):
        tie = where[i + 1]
        mantissa, exponent = np.frexp(planes[i, tie])
        even = 2.0 * np.rint(mantissa * 2.0**52)
        planes[i, tie] = np.ldexp(even, exponent - 53)
        # 2**(E - 53) below a value in [2**E, 2**(E + 1))
        half_ulp = np.ldexp(1.0, np.frexp(planes[i, tie])[1] - STEP)
        planes[i + 1, tie] = np.copysign(half_ulp, planes[i + 1, tie])
        lower = slice(i + 2, limbs)
        shift = np.frexp(half_ulp)[1] - 1 - STEP - np.frexp(planes[i + 2 : i + 3, tie])[1] + 1
        planes[lower, tie] = np.ldexp(planes[lower, tie], shift)
    return planes


class _Family(NamedTuple):
    shape: Callable[[np.random.Generator, int, int], Planes]
    interval: Callable[[int], tuple[int, int]] | None = None


SPECIAL: Final = {"zero": 0.0, "infinity": np.inf, "nan": np.nan}


def _wide(limbs: int) -> tuple[int, int]:
    return LOWEST, HIGHEST


def _subnormal(limbs: int) -> tuple[int, int]:
    return LOWEST, -1022 + STEP * limbs - 1


def _huge(limbs: int) -> tuple[int, int]:
    return HIGHEST - 3, HIGHEST


# Simplest first: a strategy shrinks towards the front.
FAMILIES: Final[dict[str, _Family]] = {
    "integers": _Family(_integers),
    "short": _Family(_short),
    "random": _Family(_random),
    "runs": _Family(_runs),
    "gaps": _Family(_gaps),
    "sparse": _Family(_sparse),
    "ties": _Family(_ties),
    "wide": _Family(_runs, _wide),
    "subnormal": _Family(_random, _subnormal),
    "huge": _Family(_runs, _huge),
}
