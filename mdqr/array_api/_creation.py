"""Making arrays: of mdqr for floating-point dtypes, of NumPy and CuPy for the others."""

from __future__ import annotations

from typing import Any

import numpy as np

import mdqr
from mdqr._core.base import ArrayBase
from mdqr._core.dtypes import DType, dtype_of
from mdqr._functions.from_limbs import _from_dlpack as native_from_dlpack
from mdqr._limbs.device import is_cuda_array
from mdqr._precision import Precision
from mdqr.array_api import _dispatch as dispatch
from mdqr.array_api import _dtypes as dtypes
from mdqr.array_api._dtypes import device_name, known, moved


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in _leaves(item)]
    return [x]


def _is_plain(x: Any) -> bool:
    """Return whether a leaf is an integer or a truth, or an array of them."""
    if dispatch.is_array(x):
        return not dispatch.is_floating(x)
    return isinstance(x, (bool, int))


class Creation:
    """The functions that make arrays, with the precision of dtypes that are not given."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision

    def _dtype(self, dtype: Any, is_complex: bool = False) -> Any:
        return dtype_of(self._precision, is_complex) if dtype is None else known(dtype)

    def asarray(
        self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
    ) -> Any:
        """Return numbers of any kind as an array.

        Integers and truths become arrays of NumPy, floats `MDArray` of the precision of the
        namespace, whose values are the doubles that they are; an `MDArray` keeps its dtype. Texts,
        fractions and decimals are rounded once, as by `mdqr.array`.
        """
        target = None if dtype is None else dtypes.target_of(dtype, obj)
        if isinstance(obj, (memoryview, bytearray)) or hasattr(obj, "typecode"):
            obj = np.asarray(obj)
        if target is None:
            target = self._inferred(obj)
        if dispatch.is_array(obj) and not isinstance(obj, np.generic):
            return self._converted(obj, target, device, copy)
        if copy is False:
            raise ValueError("copy=False, but numbers are no array that could be shared")
        if isinstance(target, DType):
            return mdqr.array(obj, dtype=target, device=device_name(device))
        leaves = _leaves(obj)
        if any(map(dispatch.is_floating, leaves)):
            return dtypes.astype(mdqr.array(obj), target, device=device)
        return moved(np.asarray(obj, dtype=target), device)

    def _inferred(self, obj: Any) -> Any:
        if isinstance(obj, ArrayBase):
            return obj.dtype
        if dispatch.is_array(obj):
            is_floating, is_complex = dispatch.is_floating(obj), obj.dtype.kind == "c"
            return self._dtype(None, is_complex) if is_floating else obj.dtype
        leaves = _leaves(obj)
        if leaves and all(map(_is_plain, leaves)):
            return np.asarray(obj).dtype if not any(map(is_cuda_array, leaves)) else leaves[0].dtype
        ours = [x.dtype for x in leaves if isinstance(x, ArrayBase)]
        precision = max((x.precision for x in ours), default=self._precision)
        is_complex = any(
            x.dtype.kind == "c" if dispatch.is_array(x) else isinstance(x, complex) for x in leaves
        )
        return dtype_of(precision, is_complex)

    def _converted(self, x: Any, target: Any, device: Any, copy: bool | None) -> Any:
        same = isinstance(x, ArrayBase) == isinstance(target, DType) and x.dtype == target
        if same:
            found = moved(x, device)
            shared = found is x
        else:
            found = dtypes.astype(x, target, device=device)
            shared = False
        if copy is False and not shared:
            raise ValueError(f"copy=False, but {x.dtype} becomes {target} by a copy")
        return found.copy() if copy and shared else found

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
        """Return an array filled with one value."""
        target = self._inferred(fill_value) if dtype is None else known(dtype)
        if isinstance(target, DType):
            return mdqr.full(shape, fill_value, dtype=target, device=device_name(device))
        return moved(np.full(shape, fill_value, dtype=target), device)

    def zeros(self, shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        """Return an array of zeros."""
        return self._filled("zeros", shape, dtype, device)

    def ones(self, shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        """Return an array of ones."""
        return self._filled("ones", shape, dtype, device)

    def empty(self, shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        """Return an array to be filled."""
        return self._filled("empty", shape, dtype, device)

    def _filled(self, name: str, shape: Any, dtype: Any, device: Any) -> Any:
        target = self._dtype(dtype)
        if isinstance(target, DType):
            return getattr(mdqr, name)(shape, dtype=target, device=device_name(device))
        return moved(getattr(np, name)(shape, dtype=target), device)

    def eye(
        self,
        n_rows: int,
        n_cols: int | None = None,
        /,
        *,
        k: int = 0,
        dtype: Any = None,
        device: Any = None,
    ) -> Any:
        """Return a matrix with ones on a diagonal."""
        target = self._dtype(dtype)
        if isinstance(target, DType):
            return mdqr.eye(n_rows, n_cols, k, dtype=target, device=device_name(device))
        return moved(np.eye(n_rows, n_cols, k, dtype=target), device)

    def arange(
        self,
        start: Any,
        /,
        stop: Any = None,
        step: Any = 1,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> Any:
        """Return ``start, start + step, ...`` up to, but without, `stop`."""
        integers = all(isinstance(x, (int, np.integer)) for x in (start, step, stop or 0))
        target = np.dtype(np.int64) if dtype is None and integers else self._dtype(dtype)
        if isinstance(target, DType):
            if target.is_complex:
                raise TypeError("arange is for real dtypes")
            name = device_name(device)
            return mdqr.arange(start, stop, step, precision=target.precision, device=name)
        first, last = (0, start) if stop is None else (start, stop)
        return moved(np.arange(first, last, step, dtype=target), device)

    def linspace(
        self,
        start: Any,
        stop: Any,
        /,
        num: int,
        *,
        dtype: Any = None,
        device: Any = None,
        endpoint: bool = True,
    ) -> Any:
        """Return evenly spaced values from `start` to `stop`."""
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        target = self._dtype(dtype, is_complex)
        if isinstance(target, DType):
            name = device_name(device)
            return mdqr.linspace(start, stop, num, endpoint, dtype=target, device=name)
        return moved(np.linspace(start, stop, num, endpoint, dtype=target), device)

    def from_dlpack(self, x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
        """Return the array of a DLPack object; floats become `MDArray` of the same values."""
        found = x if dispatch.is_array(x) else native_from_dlpack(x)
        if not dispatch.is_floating(found) or isinstance(found, ArrayBase):
            return self.asarray(found, device=device, copy=copy)
        return mdqr.array(found, dtype=known(found.dtype), device=device_name(device))

    def result_type(self, *arrays_and_dtypes: Any) -> Any:
        """Return the dtype of arrays, dtypes and Python numbers together: the highest precision."""
        return dtypes.promoted(self._precision, *arrays_and_dtypes)

    def __array_namespace_info__(self) -> dtypes.Info:
        """Return what the namespace can do."""
        return dtypes.Info(self._precision)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Return an array filled with one value with the shape of `x`."""
    target = known(x.dtype if dtype is None else dtype)
    return _of(target, "full", x, device, fill_value)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Return an array of zeros with the shape of `x`."""
    return _of(known(x.dtype if dtype is None else dtype), "zeros", x, device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Return an array of ones with the shape of `x`."""
    return _of(known(x.dtype if dtype is None else dtype), "ones", x, device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Return an array to be filled with the shape of `x`."""
    return _of(known(x.dtype if dtype is None else dtype), "empty", x, device)


def _of(target: Any, name: str, x: Any, device: Any, *values: Any) -> Any:
    where = device_name(device) or device_name(x.device)
    if isinstance(target, DType):
        return getattr(mdqr, name)(x.shape, *values, dtype=target, device=where)
    return moved(getattr(np, name)(x.shape, *values, dtype=target), where)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Return arrays of coordinates, one for each vector."""
    return tuple(dispatch.call(mdqr.meshgrid, "meshgrid", arrays, indexing=indexing))


def tril(x: Any, /, *, k: int = 0) -> Any:
    """Return the lower triangle."""
    return dispatch.call(mdqr.tril, "tril", (_matrix("tril", x),), k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """Return the upper triangle."""
    return dispatch.call(mdqr.triu, "triu", (_matrix("triu", x),), k)


def _matrix(name: str, x: Any) -> Any:
    if x.ndim < 2:
        raise ValueError(f"{name} needs at least two axes; the shape is {x.shape}")
    return x
