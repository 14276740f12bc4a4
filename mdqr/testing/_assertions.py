"""Error measures and assertions in units of the precision."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdqr._array.array import MDArray
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._typing import PrecisionLike
from mdqr.testing._exact import SCALE, ratio
from mdqr.testing._oracles import Exact, exact_value, host_block

__all__ = ["assert_close", "assert_same_bits", "ulp_error"]

HUGE: Final = float(np.finfo(np.float64).max)
# From 2**1024 - sum(TIES[: N - 1]) on some normal form of N limbs starts with 2**1024, because each
# limb may be half an ulp of the one above.
TIES: Final = [1 << (970 + SCALE - 53 * i) for i in range(970 // 53)]


def ulp_error(
    x: Any, y: Any, *, precision: PrecisionLike | None = None, tiny: float | None = None
) -> NDArray[np.float64]:
    """Return the error of `x` against `y` in multiples of ``eps * |y|``.

    Parameters
    ----------
    x : array_like
        Computed values: an MDArray, or a float64 or complex128 array (precision d).
    y : array_like or Exact
        What they should be: an array, an object array of exact numbers (int, Fraction, mpmath
        numbers), or a result of `exact`. It is broadcast to the shape of `x`.
    precision : Precision or str, optional
        Whose `eps` and `tiny` to use. Default: taken from `x`.
    tiny : float, optional
        Smaller `y` count as this large.

    Returns
    -------
    ndarray of float64
        ``|x - y| / (eps * max(|y|, tiny))``, moduli where values are complex: computed exactly
        and rounded once. Where `y` is not finite, 0 if `x` is the same (NaN equals NaN), else
        infinity. An infinity in `x` counts as the number nearest to `y` that overflows, so that
        the overflow of a large result is not an error.

    Raises
    ------
    TypeError
        If `x` is not an array of floats.
    ValueError
        If the shapes do not broadcast.

    See Also
    --------
    assert_close : raise where the error is too large.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from mdqr.testing import ulp_error
    >>> float(ulp_error(np.array([1 / 3]), Fraction(1, 3))[0])
    0.25
    """
    precision = _precision_of(x, precision)
    value, reference = exact_value(x), exact_value(y)
    shape = value.real.shape
    if not _fits(reference, shape):
        raise ValueError(f"reference of shape {reference.real.shape} for values of shape {shape}")
    unit = _Unit(
        -(math.frexp(precision.eps)[1] - 1),
        int(Fraction(precision.tiny if tiny is None else tiny) * (1 << SCALE)),
        (1 << (1024 + SCALE)) - sum(TIES[: max(precision.limbs - 1, 1)]),
    )
    parts = [np.broadcast_to(part, shape).ravel() for part in reference]
    rows = zip(*_components(value), *parts[:3], strict=True)
    errors = np.array([_error(unit, *row) for row in rows], dtype=np.float64)
    errors[np.isnan(value.ieee).ravel()] = np.inf
    same = _same(value.ieee.ravel(), parts[4])
    errors[parts[3]] = np.where(same, 0.0, np.inf)[parts[3]]
    return errors.reshape(shape)


class _Unit(NamedTuple):
    """The unit of errors of one precision: ``2**-bits`` and units of 2**-1074."""

    bits: int
    least: int  # smaller references count as this
    overflow: int  # values from here on may be infinite


def _components(value: Exact) -> list[NDArray[np.object_]]:
    """Return the real and imaginary integers, or the infinity where one is infinite."""
    parts = []
    for integers, doubles in ((value.real, value.ieee.real), (value.imag, value.ieee.imag)):
        infinite = np.isinf(doubles)
        part = integers.copy()
        part[infinite] = doubles[infinite]
        parts.append(part.ravel())
    return parts


def _error(unit: _Unit, a: int | float, b: int | float, c: int, d: int, denominator: int) -> float:
    """Compare ``a + ib`` with ``(c + id) / denominator``, all in units of 2**-1074."""
    least = unit.least * denominator
    difference = _difference(a, c, denominator, unit.overflow)
    if not b and not d:
        return ratio(abs(difference) << unit.bits, max(abs(c), least))
    square = difference**2 + _difference(b, d, denominator, unit.overflow) ** 2
    size = max(c * c + d * d, least * least)
    quotient = ratio(square << (2 * unit.bits), size)
    if math.isinf(quotient) and size:
        return ratio(math.isqrt((square << (2 * unit.bits)) // size), 1)
    return math.sqrt(quotient)


def _difference(value: int | float, numerator: int, denominator: int, overflow: int) -> int:
    """Return ``value * denominator - numerator``; an infinity stands for all from `overflow` on."""
    if isinstance(value, int):
        return value * denominator - numerator
    sign = 1 if value > 0 else -1
    return sign * max(0, overflow * denominator - sign * numerator)


def _same(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare special results: what is not finite must agree; if all of it is finite, to 45 bits.

    Beside an infinite component every finite one has a small error normwise.
    """
    finite, wanted = _finite_parts(x), _finite_parts(y)
    with np.errstate(invalid="ignore"):
        near = abs(x - y) <= 2.0**-45 * abs(y)
    if y.dtype.kind == "c":
        agree = _same_part(x.real, y.real) & _same_part(x.imag, y.imag)
    else:
        agree = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.asarray(np.where(wanted.all(axis=0), finite.all(axis=0) & near, agree))


