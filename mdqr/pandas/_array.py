"""The array of a column: an MDArray of one axis, NaN where a value is missing."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, no_default
from pandas.api.indexers import check_array_indexer
from pandas.api.types import is_list_like, pandas_dtype

import mdqr
from mdqr._array.array import MDArray
from mdqr._array.refusals import rounded_by_pandas
from mdqr._core.promotion import precisions_in
from mdqr._functions.creation import array
from mdqr._functions.ordering.sets import unique_inverse
from mdqr._stability import experimental
from mdqr.pandas._dtype import MDDtype
from mdqr.pandas._groups import AGGREGATES, TRANSFORMS, aggregated, transformed

_PANDAS = (pd.Series, pd.Index, pd.DataFrame)


@experimental
class MDExtensionArray(ExtensionArray):
    """The values of a column of pandas, each of one precision; missing ones are NaN.

    Parameters
    ----------
    values : MDArray
        Real values, of one axis.
    copy : bool, optional
        True to copy them.

    Attributes
    ----------
    mdarray : MDArray
        The values.

    Raises
    ------
    TypeError
        If `values` is not an `MDArray`, or complex.
    ValueError
        If they have not one axis.

    Examples
    --------
    >>> import pandas as pd
    >>> import mdqr
    >>> from mdqr.pandas import MDExtensionArray
    >>> x = mdqr.array(["0.1", "0.2", "0.4"], precision=mdqr.qd)
    >>> frame = pd.DataFrame({"group": [1, 1, 2], "x": MDExtensionArray(x)})
    >>> print(frame.groupby("group")["x"].mean()[1])
    0.15
    """

    __array_priority__ = 1000
    __mdqr_column__ = True  # `mdqr._convert.array_like` takes `mdarray` of such a class

    def __init__(self, values: MDArray, copy: bool = False) -> None:
        if isinstance(values, MDExtensionArray):
            values = values.mdarray
        if not isinstance(values, MDArray) or values.is_complex:
            raise TypeError(f"a column holds a real MDArray; got {type(values).__name__}")
        if values.ndim != 1:
            raise ValueError(f"a column has one axis; the shape is {values.shape}")
        self._mdarray: MDArray = values.copy() if copy else values
        self._dtype = MDDtype(values.precision)

    # -- making ----------------------------------------------------------------------------------

    @classmethod
    def _from_sequence(
        cls, scalars: Any, *, dtype: Any = None, copy: bool = False
    ) -> MDExtensionArray:
        kind = None if dtype is None else cast("MDDtype", pandas_dtype(dtype))
        given = _numbers(scalars)
        if kind is None and not precisions_in(given):
            raise TypeError('the precision of a column is missing; give dtype="mdqr[qd]"')
        return cls(array(given, precision=None if kind is None else kind.precision, dtype=float))

    @classmethod
    def _from_sequence_of_strings(
        cls, strings: Any, *, dtype: Any, copy: bool = False
    ) -> MDExtensionArray:
        return cls._from_sequence(strings, dtype=dtype)

    @classmethod
    def _from_factorized(cls, values: Any, original: MDExtensionArray) -> MDExtensionArray:
        return cls._from_sequence(values, dtype=original.dtype)

    @classmethod
    def _concat_same_type(cls, to_concat: Any) -> MDExtensionArray:
        return cls(mdqr.concatenate([x._mdarray for x in to_concat]))

    def _cast_pointwise_result(self, values: Any) -> Any:
        held = [x for x in values if not _is_missing(x)]
        if held and all(isinstance(x, MDArray) for x in held):
            return type(self)._from_sequence(values)
        return pd.Series(list(values)).infer_objects().array

    # -- what it is ------------------------------------------------------------------------------

    @property
    def mdarray(self) -> MDArray:
        """The values."""
        return self._mdarray

    @property
    def dtype(self) -> MDDtype:
        """The type, with the precision."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """The number of bytes of the limbs."""
        return self._mdarray.nbytes

    def __len__(self) -> int:
        return len(self._mdarray)

    def isna(self) -> np.ndarray:
        """Return where values are missing.

        Returns
        -------
        numpy.ndarray of bool
            A mask, true for NaN.
        """
        return np.asarray(mdqr.isnan(self._mdarray))

    @property
    def _hasna(self) -> bool:
        return bool(self.isna().any())

    def __getitem__(self, item: Any) -> Any:
        key = check_array_indexer(self, item)
        if isinstance(key, tuple):
            key = tuple(x for x in key if x is not Ellipsis)
            (key,) = key or (slice(None),)
        found = self._mdarray[key if key is not Ellipsis else slice(None)]
        if found.ndim:
            result = type(self)(found)
            if isinstance(key, slice):
                result._readonly = self._readonly
            return result
        return np.nan if bool(mdqr.isnan(found)) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if getattr(self, "_readonly", False):
            raise ValueError("Cannot modify read-only array")
        key = check_array_indexer(self, key)
        if is_list_like(value):
            if isinstance(key, (int, np.integer)):
                raise ValueError("setting an array element with a sequence.")
            value = self._from_sequence(value, dtype=self.dtype)._mdarray
        elif _is_missing(value):
            value = np.nan
        self._mdarray[key] = value

    # -- copies ----------------------------------------------------------------------------------

    def copy(self) -> MDExtensionArray:
        """Return a copy.

        Returns
        -------
        MDExtensionArray
            With limbs of its own.
        """
        return type(self)(self._mdarray.copy())

    def take(
        self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None
    ) -> MDExtensionArray:
        """Return the values at places.

        Parameters
        ----------
        indices : array_like of int
            The places.
        allow_fill : bool, optional
            True if -1 denotes a missing value, not the last one.
        fill_value : number, optional
            The value for -1; NaN by default.

        Returns
        -------
        MDExtensionArray
            A new array.

        Raises
        ------
        IndexError
            If a place does not exist.
        ValueError
            If a place is below -1 where -1 denotes a missing value.
        """
        places = np.asarray(indices, dtype=np.intp)
        if places.size and not len(self) and not (allow_fill and (places == -1).all()):
            raise IndexError("cannot do a non-empty take from an empty axes.")
        if not allow_fill:
            return type(self)(self._mdarray[places])
        if places.size and places.min() < -1:
            raise ValueError("places below -1 do not denote values")
        absent = places == -1
        if not len(self):
            found = mdqr.full(places.shape, np.nan, precision=self.dtype.precision)
        else:
            found = self._mdarray[np.where(absent, 0, places)]
        found[absent] = np.nan if fill_value is None or _is_missing(fill_value) else fill_value
        return type(self)(found)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the values in another type: another precision, the nearest doubles, texts.

        Parameters
        ----------
        dtype : str or dtype
            The type; `float` rounds every value.
        copy : bool, optional
            True for a copy in any case.

        Returns
        -------
        array
            Of that type.
        """
        kind = pandas_dtype(dtype)
        if isinstance(kind, MDDtype):
            if kind == self.dtype:
                return self.copy() if copy else self
            return type(self)(self._mdarray.astype(kind.precision))
        if getattr(kind, "kind", "O") in "fc" and isinstance(kind, np.dtype):
            return self._mdarray.to_numpy().astype(kind)
        if isinstance(kind, np.dtype) and kind.kind in "iu":
            return mdqr.array_api.astype(self._mdarray, mdqr.array_api.int64).astype(kind)
        if isinstance(kind, np.dtype) and kind.kind == "U":
            return self._mdarray.to_strings().astype(kind)
        if isinstance(kind, pd.StringDtype):
            texts = self._mdarray.to_strings()
            texts[self.isna()] = pd.NA
            return kind.construct_array_type()._from_sequence(texts, dtype=kind)
        asks = sys._getframe(1).f_code.co_name
        if kind.kind == "O" and asks == "get_values_for_csv":
            return self._mdarray.to_strings()  # str(x) has a digit less
        if kind.kind == "O" and asks == "_get_engine_target":
            return self._values_for_factorize()[0]  # arrays of no axes do not hash
        return super().astype(kind, copy=copy)

    def _values_for_json(self) -> np.ndarray:
        texts = self._mdarray.to_strings()
        texts[self.isna()] = None
        return texts

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return an array of objects, or of the doubles of precision d.

        Raises
        ------
        TypeError
            If values would be rounded.
        """
        if copy is False:
            raise ValueError("an array of objects or doubles is a copy of a column")
        if dtype is None or np.dtype(dtype) == object:
            found = np.empty(len(self), dtype=object)
            found[:] = list(self)
            return found
        if self.dtype.precision.limbs > 1:
            raise TypeError(rounded_by_pandas(self.dtype.precision))
        return self._mdarray.to_numpy().astype(dtype)

    def to_numpy(
        self, dtype: Any = None, copy: bool = False, na_value: Any = no_default
    ) -> np.ndarray:
        """Return an array of objects: 0-d MDArrays, and NaN for missing values.

        Parameters
        ----------
        dtype : dtype, optional
            Types other than `object` are for precision d alone; `astype(float)` rounds.
        copy : bool, optional
            As pandas'; without an effect.
        na_value : object, optional
            The missing value.

        Returns
        -------
        numpy.ndarray
            A new array.

        Raises
        ------
        TypeError
            If values would be rounded.
        """
        found = np.asarray(self, dtype=dtype)
        if na_value is not no_default and self._hasna:
            found[self.isna()] = na_value
        return found

    # -- order and equality ----------------------------------------------------------------------

    def _values_for_argsort(self) -> np.ndarray:
        return np.asarray(unique_inverse(self._mdarray).inverse_indices)

    def _values_for_factorize(self) -> tuple[np.ndarray, Any]:
        """Return exact fractions, which are equal and hash alike for equal values."""
        found = np.full(len(self), np.nan, dtype=object)
        finite = np.asarray(mdqr.isfinite(self._mdarray))
        found[finite] = self._mdarray[finite].to_fractions()
        infinite = np.asarray(mdqr.isinf(self._mdarray))
        found[infinite] = self._mdarray[infinite].to_numpy()
        return found, np.nan

    def _first_places(self) -> np.ndarray:
        """Return the places of the first one of each value; all missing ones are one value."""
        found = mdqr.unique(self._mdarray, return_index=True)
        return np.sort(found[1])

    def unique(self) -> MDExtensionArray:
        """Return the distinct values in the order in which they come.

        Returns
        -------
        MDExtensionArray
            A new array.
        """
        return self[self._first_places()]

    def duplicated(self, keep: Any = "first") -> np.ndarray:
        """Return where values have come before.

        Parameters
        ----------
        keep : {"first", "last", False}, optional
            Which of equal values does not count as a duplicate.

        Returns
        -------
        numpy.ndarray of bool
            The mask.
        """
        numbers = self._values_for_argsort()
        numbers = np.where(self.isna(), -1, numbers)
        return pd.Series(numbers).duplicated(keep=keep).to_numpy()

    def value_counts(self, dropna: bool = True) -> pd.Series:
        """Return how often each value is there, the most frequent first.

        Parameters
        ----------
        dropna : bool, optional
            True to leave missing values out.

        Returns
        -------
        pandas.Series
            The counts, with the values as index.
        """
        given = self[~self.isna()] if dropna else self
        values, counts = mdqr.unique(given._mdarray, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        index = pd.Index(type(self)(values[order]))
        return pd.Series(counts[order], index=index, name="count", dtype="int64")

    def isin(self, values: Any) -> np.ndarray:
        """Return where values are among others.

        Parameters
        ----------
        values : array_like
            The others.

        Returns
        -------
        numpy.ndarray of bool
            The mask; missing values are among others that are missing.
        """
        others = self._from_sequence(values, dtype=self.dtype)
        found = np.asarray(mdqr.isin(self._mdarray, others._mdarray))
        return found | (self.isna() & others._hasna)

    def searchsorted(self, value: Any, side: Any = "left", sorter: Any = None) -> Any:
        """Return where values belong in the ordered column; see `mdqr.searchsorted`.

        Parameters
        ----------
        value : array_like
            The values.
        side : {"left", "right"}, optional
            Before or behind equal values.
        sorter : array_like of int, optional
            The places that sort the column.

        Returns
        -------
        numpy.ndarray or numpy.int64
            The places.
        """
        sought = (
            self._from_sequence(value, dtype=self.dtype)._mdarray if is_list_like(value) else value
        )
        return mdqr.searchsorted(self._mdarray, sought, side, sorter)

    # -- statistics ------------------------------------------------------------------------------

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, **kwargs: Any
    ) -> Any:
        options = {key: kwargs[key] for key in ("min_count", "ddof") if key in kwargs}
        if name in ("any", "all"):
            values = self[~self.isna()] if skipna else self
            return bool(getattr(mdqr, name)(values._mdarray))
        if name == "count":
            return int((~self.isna()).sum())
        if name not in AGGREGATES:
            raise TypeError(f"cannot perform {name} with type {self.dtype}: pandas rounds there")
        ids = np.zeros(len(self), dtype=np.intp)
        found = type(self)(aggregated(name, self._mdarray, ids, 1, skipna=skipna, **options))
        return found if keepdims else found[0]

    def _accumulate(self, name: str, *, skipna: bool = True, **kwargs: Any) -> MDExtensionArray:
        if name not in TRANSFORMS:
            raise TypeError(f"cannot perform {name} with type {self.dtype}")
        ids = np.zeros(len(self), dtype=np.intp)
        return type(self)(transformed(name, self._mdarray, ids, 1, skipna=skipna))

    def _groupby_op(
        self,
        *,
        how: str,
        has_dropped_na: bool,
        min_count: int,
        ngroups: int,
        ids: np.ndarray,
        **kwargs: Any,
    ) -> Any:
        options = {key: kwargs[key] for key in ("ddof", "skipna") if key in kwargs}
        if how in ("any", "all"):
            return _truths(
                how, np.asarray(self._mdarray != 0), self.isna(), ids, ngroups, **options
            )
        if how in TRANSFORMS:
            return type(self)(transformed(how, self._mdarray, ids, ngroups, **options))
        if how not in AGGREGATES:
            raise TypeError(f"dtype '{self.dtype}' does not support operation '{how}'")
        count = max(min_count, 0)
        return type(self)(aggregated(how, self._mdarray, ids, ngroups, min_count=count, **options))

    def _quantile(self, qs: np.ndarray, interpolation: str) -> MDExtensionArray:
        given = self._mdarray[~self.isna()]
        if not len(given):
            return type(self)(mdqr.full(len(qs), np.nan, precision=self.dtype.precision))
        method = cast("Any", interpolation)
        return type(self)(mdqr.quantile(given, np.asarray(qs), method=method))

    def round(self, decimals: int = 0) -> MDExtensionArray:
        """Return the nearest multiples of a power of ten; see `mdqr.round`.

        Parameters
        ----------
        decimals : int, optional
            The number of decimal places.

        Returns
        -------
        MDExtensionArray
            A new array.
        """
        return type(self)(mdqr.round(self._mdarray, decimals))

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str]:
        return str

    # -- operators and ufuncs --------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, _PANDAS) for x in inputs) or "out" in options:
            return NotImplemented
        found = getattr(ufunc, method)(*(self._operand(x) for x in inputs), **options)
        if isinstance(found, tuple):
            return tuple(map(_column, found))
        return _column(found)

    def _operand(self, other: Any) -> Any:
        """Return an operand for arithmetic: an MDArray, an array or a number."""
        if isinstance(other, MDExtensionArray):
            return other._mdarray
        if is_list_like(other):
            if len(other) != len(self):
                raise ValueError("Lengths must match")
            return _numbers(other)
        return np.nan if _is_missing(other) else other

    def _operated(self, other: Any, function: Callable[[Any, Any], Any], swapped: bool) -> Any:
        if isinstance(other, _PANDAS):
            return NotImplemented
        x, y = self._mdarray, self._operand(other)
        found = function(y, x) if swapped else function(x, y)
        return tuple(map(_column, found)) if isinstance(found, tuple) else _column(found)

    def answered(self, other: MDArray, function: Callable[[Any, Any], Any], column: Any) -> Any:
        """Return the column of an operation of an MDArray and this column, for its operators.

        Parameters
        ----------
        other : MDArray
            The left operand.
        function : callable
            Of two MDArrays.
        column : pandas.Series, pandas.Index or MDExtensionArray
            The owner of this array, or itself.

        Returns
        -------
        pandas.Series, pandas.Index, MDExtensionArray or MDArray
            With the index and the name of `column`; an array where the shapes differ.
        """
        found = function(other, self._mdarray)
        if np.shape(found) != (len(self),):
            return found
        held = _column(found) if isinstance(found, MDArray) else found
        if column is self:
            return held
        if isinstance(column, pd.Series):
            return pd.Series(held, index=column.index, name=column.name)
        return pd.Index(held, name=column.name)

    def __neg__(self) -> MDExtensionArray:
        return type(self)(-self._mdarray)

    def __pos__(self) -> MDExtensionArray:
        return self.copy()

    def __abs__(self) -> MDExtensionArray:
        return type(self)(abs(self._mdarray))


def _add_operators() -> None:
    """Write the operators of the class, from the left and from the right."""
    arithmetic = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
    functions = {name: getattr(operator, name) for name in arithmetic} | {"divmod": divmod}
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(MDExtensionArray, f"__{name}__", _method(getattr(operator, name), False))
    for name, function in functions.items():
        setattr(MDExtensionArray, f"__{name}__", _method(function, False))
        setattr(MDExtensionArray, f"__r{name}__", _method(function, True))


def _method(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[..., Any]:
    def call(self: MDExtensionArray, other: Any) -> Any:
        return self._operated(other, function, swapped)

    return call


def _column(x: Any) -> Any:
    return MDExtensionArray(x) if isinstance(x, MDArray) and x.ndim == 1 else x


def _is_missing(x: Any) -> bool:
    return x is None or x is pd.NA or x is pd.NaT or (isinstance(x, float) and x != x)


def _numbers(x: Any) -> Any:
    """Return an array_like of mdqr: missing values are NaN."""
    if isinstance(x, _PANDAS[:2]):
        x = x.array
    if isinstance(x, MDExtensionArray):
        return x._mdarray
    if isinstance(x, MDArray) or (isinstance(x, np.ndarray) and x.dtype != object):
        return x
    values = [np.nan if _is_missing(each) else each for each in x]
    return values or np.zeros(0)


def _truths(
    how: str,
    values: np.ndarray,
    missing: np.ndarray,
    ids: np.ndarray,
    ngroups: int,
    *,
    skipna: bool = True,
) -> np.ndarray:
    """Return whether any or all values of each group are not zero; NaN is not."""
    kept = (ids >= 0) & ~missing if skipna else ids >= 0
    wanted = values if how == "any" else ~values
    found = np.bincount(ids[kept & wanted], minlength=ngroups) > 0
    return found if how == "any" else ~found


_add_operators()
MDExtensionArray.__module__ = "mdqr.pandas"
