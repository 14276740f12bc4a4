"""Functions of `scipy.special` that follow from those of mdqr: SciPy asks for them by name.

They are not in the namespace of mdqr. Bounds are relative, to first order; that each operation has
an error of at most eps, and each function called by 4 eps, makes the sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mdqr._core.promotion import operands
from mdqr._functions import elementary
from mdqr._functions.comparison import isfinite, isnan, where
from mdqr._functions.elementary import erfc, exp, log, log1p
from mdqr._functions.elementwise import abs as absolute
from mdqr._functions.elementwise import sqrt
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.power import power
from mdqr._functions.scales.windows import i0, sinc

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._precision import Precision


def _real(name: str, x: Any) -> Any:
    """Return an operand, which must be real."""
    if getattr(x, "is_complex", False) or isinstance(x, complex):
        raise TypeError(f"{name} is for real values; take a.real or a.imag")
    return x


def expit(x: Any) -> MDArray:
    """Return ``1 / (1 + exp(-x))``; error at most ``10 * eps``."""
    x = _real("expit", operand(x))
    small = exp(-absolute(x))
    return where(x < 0, small, 1.0) / (small + 1.0)


def logit(x: Any) -> MDArray:
    """Return ``log(x / (1 - x))``; error at most ``10 * eps``, as near 1/2 it is a log1p."""
    x = operand(x)
    rest = 1.0 - x
    return where(absolute(x - 0.5) < 0.25, log1p((x + x - 1.0) / rest), log(x / rest))


def entr(x: Any) -> MDArray:
    """Return ``-x log(x)``, 0 of 0 and -inf of negative values; error at most ``6 * eps``."""
    x = _real("entr", operand(x))
    return where(x < 0, -float("inf"), -xlogy(x, x))


def xlogy(x: Any, y: Any) -> MDArray:
    """Return ``x log(y)``, 0 where x is 0 and y not NaN; error at most ``6 * eps``."""
    return _times(x, y, log)


def xlog1py(x: Any, y: Any) -> MDArray:
    """Return ``x log(1 + y)``, 0 where x is 0 and y not NaN; error at most ``6 * eps``."""
    return _times(x, y, log1p)


def _times(x: Any, y: Any, function: Callable[[Any], MDArray]) -> MDArray:
    ops = operands(x, y)
    x, y = map(ops.wrap, ops.full_blocks())
    return where((x == 0) & ~isnan(y), 0.0, x * function(y))


def rel_entr(x: Any, y: Any) -> MDArray:
    """Return ``x log(x / y)`` of positive values, 0 where x is 0 and y not negative, else inf.

    Error at most ``12 * eps``, as it is a log1p where x is near y.
    """
    ops = operands(_real("rel_entr", x), _real("rel_entr", y))
    x, y = map(ops.wrap, ops.full_blocks())
    ratio = x / y
    near = log1p((x - y) / y)
    far = where((ratio > x.precision.tiny) & isfinite(ratio), log(ratio), log(x) - log(y))
    found = x * where((ratio > 0.5) & (ratio < 2), near, far)
    found = where((x > 0) & (y > 0), found, float("inf"))
    found = where((x == 0) & (y >= 0), 0.0, found)
    return where(isnan(x) | isnan(y), float("nan"), found)


def ndtr(x: Any) -> MDArray:
    """Return the normal distribution function; error at most ``(8 + 4 * x**2) * eps``.

    ``erfc(z) / 2`` of ``z = -x / sqrt(2)``, in which 2 eps are worth ``2 (2 z**2 + 1)`` eps; below
    `Precision.tiny` the error is absolute.
    """
    x = operand(x)
    return erfc(x * -_root_half(x)) * 0.5


def log_ndtr(x: Any) -> MDArray:
    """Return the logarithm of `ndtr`; error at most ``32 * eps`` of negative values, else as there.

    Below -29 an asymptotic series (Abramowitz and Stegun, 26.2.12), whose error is below its first
    term left out.

    Raises
    ------
    TypeError
        In a precision in which `ndtr` underflows before that series has all digits.
    """
    x = operand(x)
    far = _far(x.precision)
    found = where(x < 0, log(ndtr(x)), log1p(-ndtr(-x)))
    is_far = x < -far
    return where(is_far, _log_tail(where(is_far, -x, far), far), found) if is_far.any() else found


def _far(precision: Precision) -> float:
    """Return from where on the asymptotic series has all digits: its least term is the density."""
    far = max(29.0, math.ceil((-2.0 * math.log(precision.eps / 16)) ** 0.5) + 1.0)
    if math.exp(-far * far / 2) / (3 * far) < precision.tiny:
        raise TypeError(f"log_ndtr is not for {precision}: ndtr(-{far:g}) is below its tiny")
    return far


def _log_tail(z: MDArray, far: float) -> MDArray:
    """Return ``log(ndtr(-z))`` for z from `far`."""
    square = z * z
    terms, size = 0, 1.0
    while size > z.precision.eps / 16:
        terms += 1
        size *= (2 * terms - 1) / far**2
    total = z.precision(1.0)
    for k in range(terms, 0, -1):
        total = 1.0 - total * float(2 * k - 1) / square
    scale = sqrt(z.precision.pi + z.precision.pi)
    return log(total) - log(z * scale) - square * 0.5


def _root_half(x: MDArray) -> MDArray:
    return sqrt(x.precision(0.5))


def exp10(x: Any) -> MDArray:
    """Return ``10**x``; error at most ``4 * eps``."""
    return power(10, operand(x))


# Of one value, and of two, by the names of SciPy.
UNARY: dict[str, Callable[[Any], MDArray]] = {
    **{name: getattr(elementary, name) for name in ("cbrt", "erf", "erfc", "exp2", "gamma")},
    **{name: getattr(elementary, name) for name in ("expm1", "log1p")},
    "gammaln": elementary.lgamma,
    "entr": entr,
    "exp10": exp10,
    "expit": expit,
    "i0": i0,
    "log_ndtr": log_ndtr,
    "logit": logit,
    "ndtr": ndtr,
    "sinc": sinc,
}
BINARY: dict[str, Callable[[Any, Any], MDArray]] = {
    "rel_entr": rel_entr,
    "xlog1py": xlog1py,
    "xlogy": xlogy,
}
