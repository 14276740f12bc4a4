"""Making arrays: from numbers of any kind, of one value, like another array."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from numbers import Number
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.promotion import convert_objects, from_sequence, precisions_in, to_block, unwrapped
from mdqr._errors import ADVICE, advised
from mdqr._limbs import device as _device
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS, Precision, as_precision

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_MOST_BYTES = 2**62  # beyond, NumPy speaks of the number of elements instead of memory


@advised
def array(
    x: Any,
    *,
    precision: Precision | str | None = None,
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
    dtype : {None, float, complex}, optional
        The field; by default complex if a value is.
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
        If there is no memory for the limbs.
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
    target = _target_precision(x, precision)
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
    *,
    precision: Precision | str | None = None,
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
    if (
        isinstance(x, ArrayBase)
        and (precision is None or as_precision(precision) is x._precision)
        and wants_complex(dtype) in (None, x._complex)
    ):
        return cast("MDArray", x) if device is None else x.to_device(device)
    return array(x, precision=precision, dtype=dtype, device=device)


def zeros(
    shape: Any,
    *,
    precision: Precision | str | None = None,
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
        If there is no memory for the limbs.
    ValueError, ImportError
        If `device` is no device of this machine, or CuPy cannot be imported.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.zeros((2, 3), precision="dd").limbs.shape
    (2, 2, 3)
    """
    target = required(precision, "zeros", dtype)
    is_complex = bool(wants_complex(dtype))
    return ArrayBase._wrap(_allocate(shape, target, is_complex, device), target, is_complex)


def ones(
    shape: Any,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of ones.

    Parameters
    ----------
    shape, precision, dtype, device
        As in `mdqr.zeros`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError, MemoryError
        As in `mdqr.zeros`.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.ones(3, precision=mdqr.qd).sum())
    3.0
    """
    target = required(precision, "ones", dtype)
    return full(shape, 1.0, precision=target, dtype=dtype, device=device)


def full(
    shape: Any,
    fill_value: Any,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array filled with one value.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the values.
    fill_value : array_like
        The value, or values that broadcast to `shape`; as in `mdqr.array`.
    precision : Precision or str, optional
        The precision; required unless `fill_value` is an `MDArray`.
    dtype : {None, float, complex}, optional
        The field, by default that of `fill_value`.
    device : str, optional
        "cpu" (default), "cuda" or "cuda:k".

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `mdqr.array`.

    Examples
    --------
    >>> import mdqr
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


def empty(
    shape: Any,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array to be filled; it holds zeros, as arbitrary limbs would be no numbers.

    Parameters
    ----------
    shape, precision, dtype, device
        As in `mdqr.zeros`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError, MemoryError
        As in `mdqr.zeros`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.empty((2, 0), precision=mdqr.qd).size
    0
    """
    return zeros(shape, precision=required(precision, "empty", dtype), dtype=dtype, device=device)


def zeros_like(
    a: MDArray,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of zeros with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    precision, dtype, device : optional
        Instead of those of `a`.

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


def ones_like(
    a: MDArray,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of ones with the shape, precision and field of `a`.

    Parameters
    ----------
    a, precision, dtype, device
        As in `mdqr.zeros_like`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        As in `mdqr.zeros_like`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.ones_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    return ones(**_model(a, precision, dtype, device))


def empty_like(
    a: MDArray,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array to be filled, which holds zeros, with the shape, precision and field of `a`.

    Parameters
    ----------
    a, precision, dtype, device
        As in `mdqr.zeros_like`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        As in `mdqr.zeros_like`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.empty_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    return empty(**_model(a, precision, dtype, device))


def full_like(
    a: MDArray,
    fill_value: Any,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array filled with one value with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    fill_value : array_like
        The value, as in `mdqr.full`.
    precision, dtype, device
        As in `mdqr.zeros_like`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        As in `mdqr.zeros_like`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.full_like(mdqr.eye(2, precision=mdqr.qd), 2).precision
    mdqr.qd
    """
    return full(fill_value=fill_value, **_model(a, precision, dtype, device))


def wants_complex(dtype: Any) -> bool | None:
    """Return whether `dtype` is complex, None if it is None.

    Raises
    ------
    TypeError
        If it is neither float nor complex.
    """
    if dtype is None:
        return None
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted == np.float64 or wanted == np.complex128:
        return wanted == np.complex128
    is_precision = any(dtype == each or dtype == each.name for each in PRECISIONS)
    raise TypeError(
        f"dtype must be None, float or complex; got {dtype!r}"
        + (f", which is a precision: give it as precision={dtype!r}" if is_precision else "")
    )


def _model(
    a: Any, precision: Precision | str | None, dtype: Any, device: str | None
) -> dict[str, Any]:
    if not isinstance(a, ArrayBase):
        raise TypeError(
            f"the model must be an MDArray; got {type(a).__name__}: "
            "use mdqr.zeros(shape, precision=mdqr.qd) and its like"
        )
    return {
        "shape": a.shape,
        "precision": a.precision if precision is None else precision,
        "dtype": (complex if a.is_complex else float) if dtype is None else dtype,
        "device": a.device if device is None else device,
    }


def _target_precision(x: Any, precision: Precision | str | None) -> Precision:
    if precision is not None:
        return as_precision(precision)
    found = precisions_in(unwrapped(x))
    if not found:
        raise TypeError(
            f"the precision is missing and {type(x).__name__} has none: "
            "give it, as in mdqr.array(x, precision=mdqr.qd)"
        )
    return max(found)


def required(precision: Precision | str | None, function: str, dtype: Any) -> Precision:
    """Return the precision that a function was given.

    Raises
    ------
    TypeError
        If it is missing, or was given as the dtype.
    """
    wants_complex(dtype)
    if precision is None:
        raise TypeError(f"mdqr.{function} needs a precision, as in precision=mdqr.qd")
    return as_precision(precision)


def _convert(x: Any, target: Precision, complex_wanted: bool | None) -> tuple[Block, bool]:
    """Return a block of exactly ``target.limbs`` limbs, which may be a view of `x`."""
    limbs = target.limbs
    if isinstance(x, (list, tuple)):
        block, is_complex = from_sequence(x, limbs, strings=True)
    elif _is_array_or_number(x) and not (isinstance(x, np.ndarray) and x.dtype.kind in "OUST"):
        block, is_complex = to_block(x, limbs)
    else:
        block, is_complex = convert_objects(x, limbs)
    if is_complex and complex_wanted is False:
        raise TypeError(
            "complex values do not fit into a real array; take the real part, or give dtype=complex"
        )
    if complex_wanted and not is_complex:
        block, is_complex = planes.complexify(block), True
    return planes.widen(block, is_complex, limbs), is_complex


def _is_array_or_number(x: Any) -> bool:
    return isinstance(x, (ArrayBase, np.ndarray, Number)) or _device.is_cuda_array(x)


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
