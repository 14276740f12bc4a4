"""The array of a column: an MDArray of one axis, NaN where a value is missing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

import mdqr
from mdqr._array.array import MDArray
from mdqr._functions.ordering.sets import unique_inverse
from mdqr._stability import experimental
from mdqr.pandas._column import PANDAS, _Column, is_missing, numbers
from mdqr.pandas._groups import AGGREGATES, TRANSFORMS, aggregated, transformed


@experimental
class MDExtensionArray(_Column):
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

    # -- order and equality ----------------------------------------------------------------------

    def _values_for_argsort(self) -> np.ndarray:
        return np.asarray(unique_inverse(self._mdarray).inverse_indices)

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
        if any(isinstance(x, PANDAS) for x in inputs) or "out" in options:
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
            return numbers(other)
        return np.nan if is_missing(other) else other

    def _operated(self, other: Any, function: Callable[[Any, Any], Any], swapped: bool) -> Any:
        if isinstance(other, PANDAS):
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
