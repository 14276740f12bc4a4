"""Integer powers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._convert.array_like import plain
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import operands, precisions_in, unwrapped
from mdqr._errors import advised
from mdqr._functions import comparison, elementwise
from mdqr._limbs import planes
from mdqr._limbs.device import is_cuda_array

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@advised
def power(x: Any, exponent: Any) -> MDArray:
    """Raise to integer powers.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.
    exponent : int or array_like of integers
        The exponents, of any sign. ``x**0`` is 1 for every x.

    Returns
    -------
    MDArray
        A new array of the broadcast shape.

    Raises
    ------
    TypeError
        If an exponent is not an integer (other powers need exponential and logarithm, which this
        version does not have; `mdqr.sqrt` gives square roots), or `x` is not an `MDArray`.

    Notes
    -----
    Repeated squaring, n - 1 products at most counted in the result: relative error at most
    ``2 * n * eps`` (complex: ``4 * n * eps`` normwise) for ``n = |exponent|``, to first order, and
    ``2 * n * eps`` (``10 * n * eps``) more for a negative exponent, which is the power of the
    reciprocal: the power itself may leave the range where its reciprocal does not.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.power(mdqr.qd(2), -3))
    0.125
    """
    if not isinstance(x, ArrayBase):
        raise TypeError(
            f"the base of a power must be an MDArray; got {type(x).__name__}: "
            "convert it first, as in mdqr.array(x, precision=mdqr.qd)"
        )
    base, single = cast("MDArray", x), _integer(exponent)
    if single is not None:
        return _scalar_power(base if single >= 0 else elementwise.reciprocal(x), abs(single))
    return _array_power(base, _integers(exponent))


def _integer(exponent: Any) -> int | None:
    """Return one exponent as an int, or None for an array of exponents."""
    if isinstance(exponent, float) and exponent.is_integer():
        return int(exponent)
    if isinstance(exponent, (ArrayBase, np.ndarray, list, tuple)) or is_cuda_array(exponent):
        return None
    try:
        return operator.index(exponent)
    except TypeError:
        if isinstance(plain(exponent), (np.ndarray, list)):
            return None
        raise TypeError(_wanted(repr(exponent))) from None


def _integers(exponent: Any) -> np.ndarray:
    given = unwrapped(exponent)
    if precisions_in(given):
        raise TypeError(_wanted("an MDArray"))
    exponents = given.get() if is_cuda_array(given) else np.asarray(given)
    if exponents.dtype.kind not in "biu":
        raise TypeError(_wanted(f"an array of dtype {exponents.dtype}"))
    if exponents.dtype.kind == "u" and exponents.size and exponents.max() > 2**63 - 1:
        raise OverflowError("exponents in an array must be below 2**63")
    return exponents.astype(np.int64)


def _wanted(given: str) -> str:
    return (
        f"an exponent must be an integer or a NumPy array of integers; got {given}: "
        "other powers need the exponential and the logarithm, which this version lacks "
        "(mdqr.sqrt gives square roots)"
    )


def _scalar_power(x: MDArray, n: int) -> MDArray:
    """Return ``x**n`` for n >= 0, from the highest bit of n down."""
    if n == 0:
        return _one(x)
    result = x.copy()
    for bit in bin(n)[3:]:
        result = elementwise.square(result)
        if bit == "1":
            result = elementwise.multiply(result, x)
    return result


def _array_power(x: MDArray, exponents: np.ndarray) -> MDArray:
    xp = planes.namespace(x._block)
    # The block of exponents takes part in the broadcasting, its values do not.
    spread = operands(x, xp.zeros(exponents.shape))
    base = spread.wrap(spread.full_blocks()[0])
    if (exponents < 0).any():
        negative = xp.asarray(np.broadcast_to(exponents < 0, base.shape))
        base = comparison.where(negative, elementwise.reciprocal(base), base)
    sizes = np.abs(exponents).view(np.uint64)
    bits = int(sizes.max(initial=0)).bit_length()
    sizes = xp.asarray(np.broadcast_to(sizes, base.shape))
    result = _one(base)
    # Bit by bit as in _scalar_power, so that both give the same limbs.
    for bit in reversed(range(bits)):
        prefix = sizes >> np.uint64(bit)
        started, odd = prefix > 1, prefix & np.uint64(1) == 1
        result = elementwise.square(result)
        product = comparison.where(started, elementwise.multiply(result, base), base)
        result = comparison.where(odd, product, result)
    return result


def _one(x: MDArray) -> MDArray:
    xp = planes.namespace(x._block)
    block = xp.zeros(x._block.shape)
    block[(0, 0) if x._complex else 0] = 1.0
    return x._like(block)
