"""Functions of dtypes, for MDArrays, and integers and booleans of NumPy and CuPy."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np

import mdqr
from mdqr._array.refusals import refused
from mdqr._core.base import ArrayBase
from mdqr._core.dtypes import DType, FInfo, dtype_of, limits
from mdqr._errors import shown
from mdqr._limbs.device import place
from mdqr._precision import Precision, d
from mdqr.array_api import _dispatch as dispatch

PLAIN = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def known(dtype: Any) -> Any:
    """Return a dtype of the namespace: of mdqr, or NumPy's of integers or booleans.

    Raises
    ------
    TypeError
        If `dtype` is none.
    """
    if isinstance(dtype, DType):
        return dtype
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if (
        found is None
        or found.kind not in "biufc"
        or found.itemsize > (16 if found.kind == "c" else 8)
    ):
        raise TypeError(f"{shown(dtype)} is no dtype of mdqr.array_api")
    return dtype_of(d, found.kind == "c") if found.kind in "fc" else found


def target_of(dtype: Any, x: Any) -> Any:
    """Return the dtype that an array is asked to have.

    Raises
    ------
    TypeError
        If it is a floating one of NumPy, which would round the array in secret.
    """
    target = known(dtype)
    is_numpys = isinstance(target, DType) and not isinstance(dtype, DType)
    if is_numpys and isinstance(x, ArrayBase) and x._precision.limbs > 1:
        raise TypeError(refused(x._precision))
    return target


def finfo(type: Any, /) -> FInfo:
    """Return the limits of a real or complex dtype, or of that of an array.

    Examples
    --------
    >>> import mdqr
    >>> xp = mdqr.array_api
    >>> xp.finfo(xp.float_dd).eps == 2.0**-104
    True
    """
    dtype = known(type.dtype if dispatch.is_array(type) else type)
    if not isinstance(dtype, DType):
        raise TypeError(f"finfo is for floating-point dtypes; got {dtype}")
    return limits(dtype.precision)


def iinfo(type: Any, /) -> Any:
    """Return the limits of a dtype of integers, or of that of an array."""
    dtype = known(type.dtype if dispatch.is_array(type) else type)
    if isinstance(dtype, DType) or dtype.kind == "b":
        raise TypeError(f"iinfo is for integer dtypes; got {dtype}")
    return np.iinfo(dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is another one, or of one of the kinds of the array API."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    given = known(dtype)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}; got {shown(kind)}")
        return given.kind in KINDS[kind]
    return bool(given == known(kind))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Return whether values of a dtype, or of an array, can become another one without a loss."""
    source = known(from_.dtype if dispatch.is_array(from_) else from_)
    target = known(to)
    if not isinstance(target, DType):
        return not isinstance(source, DType) and np.can_cast(source, target)
    if isinstance(source, DType):
        return source.precision <= target.precision and source.is_complex <= target.is_complex
    return source.itemsize <= 4 or target.precision.limbs > 1


def promoted(default: Precision, *given: Any) -> Any:
    """Return the dtype of arrays, dtypes and Python numbers together; see `result_type`."""
    numbers = [x for x in given if isinstance(x, (int, float, complex))]
    others = [x for x in given if not isinstance(x, (int, float, complex))]
    dtypes = [known(x.dtype if dispatch.is_array(x) else x) for x in others]
    if not dtypes:
        raise ValueError("result_type needs an array or a dtype")
    floats = [x for x in dtypes if isinstance(x, DType)]
    inexact = any(isinstance(x, (float, complex)) for x in numbers)
    if not floats and not inexact:
        return np.result_type(*dtypes, *numbers)
    precision = max((x.precision for x in floats), default=default)
    is_complex = any(x.is_complex for x in floats) or any(isinstance(x, complex) for x in numbers)
    return dtype_of(precision, is_complex)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Return an array of another dtype: rounded once, or, for integers, towards zero.

    Raises
    ------
    TypeError
        If complex values should become real, or multiple doubles NumPy's float64.
    """
    target = target_of(dtype, x)
    x = dispatch.floating(x)
    if isinstance(target, DType):
        if isinstance(x, ArrayBase) and x.dtype is target:
            return moved(x.copy() if copy else x, device)
        return mdqr.array(x, dtype=target, device=device_name(device))
    if isinstance(x, ArrayBase):
        return moved(_plain(x, target), device)
    return moved(x.astype(target, copy=copy), device)


def _plain(x: Any, target: np.dtype) -> Any:
    """Return truths, or the integers next to real values on the side of zero."""
    if target.kind == "b":
        return dispatch.as_arrays(x != 0)
    if x.is_complex:
        raise TypeError("complex values do not become integers; take real(x) or imag(x)")
    # The limbs of an integer are integers; those from 2**63 on have wrapped around as wanted.
    limbs = mdqr.trunc(x).limbs
    with np.errstate(invalid="ignore"):
        large = limbs >= 2.0**63
        parts = (limbs - large * 2.0**63).astype(np.int64)
    signs = large.astype(np.int64) << 63
    return (parts ^ signs).sum(axis=0).astype(target)


def device_name(device: Any) -> str | None:
    """Return the name of a device, which may be CuPy's object."""
    if device is None or isinstance(device, str):
        return device
    return f"cuda:{operator.index(device.id)}"


def moved(x: Any, device: Any) -> Any:
    """Return an array of any kind on a device, None for where it is."""
    name = device_name(device)
    if name is None:
        return x
    return x.to_device(name) if isinstance(x, ArrayBase) else place(x, name)


class Info:
    """The capabilities of a namespace; see `__array_namespace_info__` of the array API."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision

    def capabilities(self) -> dict[str, Any]:
        """Return the optional parts of the standard that are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 62}

    def default_device(self) -> str:
        """Return where arrays are made: "cpu"."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """Return the devices of this machine."""
        try:
            cupy = importlib.import_module("cupy")
            count = int(cupy.cuda.runtime.getDeviceCount())
        except Exception:  # a missing CuPy, or no driver, raises many kinds
            count = 0
        return ("cpu", *(f"cuda:{k}" for k in range(count)))

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes of arrays that are made without one."""
        return {
            "real floating": dtype_of(self._precision, False),
            "complex floating": dtype_of(self._precision, True),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the dtypes of the namespace by name, of one kind on request."""
        names = {name: np.dtype(name) for name in PLAIN} | named(self._precision)
        return {k: dtype for k, dtype in names.items() if kind is None or isdtype(dtype, kind)}


def named(precision: Precision) -> dict[str, Any]:
    """Return the floating-point dtypes that a namespace has under the names of the standard."""
    return {
        "float32": dtype_of(d, False),
        "float64": dtype_of(precision, False),
        "complex64": dtype_of(d, True),
        "complex128": dtype_of(precision, True),
    }
