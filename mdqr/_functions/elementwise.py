"""Arithmetic on arrays of any kind, one kernel call each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.host import values
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import Operands, alike, common_shape, operands, real_arrays
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import NEW_ARRAY, REAL_FUNCTION, REAL_PAIR, documented
from mdqr._errors import advised
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
def add(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x1 + x2``; result-relative error at most ``2 * eps``, also under cancellation.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        The operands. Texts are numbers here, but not to the operator.

    Returns
    -------
    MDArray
        A new array of the highest precision.

    Examples
    --------
    >>> import mdqr
    >>> print(mdqr.add(mdqr.qd(1), 2))
    3.0
    """
    return _binary("add", x1, x2)


@with_precision
@documented(add)
def subtract(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x1 - x2``; result-relative error at most ``2 * eps``, also under cancellation.

    >>> print(mdqr.subtract(mdqr.qd(1), 2))
    -1.0
    """
    return _binary("subtract", x1, x2)


@with_precision
@documented(add)
def multiply(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x1 * x2``; relative error at most ``2 * eps``, complex ``4 * eps`` normwise.

    >>> print(mdqr.multiply(mdqr.qd(1), 2))
    2.0
    """
    return _binary("multiply", x1, x2)


@with_precision
@documented(add)
def divide(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x1 / x2``; relative error at most ``2 * eps``, complex ``10 * eps`` normwise.

    >>> print(mdqr.divide(mdqr.qd(1), 2))
    0.5
    """
    return _binary("divide", x1, x2)


@with_precision
@documented(NEW_ARRAY)
def negative(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``-x``, exactly.

    >>> float(mdqr.negative(mdqr.qd(3)))
    -3.0
    """
    if (found := values.apply("negative", x)) is not None:
        return cast("MDArray", found)
    ops = operands(x)
    return ops.wrap(planes.negate(ops.blocks[0], ops.is_complex))


@with_precision
@documented(NEW_ARRAY)
def abs(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the absolute values.

    Returns
    -------
    MDArray
        A new real array: exact for real values, relative error at most ``10 * eps`` for complex.

    >>> float(mdqr.abs(mdqr.qd(3 - 4j)))
    5.0
    """
    if (found := values.apply("abs", x)) is not None:
        return cast("MDArray", found)
    ops = operands(x)
    block = ops.blocks[0]
    if ops.is_complex:
        return ArrayBase._wrap(_unary_block("abs", block, ops), ops.precision, False)
    return ops.wrap(planes.absolute(block))


@with_precision
@documented(NEW_ARRAY)
def conj(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the complex conjugates, exactly.

    Parameters
    ----------
    x : MDArray or array_like
        The values, real or complex.

    >>> complex(mdqr.conj(mdqr.qd(1 + 2j)))
    (1-2j)
    """
    ops = operands(x)
    block = ops.blocks[0]
    return ops.wrap(planes.conjugate(block) if ops.is_complex else block.copy())


@with_precision
@documented(NEW_ARRAY)
def sqrt(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the square roots.

    Digit by digit from the double root, as by hand; arguments are scaled by powers of two.

    Returns
    -------
    MDArray
        A new array. Negative real values give NaN; complex ones the root with a real part that is
        not negative. Relative error at most ``2 * eps``, complex ``10 * eps`` normwise.

    >>> float(mdqr.sqrt(mdqr.qd(4)))
    2.0
    """
    return _unary("sqrt", x)


@with_precision
@documented(NEW_ARRAY)
def square(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x * x``.

    Returns
    -------
    MDArray
        A new array. Relative error at most ``2 * eps``, complex ``4 * eps`` normwise.

    >>> float(mdqr.square(mdqr.qd(3)))
    9.0
    """
    return _unary("square", x)


@with_precision
@documented(NEW_ARRAY)
def reciprocal(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``1 / x``.

    Returns
    -------
    MDArray
        A new array; infinity where `x` is zero. Relative error at most ``2 * eps``, complex
        ``10 * eps`` normwise.

    >>> float(mdqr.reciprocal(mdqr.qd(4)))
    0.25
    """
    return _unary("reciprocal", x)


@with_precision
@documented(REAL_PAIR)
def hypot(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``sqrt(x1**2 + x2**2)`` without intermediate overflow.

    Returns
    -------
    MDArray
        A new array of the broadcast shape. Relative error at most ``10 * eps``.

    >>> float(mdqr.hypot(mdqr.qd(3), 4))
    5.0
    """
    ops = operands(x1, x2)
    if ops.is_complex:
        raise TypeError("hypot is for real values; take mdqr.abs of a complex array")
    return _binary("hypot", x1, x2)


@with_precision
@documented(REAL_FUNCTION)
def floor(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the largest integers not above `x`, exactly.

    Returns
    -------
    MDArray
        A new array.

    >>> float(mdqr.floor(mdqr.qd("-0.1")))
    -1.0
    """
    return _to_integer("floor", x)


@with_precision
@documented(floor)
def ceil(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the smallest integers not below `x`, exactly.

    >>> float(mdqr.ceil(mdqr.qd("2.1")))
    3.0
    """
    return _to_integer("ceil", x)


@with_precision
@documented(NEW_ARRAY)
def rint(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the nearest integers, halves to even, exactly.

    Parameters
    ----------
    x : MDArray or array_like
        The values; of complex ones both parts are rounded, as NumPy does.

    >>> float(mdqr.rint(mdqr.qd("2.5")))
    2.0
    """
    return _to_integer("rint", x)


@with_precision
@documented(NEW_ARRAY)
def sign(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return -1, 0 or 1 by the sign of real values, ``x / |x|`` of complex ones.

    Parameters
    ----------
    x : MDArray or array_like
        The values. NaN gives NaN.

    Returns
    -------
    MDArray
        A new array. Exact if real; relative error at most ``20 * eps`` normwise if complex.

    >>> [float(s) for s in mdqr.sign(mdqr.array([-3, 0, 2], precision=mdqr.qd))]
    [-1.0, 0.0, 1.0]
    """
    ops = operands(x)
    block = ops.blocks[0]
    xp = planes.namespace(block)
    if not ops.is_complex:
        signs = xp.zeros_like(block)
        # Bits, not arithmetic: the caller may have subnormals flushed.
        ordinary = planes.nonzero(block, False) & ~xp.isnan(block[0])
        rest = xp.where(xp.isnan(block[0]), xp.nan, 0.0)  # -0 too gives 0
        signs[0] = xp.where(ordinary, xp.copysign(1.0, block[0]), rest)
        return ops.wrap(signs)
    leading = xp.empty(ops.shape, dtype=np.complex128)
    leading.real, leading.imag = block[0, 0], block[1, 0]
    ordinary = xp.isfinite(leading) & (leading != 0)
    one = xp.zeros_like(block)
    one[0, 0] = 1.0
    safe = ops.wrap(planes.select(ordinary, block, one))
    exact = xp.zeros_like(block)
    with np.errstate(invalid="ignore"):
        rest = xp.sign(leading)
    exact[0, 0], exact[1, 0] = rest.real, rest.imag
    return ops.wrap(planes.select(ordinary, (safe / abs(safe))._block, exact))


@advised
def in_place(op: str, target: MDArray, other: Any) -> None:
    """Do ``target op= other``, rounded once to the precision of `target`.

    Raises
    ------
    ValueError
        If the result has another shape, or `target` is read-only.
    TypeError
        If the result is complex and `target` is not.
    """
    ops = operands(target, other)
    out, source = target._block, ops.blocks[1]
    fits = (
        (ops.precision, ops.is_complex, ops.shape)
        == (target._precision, target._complex, target.shape)
        and planes.is_writeable(out)
        and (source is out or not planes.namespace(out).may_share_memory(source, out))
    )
    if fits:
        _binary_block(op, out, source, ops, out)
    else:
        store(_binary(op, target, other), target)


def store(result: MDArray, target: MDArray) -> None:
    """Write `result` into `target`, rounded once to its precision.

    Raises
    ------
    ValueError
        If `target` has another shape or is read-only.
    TypeError
        If `result` is complex and `target` is not.
    """
    if result.shape != target.shape:
        raise ValueError(
            f"the result has shape {result.shape} and does not fit into an array of shape "
            f"{target.shape}; an array does not grow in place"
        )
    if result.is_complex and not target.is_complex:
        raise TypeError(
            "a complex result does not fit into a real array; "
            "make it complex first with a.astype(dtype=complex)"
        )
    target[...] = result


def _to_integer(op: str, x: Any) -> MDArray:
    ops = operands(x)
    block, limbs = ops.blocks[0], ops.precision.limbs
    backend = for_block(block)
    if not ops.is_complex:
        return ops.wrap(backend.unary(op, block, kind=Kind(limbs, False)))
    if op != "rint":
        raise TypeError(f"{op} is for real values; take a.real and a.imag")
    parts = [backend.unary(op, part, kind=Kind(limbs, False)) for part in block]
    return ops.wrap(backend.xp.stack(parts))


def _unary(op: str, x: Any) -> MDArray:
    if (found := values.apply(op, x)) is not None:
        return cast("MDArray", found)
    ops = operands(x)
    return ops.wrap(_unary_block(op, ops.blocks[0], ops))


def _unary_block(op: str, block: Block, ops: Operands) -> Block:
    return for_block(block).unary(op, block, kind=ops.kind)


def _binary(op: str, x: Any, y: Any) -> MDArray:
    if alike((x, y)):
        kind = Kind(x._precision.limbs, x._complex)
        array: MDArray = x._like(for_block(x._block).binary(op, x._block, y._block, kind=kind))
        return array
    ops = real_arrays(x, y)
    if ops is None:
        ops = operands(x, y)
    else:
        common_shape([block.shape[1:] for block in ops.blocks])  # the backend broadcasts
    x_block, y_block = ops.blocks
    return ops.wrap(_binary_block(op, x_block, y_block, ops, None))


def _binary_block(op: str, x: Block, y: Block, ops: Operands, out: Block | None) -> Block:
    return for_block(x).binary(op, x, y, kind=ops.kind, out=out)