def _finite_parts(x: NDArray[Any]) -> NDArray[np.bool_]:
    return np.stack([np.isfinite(x.real), np.isfinite(x.imag)])


def _same_part(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    finite = np.isfinite(x) & np.isfinite(y)
    # beside an infinity, first limbs may overflow where all limbs do not, and the other way round
    near = abs(np.clip(x, -HUGE, HUGE) / HUGE - np.clip(y, -HUGE, HUGE) / HUGE) <= 2.0**-45
    return np.asarray(near | finite | (np.isnan(x) & np.isnan(y)))


def assert_close(
    x: Any,
    y: Any,
    *,
    ulps: float,
    precision: PrecisionLike | None = None,
    tiny: float | None = None,
    err_msg: str = "",
) -> None:
    """Raise AssertionError where the error of `x` exceeds `ulps` times ``eps * |y|``.

    Parameters
    ----------
    x : array_like
        Computed values: an MDArray, or a float64 or complex128 array (precision d).
    y : array_like or Exact
        What they should be, as in `ulp_error`, but of the shape of `x` or a single value.
    ulps : float
        The allowed error in multiples of ``eps * max(|y|, tiny)``.
    precision : Precision or str, optional
        Whose `eps` and `tiny` to use. Default: taken from `x`.
    tiny : float, optional
        Smaller `y` count as this large.
    err_msg : str, optional
        Text put before the message.

    Raises
    ------
    AssertionError
        With the first offending index, both values, the limbs of `x` and the error; or because
        the shapes differ.
    TypeError
        If `x` is not an array of floats.

    See Also
    --------
    ulp_error : the errors themselves.
    assert_same_bits : no tolerance at all.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import mdqr
    >>> from mdqr.testing import assert_close
    >>> third = mdqr.array("0.5", precision=mdqr.dd) / mdqr.array("1.5", precision=mdqr.dd)
    >>> assert_close(third, Fraction(1, 3), ulps=2)
    """
    precision = _precision_of(x, precision)
    value, reference = exact_value(x), exact_value(y)
    shape = value.real.shape
    if reference.real.shape not in ((), shape):
        raise AssertionError(
            f"{_lead(err_msg)}shapes differ: x has {shape}, y has {reference.real.shape}"
        )
    errors = ulp_error(x, reference, precision=precision, tiny=tiny)
    wrong = ~(errors <= ulps)
    if not wrong.any():
        return
    index = _first(wrong)
    reference = Exact(*(np.broadcast_to(part, shape) for part in reference))
    raise AssertionError(
        f"{_lead(err_msg)}{wrong.sum()} of {wrong.size} values differ by more than {ulps:g} eps "
        f"({precision.name}: eps = 2**{math.frexp(precision.eps)[1] - 1}); "
        f"the largest error is {errors.max():.4g} eps.\nFirst at index {index}:\n"
        f"  x = {_text(value, index, precision)}\n"
        f"  y = {_text(reference, index, precision)}\n"
        f"  error = {errors[index]:.6g} eps\n"
        f"  limbs of x: {_limbs(x, index)}"
    )


def assert_same_bits(x: Any, y: Any, *, err_msg: str = "") -> None:
    """Raise AssertionError unless `x` and `y` have the same limbs, bit for bit.

    Precision, field and shape must agree too. The signs of zeros count; all NaNs are one value.

    Parameters
    ----------
    x, y : array_like
        MDArrays, or float64 or complex128 arrays.
    err_msg : str, optional
        Text put before the message.

    Raises
    ------
    AssertionError
        With the first offending index and both values limb by limb.
    TypeError
        If an argument is not an array of floats.

    See Also
    --------
    assert_close : compare values, not limbs.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr.testing import assert_same_bits
    >>> a = mdqr.array(["0.1", "0.2"], precision=mdqr.qd)
    >>> assert_same_bits(a + a[::-1], a[::-1] + a)
    """
    kinds = []
    for array in (x, y):
        block, is_complex = host_block(array)
        limbs = block.shape[1] if is_complex else block.shape[0]
        field = "complex" if is_complex else "real"
        kinds.append(f"{field}, {limbs} limbs, shape {block.shape[1 + is_complex :]}")
    if kinds[0] != kinds[1]:
        raise AssertionError(f"{_lead(err_msg)}x is {kinds[0]}; y is {kinds[1]}")
    (block, is_complex), (other, _) = host_block(x), host_block(y)
    bits, other_bits = (np.ascontiguousarray(b).view(np.int64) for b in (block, other))
    different = (bits != other_bits) & ~(np.isnan(block) & np.isnan(other))
    wrong = different.any(axis=(0, 1) if is_complex else 0)
    if not wrong.any():
        return
    index = _first(wrong)
    raise AssertionError(
        f"{_lead(err_msg)}{wrong.sum()} of {wrong.size} values have different limbs.\n"
        f"First at index {index}:\n  x: {_limbs(x, index)}\n  y: {_limbs(y, index)}"
    )


def _precision_of(x: Any, precision: PrecisionLike | None) -> Precision:
    if precision is not None:
        return as_precision(precision)
    if isinstance(x, MDArray):
        return x._precision
    host_block(x)  # raises TypeError for anything but floats
    return next(p for p in PRECISIONS if p.limbs == 1)


def _fits(reference: Exact, shape: tuple[int, ...]) -> bool:
    wanted = reference.real.shape
    tail = shape[len(shape) - len(wanted) :]
    return len(wanted) <= len(shape) and all(a in (1, b) for a, b in zip(wanted, tail, strict=True))


def _lead(message: str) -> str:
    return f"{message}\n" if message else ""


def _first(wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def _text(value: Exact, index: tuple[int, ...], precision: Precision) -> str:
    if value.special[index]:
        return str(value.ieee[index])
    real, imag = (_decimal(part[index], value.denominator[index], precision) for part in value[:2])
    return f"{real} + {imag}j" if value.imag[index] else real


def _decimal(numerator: int, denominator: int, precision: Precision) -> str:
    """Return decimal text with two digits more than the precision keeps."""
    import mpmath

    with mpmath.workprec(precision.bits + 16):
        quotient = mpmath.ldexp(mpmath.mpf(numerator) / denominator, -SCALE)
        return str(mpmath.nstr(quotient, precision.digits + 2))


def _limbs(x: Any, index: tuple[int, ...]) -> str:
    block, is_complex = host_block(x)
    planes = block if is_complex else block[None]
    texts = [
        "(" + ", ".join(float(limb).hex() for limb in plane[(slice(None), *index)]) + ")"
        for plane in planes
    ]
    return " + i ".join(texts)
