"""The methods that `numpy.ndarray` has, each one call of the function of that name."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

from mdqr._core.axes import Axis
from mdqr._functions import elementwise, reductions, rounding
from mdqr._functions.manipulation import axes, joining, selection, shapes
from mdqr._functions.ordering import sorting
from mdqr._functions.statistics import moments, running

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


class Methods:
    """Rearranging, choosing, ordering and rounding; see the functions."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def limbs(self) -> Any: ...

        def ravel(self) -> MDArray: ...

    @property
    def nbytes(self) -> int:
        """The number of bytes of the limbs."""
        return int(self.limbs.nbytes)

    @property
    def itemsize(self) -> int:
        """The number of bytes of the limbs of one value."""
        array = cast("MDArray", self)
        return 8 * array.precision.limbs * (1 + array.is_complex)

    def flatten(self) -> MDArray:
        """Return a copy as one axis, in C order."""
        return self.ravel().copy()

    def squeeze(self, axis: Any = None) -> MDArray:
        """Return a view without axes of length 1; see `mdqr.squeeze`."""
        return shapes.squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> MDArray:
        """Return a view with two axes swapped; see `mdqr.swapaxes`."""
        return axes.swapaxes(self, axis1, axis2)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
        """Return a view of diagonals; see `mdqr.diagonal`."""
        return axes.diagonal(self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
        """Return the sum along a diagonal; see `mdqr.trace`."""
        return reductions.trace(self, offset, axis1, axis2)

    def take(self, indices: Any, axis: int | None = None) -> MDArray:
        """Return the values at places along one axis; see `mdqr.take`."""
        return selection.take(self, indices, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> MDArray:
        """Return every value several times; see `mdqr.repeat`."""
        return joining.repeat(self, repeats, axis)

    def nonzero(self) -> tuple[Any, ...]:
        """Return the places of the values that are not zero; see `mdqr.nonzero`."""
        return selection.nonzero(self)

    def fill(self, value: Any) -> None:
        """Set all values to one."""
        cast("MDArray", self)[...] = value

    def sort(self, axis: int = -1) -> None:
        """Put the values along an axis in order, in place; see `mdqr.sort`."""
        cast("MDArray", self)[...] = sorting.sort(self, operator.index(axis))

    def argsort(self, axis: int | None = -1) -> Any:
        """Return the places that sort the array; see `mdqr.argsort`."""
        return sorting.argsort(self, axis)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Return the places where values belong in this sorted vector; see `mdqr.searchsorted`."""
        return sorting.searchsorted(self, v, side, sorter)

    def clip(self, min: Any = None, max: Any = None) -> MDArray:
        """Return values, and the bounds where they lie beyond; see `mdqr.clip`."""
        return rounding.clip(self, min, max)

    def round(self, decimals: int = 0) -> MDArray:
        """Return the nearest multiples of a power of ten; see `mdqr.round`."""
        return rounding.round(self, decimals)

    def conjugate(self) -> MDArray:
        """Return the complex conjugates, as a new array."""
        return elementwise.conj(self)

    def dot(self, b: Any) -> MDArray:
        """Return the dot product; see `mdqr.dot`."""
        return reductions.dot(self, b)

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> MDArray:
        """Return the variance; see `mdqr.var`."""
        return moments.var(self, axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> MDArray:
        """Return the standard deviation; see `mdqr.std`."""
        return moments.std(self, axis, ddof=ddof, keepdims=keepdims)

    def cumprod(self, axis: int | None = None) -> MDArray:
        """Return the running products; see `mdqr.cumprod`."""
        return running.cumprod(self, axis)
