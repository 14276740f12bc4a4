"""One number of any kind to limbs, rounded once and correctly."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from mdqr._convert.array_like import is_constant, refuse_interval, signed, whole_ratio
from mdqr._convert.constants import Constant
from mdqr._convert.enclosures import rounded
from mdqr._convert.strings import text_to_fraction, text_to_limbs
from mdqr._limbs import planes
from mdqr._limbs.exact import same_limbs, saturated

Limbs = list[float]

_SPARE_BITS = 64
_DOUBLINGS = 4


def scalar_to_limbs(x: Any, limbs: int) -> tuple[Limbs, Limbs | None]:
    """Round one number to `limbs` limbs.

    Parameters
    ----------
    x : str, int, float, complex, Fraction, Decimal, NumPy scalar, mpmath or SymPy number
        Other types are accepted if they are `numbers.Rational` or have ``__index__``.
    limbs : int
        Number of limbs wanted.

    Returns
    -------
    real : list of float
        The greedy form, normalised. The error is at most half an ulp of the last limb. A number
        beyond the largest double becomes an infinity, of whatever type it is.
    imag : list of float or None
        The imaginary part; None if `x` is of a real type.

    Raises
    ------
    ValueError
        If a string is not a number.
    TypeError
        If `x` is not a number.
    """
    if isinstance(x, str):
        return text_to_limbs(x, limbs)
    if isinstance(x, float):
        return _one_limb(float(x), limbs), None
    if isinstance(x, (int, np.integer, np.bool_)):
        return saturated(int(x), 1, 0, limbs), None
    if isinstance(x, complex):
        return _one_limb(x.real, limbs), _one_limb(x.imag, limbs)
    if isinstance(x, (np.float16, np.float32)):
        return _one_limb(planes.doubles(np.asarray(x)).item(), limbs), None
    if isinstance(x, np.complex64):
        real, imag = (planes.doubles(np.asarray(part)).item() for part in (x.real, x.imag))
        return _one_limb(real, limbs), _one_limb(imag, limbs)
    if isinstance(x, np.longdouble):
        return _long_double(x, limbs), None
    if isinstance(x, np.clongdouble):
        return _long_double(x.real, limbs), _long_double(x.imag, limbs)
    if isinstance(x, Fraction):
        return fraction_to_limbs(x, limbs), None
    if isinstance(x, Decimal):
        return text_to_limbs("nan" if x.is_nan() else str(x), limbs)
    if isinstance(x, Constant):
        return rounded(x, limbs), None
    kind = type(x)
    if hasattr(kind, "__sympy__"):
        return _sympy(x, limbs)
    if hasattr(kind, "_mpf_"):
        return _mpf(x, limbs), None
    if hasattr(kind, "_mpc_"):
        return _mpf(x.real, limbs), _mpf(x.imag, limbs)
    return _other(x, limbs), None


def fraction_to_limbs(x: Fraction, limbs: int) -> Limbs:
    """Round a fraction to `limbs` limbs."""
    return saturated(x.numerator, x.denominator, 0, limbs)


def scalar_to_fraction(x: Any) -> Fraction | None:
    """Return the exact value of a number that `scalar_to_limbs` rounds to finite real limbs.

    None if no fraction is: a constant, an irrational SymPy number. The caller
    takes what is rounded to zero for zero: its exponent may make a gigantic integer.
    """
    if isinstance(x, (str, Decimal)):
        return text_to_fraction(str(x))
    if isinstance(x, Constant):
        return x.rational
    if getattr(x, "is_Rational", False):
        return Fraction(int(x.p), int(x.q))
    if is_constant(x) or getattr(x, "is_Float", True) is False:
        return None
    if hasattr(x, "_mpf_"):
        man, exp = signed(x._mpf_)
        return man * Fraction(2) ** exp
    if isinstance(x, np.bool_):
        return Fraction(int(x))
    if hasattr(x, "as_integer_ratio"):
        return Fraction(*x.as_integer_ratio())
    if hasattr(x, "__index__"):
        return Fraction(operator.index(x))
    return whole_ratio(x)


def _one_limb(x: float, limbs: int) -> Limbs:
    return [x] + [0.0] * (limbs - 1)


def _long_double(x: np.longdouble, limbs: int) -> Limbs:
    if not np.isfinite(x) or x == 0:
        return _one_limb(float(x), limbs)
    num, den = x.as_integer_ratio()
    return saturated(num, den, 0, limbs)


def _mpf(x: Any, limbs: int) -> Limbs:
    """Round an mpmath number exactly as stored; a constant such as ``mp.pi`` to full precision."""
    refuse_interval(x)
    if is_constant(x):
        return _enclosed(lambda bits: signed(x.func(bits, "n")), limbs)
    man, exp = signed(x._mpf_)
    if not man:
        return _one_limb(float(x), limbs)
    return saturated(man, 1, exp, limbs)


def _enclosed(evaluate: Callable[[int], tuple[int, int]], limbs: int) -> Limbs:
    """Round a number that can be evaluated to any number of bits (Ziv's strategy).

    The bits are doubled until both ends of the enclosure round alike. A number that lies on a
    rounding boundary never does; its nearest evaluation is taken.
    """
    bits = 53 * limbs + _SPARE_BITS
    result: Limbs = []
    for _ in range(_DOUBLINGS):
        man, exp = evaluate(bits)
        result = saturated(man, 1, exp, limbs)
        shift = bits + 16
        ends = [
            saturated((man << shift) + (abs(man) << 4) * side, 1, exp - shift, limbs)
            for side in (-1, 1)
        ]
        if same_limbs(*ends):
            return ends[0]
        bits *= 2
    return result


def _sympy(x: Any, limbs: int) -> tuple[Limbs, Limbs | None]:
    if not getattr(x, "is_number", False):
        raise TypeError(
            f"a SymPy expression must be a number without free symbols; got {str(x)[:60]}"
        )
    if x.is_Number or x.is_extended_real:
        return _sympy_real(x, limbs), None
    if x.is_finite is False:
        raise ValueError(
            f"{x} is an infinity without a direction; it has no real and no complex value"
        )
    real, imag = x.as_real_imag()
    return _sympy_real(real, limbs), None if imag == 0 else _sympy_real(imag, limbs)


def _sympy_real(x: Any, limbs: int) -> Limbs:
    if x.is_Rational:
        return saturated(int(x.p), int(x.q), 0, limbs)
    if x.is_Float:
        return _mpf(x, limbs)
    if x.is_Number:  # what is left are infinities and nan
        return _one_limb(float(x), limbs)

    def evaluate(bits: int) -> tuple[int, int]:
        value = x.evalf(bits * 3 // 10 + 8)
        if not value.is_Float or value._prec < bits:
            if x.equals(0):
                return 0, 0
            raise ValueError(
                f"SymPy cannot evaluate {str(x)[:60]} to {bits} bits; simplify it first"
            )
        return signed(value._mpf_)

    return _enclosed(evaluate, limbs)


def _other(x: Any, limbs: int) -> Limbs:
    """Round what says that it is an integer or a rational."""
    if isinstance(x, np.ndarray):
        raise TypeError(f"an array of shape {x.shape} stands where one number belongs")
    if hasattr(x, "__index__"):
        return saturated(operator.index(x), 1, 0, limbs)
    num, den = getattr(x, "numerator", None), getattr(x, "denominator", None)
    if num is not None and den is not None and not callable(num):
        return fraction_to_limbs(whole_ratio(x), limbs)
    raise TypeError(
        f"cannot convert {type(x).__name__} to a number; wanted are strings, int, float, complex, "
        "Fraction, Decimal, NumPy scalars, mpmath and SymPy numbers"
    )
