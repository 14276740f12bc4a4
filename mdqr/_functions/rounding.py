"""Rounding to integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._backend import for_block
from mdqr._core.promotion import operands
from mdqr._errors import advised

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def floor(x: Any) -> MDArray:
    """Return the largest integers not above `x`, exactly.

    Parameters
    ----------
    x : MDArray
        Real values.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.floor(mdqr.qd("-0.1")))
    -1.0
    """
    return _to_integer("floor", x)


def ceil(x: Any) -> MDArray:
    """Return the smallest integers not below `x`, exactly.

    Parameters
    ----------
    x : MDArray
        Real values.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.ceil(mdqr.qd("2.1")))
    3.0
    """
    return _to_integer("ceil", x)


def rint(x: Any) -> MDArray:
    """Return the nearest integers, halves to even, exactly.

    Parameters
    ----------
    x : MDArray
        The values; of complex ones both parts are rounded, as NumPy does.

    Returns
    -------
    MDArray
        A new array.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.rint(mdqr.qd("2.5")))
    2.0
    """
    return _to_integer("rint", x)


@advised
def _to_integer(op: str, x: Any) -> MDArray:
    ops = operands(x)
    block, limbs = ops.blocks[0], ops.precision.limbs
    backend = for_block(block)
    if not ops.is_complex:
        return ops.wrap(backend.unary(op, block, limbs=limbs, is_complex=False))
    if op != "rint":
        raise TypeError(f"{op} is for real values; take a.real and a.imag")
    parts = [backend.unary(op, part, limbs=limbs, is_complex=False) for part in block]
    return ops.wrap(backend.xp.stack(parts))
