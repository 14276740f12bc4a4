"""The exact results of elementwise operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdqr._array.array import MDArray
from mdqr._convert.array_like import plain
from mdqr._pickles import pickled_fields
from mdqr._precision import PRECISIONS
from mdqr.testing._exact import SCALE, Integers, rational, to_integers

__all__ = ["Exact", "exact", "exact_value", "host_block"]

ONE: Final = 1 << SCALE
_BITS: Final = PRECISIONS[-1].bits + 176  # of roots
Triple = tuple[int, int, int] | None  # real and imaginary numerator, positive denominator
Part = tuple[NDArray[np.float64], Integers]  # real or imaginary: first limbs, exact values


@pickled_fields
class Exact(NamedTuple):
    """Exact values ``(real + 1j * imag) / denominator * 2**-1074``, a reference for `ulp_error`.

    Attributes
    ----------
    real, imag, denominator : ndarray of int
        Python integers, arrays of one shape; `denominator` is positive.
    special : ndarray of bool
        Where an exact value does not exist: an operand is not finite, or the result is undefined.
    ieee : ndarray of float64 or complex128
        What NumPy computes from the first limbs, except for the partial products of a complex
        product, which use all limbs; the value where `special` is true.
    """

    real: Integers
    imag: Integers
    denominator: Integers
    special: NDArray[np.bool_]
    ieee: NDArray[Any]

    def to_fractions(self) -> tuple[Integers, Integers]:
        """Return the real and imaginary parts as arrays of `fractions.Fraction`."""
        unit = self.denominator * ONE
        fraction = np.frompyfunc(Fraction, 2, 1)
        return np.asarray(fraction(self.real, unit)), np.asarray(fraction(self.imag, unit))


Exact.__module__ = "mdqr.testing"


def host_block(x: Any) -> tuple[NDArray[np.float64], bool]:
    """Return the limbs of an array, on the host, and whether it is complex."""
    if isinstance(x, MDArray):
        block = x._block
        return np.asarray(block.get() if hasattr(block, "get") else block), x._complex
    array = np.asarray(plain(x))
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag])[:, None].astype(np.float64), True
    if array.dtype == np.float64:
        return array[None], False
    raise TypeError(
        f"expected an MDArray or a float64 or complex128 array, got {type(x).__name__} "
        f"of dtype {array.dtype}"
    )


def exact_value(x: Any) -> Exact:
    """Return the exact values of an array: limbs, NumPy floats, or an object array of numbers."""
    if isinstance(x, Exact):
        return x
    if not isinstance(x, MDArray):
        x = plain(x)
        if np.asarray(x).dtype.kind not in "fc":
            return _object_value(x)
    return _float_value(x)


def _float_value(x: Any) -> Exact:
    block, is_complex = host_block(x)
    planes = block if is_complex else block[None]
    regular = np.isfinite(planes).all(axis=1, keepdims=True)
    finite = np.where(regular, planes, 0.0)
    special = np.any(~np.isfinite(planes), axis=(0, 1))
    real = to_integers(finite[0])
    imag = to_integers(finite[1]) if is_complex else np.zeros(real.shape, dtype=object)
    leading = np.empty(real.shape, dtype=np.complex128 if is_complex else np.float64)
    leading.real = planes[0, 0]  # re + 1j * im would change infinities and the signs of zeros
    if is_complex:
        leading.imag = planes[1, 0]
    return Exact(real, imag, np.ones(real.shape, dtype=object), special, leading)


def _object_value(x: Any) -> Exact:
    shape = np.shape(x)
    columns = np.empty((3, math.prod(shape)), dtype=object)
    for i, value in enumerate(np.asarray(x, dtype=object).ravel()):
        real, imag = (rational(part) for part in (getattr(value, "real", value), _imag(value)))
        low, high = real.denominator, imag.denominator
        columns[:, i] = real.numerator * high * ONE, imag.numerator * low * ONE, low * high
    real, imag, denominator = (column.reshape(shape) for column in columns)
    return Exact(real, imag, denominator, np.zeros(shape, dtype=bool), np.zeros(shape))


def _imag(value: Any) -> Any:
    return getattr(value, "imag", 0)


def exact(op: str, x: Any, y: Any = None) -> Exact:
    """Return the exact result of an elementwise operation.

    Parameters
    ----------
    op : str
        One operand: "abs", "negative", "reciprocal", "sqrt", "square". Two: "add", "divide",
        "hypot", "multiply", "subtract".
    x : array_like
        An MDArray or a float64 or complex128 array.
    y : array_like, optional
        The second operand; it is broadcast with `x`.

    Returns
    -------
    Exact
        The values, as a reference for `ulp_error` and `assert_close`. Square roots and moduli
        have 176 bits more than the highest precision. Where an operand is not finite or the
        result does not exist, the reference is what NumPy computes from the first limbs. The
        partial products of a complex product use all limbs.

    Raises
    ------
    ValueError
        If the operation does not exist, or it takes another number of operands.
    TypeError
        If an operand is not an array of floats.

    See Also
    --------
    assert_close : compare with a reference.

    Examples
    --------
    >>> import numpy as np
    >>> from mdqr.testing import exact
    >>> real, imag = exact("divide", np.array([1.0]), np.array([3.0])).to_fractions()
    >>> real[0]
    Fraction(1, 3)
    """
    operands = (x,) if y is None else (x, y)
    table: dict[str, Callable[..., Triple]] = _UNARY if y is None else _BINARY
    if op not in table:
        raise ValueError(
            f"no exact result of {op!r} with {len(operands)} operand(s); there are "
            f"{', '.join(sorted(_UNARY))} with one and {', '.join(sorted(_BINARY))} with two"
        )
    values = [_float_value(operand) for operand in operands]
    with np.errstate(all="ignore"):
        ieee = _ieee(op, *values)
    function = table[op]
    if op == "sqrt" and ieee.dtype.kind == "c":
        result = _apply(_complex_sqrt, values, ieee)
        # the cut lies along the sign of the imaginary part, zeros included
        imag = result.imag.ravel()
        below = np.signbit(ieee.imag).ravel()
        imag[below] = -abs(imag[below])
        imag[~below] = abs(imag[~below])
        return result
    return _apply(function, values, ieee)


def _ieee(op: str, *operands: Exact) -> NDArray[Any]:
    if op == "square":
        return _ieee("multiply", *operands, *operands)
    leads = [operand.ieee for operand in operands]
    if op == "multiply" and any(lead.dtype.kind == "c" for lead in leads):
        # as the definition says: NumPy's loop may fuse, so its infinities depend on the CPU
        (a, b), (c, d) = (((x.ieee.real, x.real), (x.ieee.imag, x.imag)) for x in operands)
        out = np.empty(np.broadcast_shapes(*(lead.shape for lead in leads)), dtype=np.complex128)
        out.real = _part_product(a, c) - _part_product(b, d)
        out.imag = _part_product(a, d) + _part_product(b, c)
        return out
    return np.array(getattr(np, op)(*leads))


def _part_product(x: Part, y: Part) -> NDArray[np.float64]:
    """Return products of all limbs, rounded once: beside an infinity it counts which overflow."""
    rounded = np.frompyfunc(_rounded_product, 2, 1)(x[1], y[1])
    finite = np.isfinite(x[0]) & np.isfinite(y[0])
    return np.where(finite, rounded, x[0] * y[0]).astype(np.float64)


def _rounded_product(m: int, n: int) -> float:
    try:
        return m * n / (ONE << SCALE)
    except OverflowError:
        return math.inf if (m < 0) == (n < 0) else -math.inf


def _apply(function: Callable[..., Triple], values: list[Exact], ieee: NDArray[Any]) -> Exact:
    shape = ieee.shape
    parts = [np.broadcast_to(part, shape).ravel() for v in values for part in (v.real, v.imag)]
    undefined = np.zeros(shape, dtype=bool)
    for value in values:
        undefined = undefined | value.special
    special = undefined.ravel()
    columns = np.empty((3, ieee.size), dtype=object)
    for i, numbers in enumerate(zip(*parts, strict=True)):
        result = None if special[i] else function(*numbers)
        special[i] = result is None
        columns[:, i] = (0, 0, 1) if result is None else result
    real, imag, denominator = (column.reshape(shape) for column in columns)
    return Exact(real, imag, denominator, special.reshape(shape), ieee)


def _add(a: int, b: int, c: int, d: int) -> Triple:
    return a + c, b + d, 1


def _subtract(a: int, b: int, c: int, d: int) -> Triple:
    return a - c, b - d, 1


def _multiply(a: int, b: int, c: int, d: int) -> Triple:
    return a * c - b * d, a * d + b * c, ONE


def _divide(a: int, b: int, c: int, d: int) -> Triple:
    if not c and not d:
        return None
    if not b and not d:
        return (a << SCALE, 0, c) if c > 0 else (-a << SCALE, 0, -c)
    return (a * c + b * d) << SCALE, (b * c - a * d) << SCALE, c * c + d * d


def _hypot(a: int, b: int, c: int, d: int) -> Triple:
    return _abs(a, c)


def _negative(a: int, b: int) -> Triple:
    return -a, -b, 1


def _square(a: int, b: int) -> Triple:
    return _multiply(a, b, a, b)


def _reciprocal(a: int, b: int) -> Triple:
    return _divide(ONE, 0, a, b)


def _abs(a: int, b: int) -> Triple:
    if not b:
        return abs(a), 0, 1
    return math.isqrt((a * a + b * b) << 2 * _BITS), 0, 1 << _BITS


def _sqrt(a: int, b: int) -> Triple:
    # (m * 2**-1074)**0.5 = (m * 2**1074)**0.5 * 2**-1074: at least _BITS bits
    more = _BITS - SCALE // 2
    return None if a < 0 else (math.isqrt((a << SCALE) << 2 * more), 0, 1 << more)


def _complex_sqrt(a: int, b: int) -> Triple:
    """Principal root: ``p = sqrt((|z| + |a|) / 2)`` and ``q = |b| / (2 p)`` do not cancel."""
    if not a and not b:
        return 0, 0, 1
    modulus = math.isqrt((a * a + b * b) << 2 * _BITS)
    # In units of 2**-_BITS times those of a and b.
    p = math.isqrt((modulus + (abs(a) << _BITS)) << (SCALE - 1 + _BITS))
    q = ((abs(b) << 2 * _BITS) << (SCALE - 1)) // p
    return (p, q, 1 << _BITS) if a >= 0 else (q, p, 1 << _BITS)


_UNARY: Final = {
    "abs": _abs,
    "negative": _negative,
    "reciprocal": _reciprocal,
    "sqrt": _sqrt,
    "square": _square,
}
_BINARY: Final = {
    "add": _add,
    "divide": _divide,
    "hypot": _hypot,
    "multiply": _multiply,
    "subtract": _subtract,
}
