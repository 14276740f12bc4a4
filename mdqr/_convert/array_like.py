"""Conversion of array_likes of the caller to NumPy arrays, lists or numbers."""

from __future__ import annotations

import operator
import sys
from collections import UserString
from collections.abc import Sequence
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

from mdqr._limbs import planes
from mdqr._precision import Precision

EXACT_INTEGER = 2**53  # up to which all integers are doubles

_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__")


def plain(x: Any) -> Any:
    """Return an array_like as a NumPy array of no subclass, a list or a tuple; others unchanged.

    Every conversion starts here, so that all functions take the same: a subclass of
    `numpy.ndarray` would bring other shapes and products along.

    Parameters
    ----------
    x : object
        Data frames, whatever has ``__array__``, ``__array_interface__`` or a buffer, sequences,
        matrices with ``tolist``; and numbers and texts, which stay. `MDArray` and CuPy arrays do
        not come here: see `mdqr._core.promotion.unwrapped`.

    Raises
    ------
    TypeError
        If an entry of a masked array is masked, or a column has places without a value.
    """
    if isinstance(x, np.ndarray):
        return x if type(x) is np.ndarray else _unmasked(x)
    if isinstance(x, np.generic):
        return np.asarray(x)
    if isinstance(x, (list, tuple, str, bytes, type)) or is_number(x):
        return x
    if is_lazy(x):
        raise TypeError(
            f"a {type(x).__name__} of Dask is not gathered into one array without a word: "
            "mdqr.distributed takes it chunk by chunk (lstsq, qr, factor); x.compute() gathers it"
        )
    if hasattr(type(held := getattr(x, "array", x)), "__mdqr_column__"):
        return held.mdarray
    if has_values(x):
        return _by_columns(x) if _is_mixed(x) else _entries(x)
    if isinstance(x, UserString):
        return str(x)
    if isinstance(x, range):
        return _of_range(x)
    if isinstance(x, Sequence):
        return list(x)  # not by NumPy, which makes floats of large integers
    return x.tolist() if hasattr(x, "tolist") else x


def _of_range(x: range) -> np.ndarray | list[int]:
    """Return a range as integers of 64 bits, or as a list if they have more.

    Raises
    ------
    MemoryError
        If there are more than any memory holds.
    """
    if not x:
        return np.empty(0, dtype=np.int64)
    count = (x[-1] - x[0]) // x.step + 1
    if count > sys.maxsize:
        raise MemoryError(f"a range of {count} values")
    if max(abs(x[0]), abs(x[-1]), abs(x.step)) >= 2**63:
        return list(x)
    return np.arange(count, dtype=np.int64) * x.step + x[0]


