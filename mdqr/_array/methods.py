"""The methods that `numpy.ndarray` has, each one call of the function of that name."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._core.axes import Axis
from mdqr._core.promotion import promote
from mdqr._functions import elementwise, reductions, rounding
from mdqr._functions.manipulation import axes, joining, selection, shapes
from mdqr._functions.ordering import sorting
from mdqr._functions.statistics import moments, running
from mdqr._limbs.device import is_cuda_array

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Order, Places, Side


class Methods:
    """Rearranging, choosing, ordering and rounding; see the functions."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def limbs(self) -> Any: ...

        def ravel(self, order: Order = "C") -> MDArray: ...

    @property
    def nbytes(self) -> int:
        """The number of bytes of the limbs."""
        return int(self.limbs.nbytes)

    @property
    def itemsize(self) -> int:
        """The number of bytes of the limbs of one value."""
        array = cast("MDArray", self)
        return 8 * array.precision.limbs * (1 + array.is_complex)

    def flatten(self, order: Order = "C") -> MDArray:
        """Return a copy as one axis; see `mdqr.ravel`."""
        return self.ravel(order).copy()

    @property
    def flat(self) -> FlatView:
        """The values as one axis in C order, to iterate, index and assign."""
        return FlatView(cast("MDArray", self))

    @flat.setter
    def flat(self, values: Any) -> None:
        self.flat[:] = values

    def put(self, indices: Any, values: Any) -> None:
        """Set values at places of the flattened array, repeating `values` if they are fewer."""
        self.flat[indices] = values

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

    def nonzero(self) -> tuple[Places, ...]:
        """Return the places of the values that are not zero; see `mdqr.nonzero`."""
        return selection.nonzero(self)

    def fill(self, value: Any) -> None:
        """Set all values to one."""
        cast("MDArray", self)[...] = value

    def sort(self, axis: int = -1, *, descending: bool = False) -> None:
        """Put the values along an axis in order, in place; see `mdqr.sort`."""
        found = sorting.sort(self, operator.index(axis), descending=descending)
        cast("MDArray", self)[...] = found

    def argsort(self, axis: int | None = -1, *, descending: bool = False) -> Places:
        """Return the places that sort the array; see `mdqr.argsort`."""
        return sorting.argsort(self, axis, descending=descending)

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Put the `kth` value along an axis in its place, in place: all values are sorted."""
        sorting.check_places(kth, cast("MDArray", self), axis)
        self.sort(axis)

    def argpartition(self, kth: Any, axis: int | None = -1) -> Places:
        """Return places with the `kth` value in its place, by `argsort`."""
        sorting.check_places(kth, cast("MDArray", self), axis)
        return self.argsort(axis)

    def searchsorted(self, v: Any, side: Side = "left", sorter: Any = None) -> Places:
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

    def var(
        self,
        axis: Axis = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        mean: Any = None,
        correction: float | None = None,
    ) -> MDArray:
        """Return the variance; see `mdqr.var`."""
        options = {"ddof": ddof, "keepdims": keepdims, "mean": mean, "correction": correction}
        return moments.var(self, axis, **options)

    def std(
        self,
        axis: Axis = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        mean: Any = None,
        correction: float | None = None,
    ) -> MDArray:
        """Return the standard deviation; see `mdqr.std`."""
        options = {"ddof": ddof, "keepdims": keepdims, "mean": mean, "correction": correction}
        return moments.std(self, axis, **options)

    def cumprod(self, axis: int | None = None) -> MDArray:
        """Return the running products; see `mdqr.cumprod`."""
        return running.cumprod(self, axis)


class FlatView:
    """The values of an array as one axis in C order, as `numpy.ndarray.flat`."""

    __slots__ = ("_array",)

    def __init__(self, array: MDArray) -> None:
        self._array = array

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[MDArray]:
        return iter(self._array.ravel())

    def __getitem__(self, key: Any) -> MDArray:
        return self._array.ravel()[key].copy()

    def __setitem__(self, key: Any, values: Any) -> None:
        array = self._array
        places = np.arange(array.size)[key.get() if is_cuda_array(key) else key]
        given = promote(values, array, precision=array.precision)
        flat = given.wrap(given.full_blocks()[0]).ravel()
        if not places.size or (places.ndim and not flat.size):
            return
        if not flat.size:
            raise ValueError("there are no values to put into an array")
        repeated = flat[np.arange(places.size) % flat.size]
        array[np.unravel_index(places.reshape(-1), array.shape)] = repeated
