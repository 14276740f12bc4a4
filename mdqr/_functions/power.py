"""Powers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._backend import for_block
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import operands
from mdqr._core.with_precision import with_precision
from mdqr._functions import elementwise
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
def power(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Raise to powers.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        Base and exponent, real or complex.

    Returns
    -------
    MDArray
        A new array of the broadcast shape. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise, while ``|x2 * log(x1)| < 2**20``.

    Raises
    ------
    TypeError
        If no operand is an `MDArray` and `precision` is missing.

    Notes
    -----
    Exponents -3 to 3 (complex: -2 to 2) given as one integer are products; others
    ``exp(x2 * log(x1))`` with 40 bits more than the result. Powers that fit into the digits
    of the precision come out exactly. ``x**0`` and ``1**x`` are 1, a negative real base has powers
    of integers only, others are NaN; infinities and zeros as in C99 and NumPy.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.power(mdqr.qd(2), -3))
    0.125
    >>> float(mdqr.power(mdqr.qd("6.25"), 1.5))
    15.625
    """
    n = _small_integer(x2)
    if n is not None and isinstance(x1, ArrayBase):
        base = cast("MDArray", x1)
        if abs(n) <= (2 if base.is_complex else 3):
            return _products(base if n >= 0 else elementwise.reciprocal(base), abs(n))
    ops = operands(x1, x2)
    return ops.wrap(for_block(ops.blocks[0]).binary("power", *ops.blocks, kind=ops.kind))


def _small_integer(exponent: Any) -> int | None:
    """Return an exponent that is one integer between -3 and 3, or None."""
    if isinstance(exponent, (int, float, np.integer, np.floating)) and -3 <= exponent <= 3:
        return int(exponent) if exponent == int(exponent) else None
    return None


def _products(x: MDArray, n: int) -> MDArray:
    """Return ``x**n`` for 0 <= n <= 3."""
    if n == 0:
        return _one(x)
    if n == 1:
        return x.copy()
    square = elementwise.square(x)
    return square if n == 2 else elementwise.multiply(square, x)


def _one(x: MDArray) -> MDArray:
    xp = planes.namespace(x._block)
    block = xp.zeros(x._block.shape)
    block[(0, 0) if x._complex else 0] = 1.0
    return x._like(block)