def check_characters(x: np.ndarray) -> None:
    """Raise ValueError if texts of NumPy hold what is not a character: Python cannot take them."""
    codes = np.ascontiguousarray(x, dtype=x.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
    if codes.max(initial=0) > sys.maxunicode:
        raise ValueError(
            f"an array of texts holds {codes.max():#x}, which is no character; was its memory "
            "given another dtype?"
        )


def is_lazy(x: Any) -> bool:
    """Return True if `x` is a collection of Dask, whose values are computed when asked for."""
    return hasattr(type(x), "__dask_graph__")


def has_values(x: Any) -> bool:
    """Return whether NumPy takes `x` for an array, by a protocol or as a buffer."""
    if any(hasattr(x, name) for name in _PROTOCOLS):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def is_number(x: object) -> bool:
    """Return whether `x` is a number of some type, not an array of them."""
    return isinstance(x, Number) or is_symbolic(x) or (_is_rational(x) and not has_values(x))


def exact_value(x: Any) -> Fraction | None:
    """Return the value of an integer or a rational of any type, None for other things."""
    if isinstance(x, (int, Fraction)):
        return Fraction(x)
    if is_symbolic(x) or has_values(x) or not _is_rational(x):
        return None
    if hasattr(type(x), "__index__"):
        return Fraction(operator.index(x))
    return whole_ratio(x)


def whole_ratio(x: Any) -> Fraction:
    """Return the value of a rational of any type.

    Raises
    ------
    ValueError
        If its denominator is 0.
    """
    num, den = int(x.numerator), int(x.denominator)
    if not den:
        raise ValueError(f"a rational number with the denominator 0 has no value: {num}/0")
    return Fraction(num, den)


def is_symbolic(x: object) -> bool:
    """Return whether `x` is a number of mpmath, SymPy or Arb."""
    kind = type(x)
    return any(hasattr(kind, name) for name in ("_mpf_", "_mpc_", "__sympy__"))


def is_constant(x: Any) -> bool:
    """Return True for a constant of mpmath; SymPy's numbers have a `func` as well."""
    return hasattr(x, "func") and not hasattr(x, "__sympy__")


def signed(raw: tuple[int, int, int, int]) -> tuple[int, int]:
    """Return the integer and the power of two of what mpmath stores of a number."""
    sign, man, exp, _ = raw
    return (-int(man) if sign else int(man)), int(exp)


def refuse_interval(x: Any) -> None:
    """Raise ValueError for a ball of Arb that is not exact."""
    is_exact = getattr(x, "is_exact", None)
    if is_exact is not None and not is_exact():
        raise ValueError(
            f"{x} is an interval and not a number; take its midpoint, x.mid(), if that is meant"
        )


def is_weak(x: object) -> bool:
    """Return whether `x` is an array_like without arithmetic, as a list is."""
    if isinstance(x, Sequence):
        return True
    computes = any(hasattr(type(x), name) for name in ("__radd__", "__array_ufunc__"))
    return has_values(x) and not computes


def is_frame(x: object) -> bool:
    """Return whether `x` is a data frame or a column of pandas, which leave operators to others."""
    return hasattr(type(x), "__pandas_priority__")


def is_column(x: Any) -> bool:
    """Return whether `x` is of pandas and holds arrays of mdqr alone; see `mdqr.pandas`."""
    if not (is_frame(x) and hasattr(x, "isna")):  # not one of mdqr
        return False
    kinds = x.dtypes if hasattr(x, "columns") else [x.dtype]
    return len(kinds) > 0 and all(
        isinstance(getattr(kind, "precision", None), Precision) for kind in kinds
    )


def _is_rational(x: object) -> bool:
    """Return whether `x` says that it is an integer or a rational."""
    kind = type(x)
    if hasattr(kind, "__index__"):
        return True
    parts = (getattr(x, "numerator", None), getattr(x, "denominator", None))
    return not any(part is None or callable(part) for part in parts)


def _unmasked(x: np.ndarray) -> np.ndarray:
    """Return an array of a subclass as a plain one, if every entry has a value."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise TypeError("a masked array has places without a value; fill them with x.filled(value)")
    return np.asarray(x)


def _entries(x: Any) -> np.ndarray:
    """Return an array, or a column of a data frame, as NumPy's; no integer is rounded."""
    _refuse_missing(x)
    values = np.asarray(x)
    if isinstance(getattr(x, "dtype", values.dtype), np.dtype):
        return values
    if values.dtype.kind in "biuc" or (values.dtype.kind == "f" and hasattr(x, "null_count")):
        return values  # polars has no integers among its floats
    exact = np.asarray(x, dtype=object)
    are_floats = all(issubclass(kind, (float, np.floating)) for kind in set(map(type, exact.flat)))
    return values if are_floats and values.dtype.kind == "f" else exact


def _refuse_missing(x: Any) -> None:
    """Raise TypeError if a column has places without a value, which NumPy's floats have as NaN.

    Columns of NumPy's types have none: NaN is a value there.
    """
    count, missing = getattr(x, "null_count", None), getattr(x, "isna", None)
    by = ""
    if count is not None:  # of polars or Arrow
        by = "fill_null" if np.any(np.asarray(count() if callable(count) else count)) else ""
    elif callable(missing) and not isinstance(getattr(x, "dtype", None), np.dtype):
        by = "fillna" if np.any(missing()) and not is_column(x) else ""
    if by:
        raise TypeError(f"a column has places without a value; fill them with x.{by}(value)")


def _by_columns(x: Any) -> np.ndarray:
    """Return the entries of a data frame, each as its column holds it."""
    columns = [column for _, column in x.items()] if hasattr(x, "items") else x.get_columns()
    entries = [_entries(column) for column in columns]
    common = _common_type(entries)
    if common.kind == "O":  # not from `entries`: NumPy makes integers of its dates
        return np.stack([np.asarray(column, dtype=object) for column in columns], axis=1)
    if common == np.float64:  # subnormals included, which a cast may flush
        entries = [planes.doubles(e) if e.dtype.kind == "f" else e for e in entries]
    return np.stack(entries, axis=1, dtype=common)


def _common_type(columns: list[np.ndarray]) -> np.dtype:
    """Return a type that holds the numbers of all columns exactly, object if there is no other."""
    if any(column.dtype.kind not in "biuf" or column.dtype.itemsize > 8 for column in columns):
        return np.dtype(object)
    common = np.result_type(*columns)
    integers = [column for column in columns if column.dtype.kind in "iu"]
    if common.kind == "f" and not all(map(_are_doubles, integers)):
        return np.dtype(object)
    return common


def _are_doubles(integers: np.ndarray) -> bool:
    return bool(
        integers.min(initial=0) >= -EXACT_INTEGER and integers.max(initial=0) <= EXACT_INTEGER
    )


def _is_mixed(x: Any) -> bool:
    """Return whether `x` is a data frame whose entries NumPy may round to a type of its own."""
    kinds = getattr(x, "dtypes", None)
    if not np.iterable(kinds) or not (hasattr(x, "items") or hasattr(x, "get_columns")):
        return False
    return len(set(map(str, kinds))) > 1 or not all(isinstance(kind, np.dtype) for kind in kinds)
