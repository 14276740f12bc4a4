"""Making arrays from numbers of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.dtypes import DType
from mdqr._core.promotion import precisions_in, to_block, unwrapped
from mdqr._errors import advised, shown
from mdqr._limbs import device as _device
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@advised
def array(
    x: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Make an array from numbers of any kind, each rounded once.

    Parameters
    ----------
    x : array_like
        `MDArray`, NumPy arrays, decimal or hexadecimal strings, int, float, complex, `Fraction`,
        `Decimal`, mpmath and SymPy numbers, and nested sequences of all these. A float is the
        double it is; the others are rounded correctly, beyond the largest double to infinity.
    precision : Precision or str, optional
        The precision of the array. By default the highest one of the `MDArray` in `x`.
    dtype : {None, float, complex} or DType, optional
        The field; by default complex if a value is. The dtype of an array is also accepted for its
        precision.
    device : str, optional
        "cpu", "cuda" (the current CUDA device) or "cuda:k"; by default where `x` lives.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If the precision is missing, a value is not a number, or complex where `dtype` is float.
    ValueError
        If a string is not a number, or nested sequences differ in length.
    MemoryError
        If memory for the limbs cannot be allocated.
    ImportError
        If `device` needs CuPy and CuPy cannot be imported.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array(["0.1", "1e-30"], precision=mdqr.qd)
    >>> a.shape, a.precision, a.is_complex
    ((2,), mdqr.qd, False)
    """
    wanted = wants_complex(dtype)
    target = _target_precision(x, with_precision(precision, dtype))
    _device.check_device(device)
    x = unwrapped(x)
    block, is_complex = _convert(x, target, wanted)
    block = _device.place(block, device)
    xp = planes.namespace(block)
    given = x._block if isinstance(x, ArrayBase) else x
    if isinstance(given, xp.ndarray) and xp.may_share_memory(block, given):
        block = block.copy(order="C")
    return ArrayBase._wrap(xp.ascontiguousarray(block), target, is_complex)


def asarray(
    x: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return `x` itself if it is such an array already, else `mdqr.array` of it.

    Parameters
    ----------
    x : array_like
        As in `mdqr.array`.
    precision, dtype, device : optional
        As in `mdqr.array`.

    Returns
    -------
    MDArray
        `x` or a new array; float64 arrays are not shared.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `mdqr.array`.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([1, 2], precision=mdqr.qd)
    >>> mdqr.asarray(a) is a
    True
    """
    precision = with_precision(precision, dtype)
    if (
        isinstance(x, ArrayBase)
        and (precision is None or as_precision(precision) is x._precision)
        and wants_complex(dtype) in (None, x._complex)
    ):
        return cast("MDArray", x) if device is None else x.to_device(device)
    return array(x, precision=precision, dtype=dtype, device=device)


def with_precision(precision: PrecisionLike | None, dtype: Any) -> PrecisionLike | None:
    """Return `precision`, or that of a dtype that has one.

    Raises
    ------
    TypeError
        If there are two, and they differ.
    """
    if not isinstance(dtype, DType):
        return precision
    if precision is not None and as_precision(precision) is not dtype.precision:
        raise TypeError(f"the precision is {precision} and that of the dtype is {dtype.precision}")
    return dtype.precision


def wants_complex(dtype: Any) -> bool | None:
    """Return whether `dtype` is complex, None if it is None.

    Raises
    ------
    TypeError
        If it is neither float nor complex.
    """
    if dtype is None or isinstance(dtype, DType):
        return None if dtype is None else dtype.is_complex
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted == np.float64 or wanted == np.complex128:
        return wanted == np.complex128
    is_precision = any(dtype == each or dtype == each.name for each in PRECISIONS)
    raise TypeError(
        f"dtype must be None, float or complex; got {shown(dtype)}"
        + (f", which is a precision: give it as precision={shown(dtype)}" if is_precision else "")
    )


def _target_precision(x: Any, precision: PrecisionLike | None) -> Precision:
    if precision is not None:
        return as_precision(precision)
    found = precisions_in(unwrapped(x))
    if not found:
        raise TypeError(
            f"the precision is missing and {type(x).__name__} has none: "
            "give it, as in mdqr.array(x, precision=mdqr.qd)"
        )
    return max(found)


def _convert(x: Any, target: Precision, complex_wanted: bool | None) -> tuple[Block, bool]:
    """Return a block of exactly ``target.limbs`` limbs, which may be a view of `x`."""
    limbs = target.limbs
    block, is_complex = to_block(x, limbs)
    if is_complex and complex_wanted is False:
        raise TypeError(
            "complex values do not fit into a real array; take the real part, or give dtype=complex"
        )
    if complex_wanted and not is_complex:
        block, is_complex = planes.complexify(block), True
    return planes.widen(block, is_complex, limbs), is_complex
