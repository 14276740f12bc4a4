"""Values of a column and their forms: made, taken, set, and written in other types."""

from __future__ import annotations

import sys
from typing import Any, Self, cast

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
from mdqr.pandas._dtype import MDDtype

PANDAS = (pd.Series, pd.Index, pd.DataFrame)


class _Column(ExtensionArray):
    """The storage of a column: values that pandas makes, takes, sets and converts."""

    __array_priority__ = 1000
    __mdqr_column__ = True  # `mdqr._convert.array_like` takes `mdarray` of such a class

    def __init__(self, values: MDArray, copy: bool = False) -> None:
        if isinstance(values, _Column):
            values = values.mdarray
        if not isinstance(values, MDArray) or values.is_complex:
            raise TypeError(f"a column holds a real MDArray; got {type(values).__name__}")
        if values.ndim != 1:
            raise ValueError(f"a column has one axis; the shape is {values.shape}")
        self._mdarray: MDArray = values.copy() if copy else values
        self._dtype = MDDtype(values.precision)

    # -- making ----------------------------------------------------------------------------------

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Self:
        kind = None if dtype is None else cast("MDDtype", pandas_dtype(dtype))
        given = numbers(scalars)
        if kind is None and not precisions_in(given):
            raise TypeError('the precision of a column is missing; give dtype="mdqr[qd]"')
        return cls(array(given, precision=None if kind is None else kind.precision, dtype=float))

    @classmethod
    def _from_sequence_of_strings(cls, strings: Any, *, dtype: Any, copy: bool = False) -> Self:
        return cls._from_sequence(strings, dtype=dtype)

    @classmethod
    def _from_factorized(cls, values: Any, original: Self) -> Self:
        return cls._from_sequence(values, dtype=original.dtype)

    @classmethod
    def _concat_same_type(cls, to_concat: Any) -> Self:
        return cls(mdqr.concatenate([x._mdarray for x in to_concat]))

    def _cast_pointwise_result(self, values: Any) -> Any:
        held = [x for x in values if not is_missing(x)]
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
        elif is_missing(value):
            value = np.nan
        self._mdarray[key] = value

    # -- copies ----------------------------------------------------------------------------------

    def copy(self) -> Self:
        """Return a copy.

        Returns
        -------
        MDExtensionArray
            With limbs of its own.
        """
        return type(self)(self._mdarray.copy())

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Self:
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
        found[absent] = np.nan if fill_value is None or is_missing(fill_value) else fill_value
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

    def _values_for_factorize(self) -> tuple[np.ndarray, Any]:
        """Return exact fractions, which are equal and hash alike for equal values."""
        found = np.full(len(self), np.nan, dtype=object)
        finite = np.asarray(mdqr.isfinite(self._mdarray))
        found[finite] = self._mdarray[finite].to_fractions()
        infinite = np.asarray(mdqr.isinf(self._mdarray))
        found[infinite] = self._mdarray[infinite].to_numpy()
        return found, np.nan


def is_missing(x: Any) -> bool:
    return x is None or x is pd.NA or x is pd.NaT or (isinstance(x, float) and x != x)


def numbers(x: Any) -> Any:
    """Return an array_like of mdqr: missing values are NaN."""
    if isinstance(x, PANDAS[:2]):
        x = x.array
    if isinstance(x, _Column):
        return x._mdarray
    if isinstance(x, MDArray) or (isinstance(x, np.ndarray) and x.dtype != object):
        return x
    values = [np.nan if is_missing(each) else each for each in x]
    return values or np.zeros(0)
