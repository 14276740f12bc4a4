"""Single values limb by limb, in an order in which Hypothesis shrinks them.

The number of limbs shrinks first. The first limb is one of Hypothesis' floats, which shrink to
small integers, then to short fractions; the others shrink to units in the last place.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._convert.arrays import fraction_to_limbs
from mdqr._core.promotion import comparable_value
from mdqr._errors import shown
from mdqr._limbs.exact import sum_of_units
from mdqr._precision import Precision

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_UNIT = 2**53  # as much as half a unit in the last place of the limb above
_WIDEST_GAP = 120


class Range(NamedTuple):
    """Exact bounds of values, None where there is none."""

    low: Fraction | None
    high: Fraction | None

    def holds(self, value: Fraction) -> bool:
        """Return whether a value lies within."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def exact_bound(x: Any) -> Fraction | None:
    """Return a bound as a fraction; infinities are none.

    Raises
    ------
    ValueError
        If it is not a number.
    """
    if isinstance(x, MDArray):
        x = float(x) if not np.isfinite(x.limbs[0]) else x.to_fractions().item()
    if isinstance(x, str):
        x = Fraction(x)
    if isinstance(x, float) and math.isinf(x):
        return None
    if isinstance(x, float) and not math.isnan(x):
        return Fraction(x)
    value = None if x is None else comparable_value(x)
    if value is None and x is not None:
        raise ValueError(f"a bound is a real number; got {shown(x)}")
    return value


def first_limbs(st: Any, bounds: Range, **allow: Any) -> SearchStrategy[float]:
    """Return a strategy for the first limbs of values within bounds, which may lie just beyond."""
    low, high = (None if x is None else fraction_to_limbs(x, 1)[0] for x in bounds)
    return st.floats(min_value=low, max_value=high, **allow)


def value(
    draw_from: DrawFn, st: Any, first: SearchStrategy[float], precision: Precision, bounds: Range
) -> MDArray:
    """Draw a value of normalised limbs within bounds."""
    # Before the first limb, so that the others go before that one shrinks.
    more = draw_from(st.integers(0, precision.limbs - 1))
    limbs = [draw_from(first)]
    for _ in range(more):
        limbs.append(_next_limb(draw_from, st, limbs[-1]))
    limbs += [0.0] * (precision.limbs - len(limbs))
    if math.isfinite(limbs[0]):
        limbs = _within(limbs, precision, bounds)
    return MDArray._wrap(np.array(limbs), precision, False)


def _next_limb(draw_from: DrawFn, st: Any, above: float) -> float:
    """Draw a limb below `above`: none, a power of two, or 53 bits; adjoining it or farther off."""
    size = draw_from(st.integers(1, _UNIT))
    if not above or not math.isfinite(above):
        return 0.0
    size = draw_from(st.sampled_from([size, _UNIT, _UNIT - 1, size | _UNIT >> 1]))
    gap = draw_from(st.integers(0, _WIDEST_GAP)) if draw_from(st.booleans()) else 0
    negative = draw_from(st.booleans())
    is_power = abs(math.frexp(above)[0]) == 0.5
    shift = 1 + (is_power and negative != (above < 0))
    limb = math.ldexp(math.ulp(above) * 2.0**-shift, -gap) * (size / _UNIT)
    limb = -limb if negative else limb
    if above + limb != above:  # a tie below an odd mantissa
        limb /= 2
    return limb if limb and above + limb == above else 0.0


def _within(limbs: list[float], precision: Precision, bounds: Range) -> list[float]:
    """Return limbs, their first one alone, or a bound, whichever is the first within the bounds."""
    alone = [limbs[0]] + [0.0] * (precision.limbs - 1)
    for candidate in (limbs, alone):
        if bounds.holds(_exact(candidate)):
            return candidate
    for end, side in ((bounds.low, 1), (bounds.high, -1)):
        if end is None:
            continue
        # Or a unit in the last place beside a bound that no value of the precision is.
        unit = Fraction(2) ** (math.frexp(float(end))[1] - precision.bits + 1)
        for near in (end, end + side * unit):
            found = fraction_to_limbs(near, precision.limbs)
            if bounds.holds(_exact(found)):
                return found
    raise ValueError(f"no value of {precision} lies between {bounds.low} and {bounds.high}")


def _exact(limbs: list[float]) -> Fraction:
    return Fraction(sum_of_units(limbs), 2**1074)
