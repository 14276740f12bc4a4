"""The operators of `MDArray`: arithmetic, comparison, and conversion of single values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._array import protocols
from mdqr._array.refusals import check_for_pandas
from mdqr._array.tables import matmul
from mdqr._backend.host import values
from mdqr._convert.array_like import is_column
from mdqr._core.promotion import arithmetic, is_operand
from mdqr._functions import comparison, elementwise, power, rounding
from mdqr._io.format_spec import format_scalar
from mdqr._limbs import planes
from mdqr._limbs.exact import sum_of_units

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Mask

Function = Callable[[Any, Any], Any]

# Scalars of NumPy, which are 0-d arrays to checkers.
_TRUTH: Any = (np.False_, np.True_)  # of one value, as NumPy's comparisons give it
_BEYOND = 1 + 2.0**-20  # times a limb: more than it and all below
_SURELY_NORMAL = 1e-250  # so are the limbs that a rounding looks at


class Operators:
    """Operators over the functions of `elementwise`, `power` and `comparison`."""

    __slots__ = ()

    # SymPy's hook: its operators try float(x) on the other operand unless this is above 10.
    _op_priority = 100.0

    def __add__(self, other: Any) -> MDArray:
        found = values.operate("add", self, other)
        return self._forward(elementwise.add, other) if found is None else found

    def __radd__(self, other: Any) -> MDArray:
        found = values.operate("add", other, self)
        return self._reflected(elementwise.add, other) if found is None else found

    def __sub__(self, other: Any) -> MDArray:
        found = values.operate("subtract", self, other)
        return self._forward(elementwise.subtract, other) if found is None else found

    def __rsub__(self, other: Any) -> MDArray:
        found = values.operate("subtract", other, self)
        return self._reflected(elementwise.subtract, other) if found is None else found

    def __mul__(self, other: Any) -> MDArray:
        found = values.operate("multiply", self, other)
        return self._forward(elementwise.multiply, other) if found is None else found

    def __rmul__(self, other: Any) -> MDArray:
        found = values.operate("multiply", other, self)
        return self._reflected(elementwise.multiply, other) if found is None else found

    def __truediv__(self, other: Any) -> MDArray:
        found = values.operate("divide", self, other)
        return self._forward(elementwise.divide, other) if found is None else found

    def __rtruediv__(self, other: Any) -> MDArray:
        found = values.operate("divide", other, self)
        return self._reflected(elementwise.divide, other) if found is None else found

    def __matmul__(self, other: Any) -> MDArray:
        return self._forward(matmul, other)

    def __rmatmul__(self, other: Any) -> MDArray:
        return self._reflected(matmul, other)

    def __floordiv__(self, other: Any) -> MDArray:
        return self._forward(rounding.floor_divide, other)

    def __rfloordiv__(self, other: Any) -> MDArray:
        return self._reflected(rounding.floor_divide, other)

    def __mod__(self, other: Any) -> MDArray:
        return self._forward(rounding.remainder, other)

    def __rmod__(self, other: Any) -> MDArray:
        return self._reflected(rounding.remainder, other)

    def __divmod__(self, other: Any) -> tuple[MDArray, MDArray]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[MDArray, MDArray]:
        return other // self, other % self

    def __pow__(self, exponent: Any) -> MDArray:
        if exponent.__class__ is int and exponent == 2:  # a square in a loop
            found = values.apply("square", self)
            if found is not None:
                return cast("MDArray", found)
        return self._forward(power.power, exponent)

    def __rpow__(self, base: Any) -> MDArray:
        return self._reflected(power.power, base)

    def __iadd__(self, other: Any) -> MDArray:
        return self._in_place("add", other)

    def __isub__(self, other: Any) -> MDArray:
        return self._in_place("subtract", other)

    def __imul__(self, other: Any) -> MDArray:
        return self._in_place("multiply", other)

    def __itruediv__(self, other: Any) -> MDArray:
        return self._in_place("divide", other)

    def __ifloordiv__(self, other: Any) -> MDArray:
        return self._stored(rounding.floor_divide, other)

    def __imod__(self, other: Any) -> MDArray:
        return self._stored(rounding.remainder, other)

    def __ipow__(self, exponent: Any) -> MDArray:
        return self._stored(power.power, exponent)

    def __imatmul__(self, other: Any) -> MDArray:
        return self._stored(matmul, other)

    def __neg__(self) -> MDArray:
        return elementwise.negative(self)

    def __pos__(self) -> MDArray:
        return cast("MDArray", self).copy()

    def __abs__(self) -> MDArray:
        return elementwise.abs(self)

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        order = values.order(self, other)
        if order is None:
            return self._forward(comparison.equal, other)
        return _TRUTH[order == 0]

    def __ne__(self, other: object) -> Mask:  # type: ignore[override]
        order = values.order(self, other)
        if order is None:
            return self._forward(comparison.not_equal, other)
        return _TRUTH[order != 0]

    def __lt__(self, other: Any) -> Mask:
        order = values.order(self, other)
        if order is None:
            return self._forward(comparison.less, other)
        return _TRUTH[order == -1]

    def __le__(self, other: Any) -> Mask:
        order = values.order(self, other)
        if order is None:
            return self._forward(comparison.less_equal, other)
        return _TRUTH[order <= 0]

    def __gt__(self, other: Any) -> Mask:
        order = values.order(self, other)
        if order is None:
            return self._forward(comparison.greater, other)
        return _TRUTH[order == 1]

    def __ge__(self, other: Any) -> Mask:
        order = values.order(self, other)
        if order is None:
            return self._forward(comparison.greater_equal, other)
        return _TRUTH[0 <= order <= 1]

    __hash__ = None  # type: ignore[assignment]
    __pandas_priority__ = 10_000  # above that of data frames: their operators leave it to ours
    __array_priority__ = 1000  # CuPy asks for it before it answers `ndarray op MDArray` itself

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return protocols.array_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> Any:
        return protocols.array_function(function, types, arguments, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return protocols.array_namespace(cast("MDArray", self).precision, api_version)

    # -- a single value --------------------------------------------------------------------------

    def __bool__(self) -> bool:
        block = cast("MDArray", self)._block
        if block.ndim == 1 and isinstance(block, np.ndarray) and abs(block[0]) > _SURELY_NORMAL:
            return True
        array = self._single("a truth value", "a.any() or a.all()")
        return bool(planes.nonzero(array.limbs, array.is_complex))

    def __float__(self) -> float:
        if sys._getframe(1).f_globals.get("__name__", "")[:7] == "pandas.":
            check_for_pandas(cast("MDArray", self).precision, sys._getframe(1))
        block = cast("MDArray", self)._block
        if block.ndim == 1 and isinstance(block, np.ndarray):  # one real value
            first, *rest = block.tolist()
            # Nearest, unless the second limb is half a unit and the third decides. Both signs: no
            # other rounding mode keeps both sums.
            tail = _BEYOND * rest[0] if rest else 0.0
            if abs(first) > _SURELY_NORMAL and first + tail == first == first - tail:
                return float(first)
        return float(self._single_real("float").to_numpy().item())

    def __complex__(self) -> complex:
        if sys._getframe(1).f_globals.get("__name__", "")[:7] == "pandas.":
            check_for_pandas(cast("MDArray", self).precision, sys._getframe(1))
        return complex(self._single("complex", "a.to_numpy()").to_numpy().item())

    def __int__(self) -> int:
        return int(self._exact("int"))

    def as_integer_ratio(self) -> tuple[int, int]:
        """Return the exact value of one real value as a pair of integers, as `float` does.

        Raises
        ------
        TypeError
            If there is not one real value.
        OverflowError, ValueError
            If it is infinite or NaN.
        """
        return self._exact("pair of integers").as_integer_ratio()

    def __trunc__(self) -> int:
        return int(self._exact("int"))

    def __floor__(self) -> int:
        return self._exact("int").__floor__()

    def __ceil__(self) -> int:
        return self._exact("int").__ceil__()

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is None:
            return round(self._exact("int"))
        return rounding.round(self, ndigits)

    def __format__(self, spec: str) -> str:
        array = cast("MDArray", self)
        if not spec:
            return str(array)
        return format_scalar(self._single(f"format {spec!r}", "a.to_strings()"), spec)

    def _single(self, purpose: str, way_out: str) -> MDArray:
        array = cast("MDArray", self)
        if array.size != 1:
            kind = ValueError if purpose == "a truth value" else TypeError
            raise kind(
                f"only an array of one value gives {purpose}; the shape is {array.shape}: "
                f"use {way_out}"
            )
        return array.reshape(())

    def _single_real(self, purpose: str) -> MDArray:
        array = self._single(purpose, "a.to_numpy()")
        if array.is_complex:
            raise TypeError(f"a complex value gives no {purpose}; take a.real or a.imag")
        return array

    def _exact(self, purpose: str) -> Fraction:
        array = self._single_real(purpose)
        leading = float(array.limbs[0])
        if np.isnan(leading):
            raise ValueError(f"NaN gives no {purpose}")
        if np.isinf(leading):
            raise OverflowError(f"infinity gives no {purpose}")
        return Fraction(sum_of_units(array.limbs.tolist()), 2**1074)

    # -- dispatch --------------------------------------------------------------------------------

    def _forward(self, function: Function, other: Any) -> Any:
        if type(other) is not type(self) and is_column(other):
            return self._of_columns(function, other)
        return function(self, arithmetic(other)) if is_operand(other) else NotImplemented

    def _reflected(self, function: Function, other: Any) -> Any:
        if type(other) is not type(self) and is_column(other):
            return self._of_columns(lambda x, y: function(y, x), other)
        return function(arithmetic(other), self) if is_operand(other) else NotImplemented

    def _of_columns(self, function: Function, other: Any) -> Any:
        """Return the column of an operation with one of `mdqr.pandas`, or the frame of several."""
        if hasattr(other, "columns"):
            return other.apply(lambda column: self._of_columns(function, column))
        return getattr(other, "array", other).answered(self, function, other)

    def _in_place(self, op: str, other: Any) -> Any:
        array, found = cast("MDArray", self), values.operate(op, self, other)
        is_changed = array._is_changed
        if found is not None and found._precision is array._precision:
            if not is_changed:
                return found
            array._block[...] = found._block
            return self
        if not is_operand(other):
            return NotImplemented
        target = array if is_changed else array.copy()
        elementwise.in_place(op, target, arithmetic(other))
        return target

    def _stored(self, function: Function, other: Any) -> Any:
        result = self._forward(function, other)
        if result is NotImplemented:
            return result
        array = cast("MDArray", self)
        target = array if array._is_changed else array.copy()
        elementwise.store(result, target)
        return target
