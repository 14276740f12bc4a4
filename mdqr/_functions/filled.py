"""Making arrays of one value, or like another array, once there is memory for them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.dtypes import DType
from mdqr._docstrings import documented
from mdqr._errors import ADVICE
from mdqr._functions.creation import array, wants_complex, with_precision
from mdqr._limbs import device as _device
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import Precision, as_precision
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_MOST_BYTES = 2**62  # beyond, NumPy speaks of the number of elements instead of memory


@overload
def zeros(
    shape: Any,
    *,
    precision: PrecisionLike,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def zeros(
    shape: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


def zeros(
    shape: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the values.
    precision : Precision or str
        The precision; required.
    dtype : {None, float, complex}, optional
        The field, real by default.
    device : str, optional
        "cpu" (default), "cuda" or "cuda:k".

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If the precision is missing.
    MemoryError
        If memory for the limbs cannot be allocated.
    ValueError, ImportError
        If `device` is not a device of this machine, or CuPy cannot be imported.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.zeros((2, 3), precision="dd").limbs.shape
    (2, 2, 3)
    """
    target = required(precision, "zeros", dtype)
    is_complex = bool(wants_complex(dtype))
    return ArrayBase._wrap(_allocate(shape, target, is_complex, device), target, is_complex)


@overload
def ones(
    shape: Any,
    *,
    precision: PrecisionLike,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def ones(
    shape: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


@documented(zeros)
def ones(
    shape: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of ones.

    >>> float(mdqr.ones(3, precision=mdqr.qd).sum())
    3.0
    """
    target = required(precision, "ones", dtype)
    return full(shape, 1.0, precision=target, dtype=dtype, device=device)


@overload
def full(
    shape: Any,
    fill_value: Any,
    *,
    precision: PrecisionLike,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def full(
    shape: Any,
    fill_value: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


@overload
def full(
    shape: Any,
    fill_value: MDArray,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@documented(zeros)
def full(
    shape: Any,
    fill_value: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array filled with one value.

    Parameters
    ----------
    fill_value : array_like
        The value, or values that broadcast to `shape`; as in `mdqr.array`.
    precision : Precision or str, optional
        The precision; required unless `fill_value` is an `MDArray`.
    dtype : {None, float, complex}, optional
        The field, by default the field of `fill_value`.

    Raises
    ------
    ValueError
        If the value cannot be read, or does not broadcast to `shape`.

    >>> a = mdqr.full(2, "0.1", precision=mdqr.qd)
    >>> bool((a == mdqr.qd("0.1")).all())
    True
    """
    value = array(fill_value, precision=precision, dtype=dtype, device=device)
    filled = ArrayBase._wrap(
        _allocate(shape, value._precision, value._complex, value.device),
        value._precision,
        value._complex,
    )
    filled[...] = value
    return filled


@overload
def empty(
    shape: Any,
    *,
    precision: PrecisionLike,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def empty(
    shape: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


@documented(zeros)
def empty(
    shape: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array to be filled; it holds zeros, as arbitrary limbs would be no numbers.

    >>> mdqr.empty((2, 0), precision=mdqr.qd).size
    0
    """
    return zeros(shape, precision=required(precision, "empty", dtype), dtype=dtype, device=device)


def zeros_like(
    a: MDArray,
    /,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of zeros with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    precision, dtype, device : optional
        Instead of the ones that `a` has.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.zeros_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    return zeros(**_model(a, precision, dtype, device))


@documented(zeros_like)
def ones_like(
    a: MDArray,
    /,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of ones with the shape, precision and field of `a`.

    >>> mdqr.ones_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    return ones(**_model(a, precision, dtype, device))


@documented(zeros_like)
def empty_like(
    a: MDArray,
    /,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array to be filled, which holds zeros, with the shape, precision and field of `a`.

    >>> mdqr.empty_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    return empty(**_model(a, precision, dtype, device))


@documented(zeros_like)
def full_like(
    a: MDArray,
    /,
    fill_value: Any,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array filled with one value with the shape, precision and field of `a`.

    Parameters
    ----------
    fill_value : array_like
        The value, as in `mdqr.full`.

    >>> mdqr.full_like(mdqr.eye(2, precision=mdqr.qd), 2).precision
    mdqr.qd
    """
    return full(fill_value=fill_value, **_model(a, precision, dtype, device))


def _model(
    a: Any, precision: PrecisionLike | None, dtype: Any, device: str | None
) -> dict[str, Any]:
    if not isinstance(a, ArrayBase):
        raise TypeError(
            f"the model must be an MDArray; got {type(a).__name__}: "
            "use mdqr.zeros(shape, precision=mdqr.qd) and its like"
        )
    if isinstance(dtype, DType):
        precision = with_precision(precision, dtype)
    return {
        "shape": a.shape,
        "precision": a.precision if precision is None else precision,
        "dtype": (complex if a.is_complex else float) if dtype is None else dtype,
        "device": a.device if device is None else device,
    }


def required(precision: PrecisionLike | None, function: str, dtype: Any) -> Precision:
    """Return the precision that a function was given.

    Raises
    ------
    TypeError
        If it is missing, or was given as the dtype.
    """
    wants_complex(dtype)
    precision = with_precision(precision, dtype)
    if precision is None:
        raise TypeError(f"mdqr.{function} needs a precision, as in precision=mdqr.qd")
    return as_precision(precision)


def _allocate(shape: Any, precision: Precision, is_complex: bool, device: str | None) -> Block:
    wanted = tuple(shape) if np.iterable(shape) else (shape,)
    planes.check_axes(len(wanted), is_complex)
    front = (2, precision.limbs) if is_complex else (precision.limbs,)
    with memory_guard(wanted, precision, is_complex, device):
        return _device.zeros((*front, *wanted), device)


@contextmanager
def memory_guard(
    shape: tuple[int, ...], precision: Precision, is_complex: bool, device: str | None
) -> Iterator[None]:
    """Let the MemoryError of making an array of `shape` say how much is wanted.

    Raises
    ------
    MemoryError
        Also at once, if no machine has so much.
    """
    size = 8 * prod((1 + is_complex, precision.limbs, *map(operator.index, shape)))
    try:
        if size > _MOST_BYTES:
            raise MemoryError
        yield
    except MemoryError:
        amount = f"{size / 2**30:.3g}" if size < 2**1000 else f"2**{size.bit_length() - 31}"
        axes = ", ".join(str(n) if n < 2**63 else f"2**{n.bit_length() - 1}" for n in shape)
        raise MemoryError(
            f"no memory for {amount} GiB: {'complex' if is_complex else 'real'} values of shape "
            f"({axes}{',' * (len(shape) == 1)}) in precision {precision} ({precision.limbs} limbs "
            f"each){'' if device in (None, 'cpu') else f' on {device}'}; {ADVICE}"
        ) from None
