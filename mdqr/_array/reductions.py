"""The reductions of `MDArray` as methods; the functions are in `mdqr._functions.reductions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._errors import advised
from mdqr._functions import reductions

if TYPE_CHECKING:
    import numpy as np

    from mdqr._array.array import MDArray
    from mdqr._typing import Mask, Places

Axis = int | tuple[int, ...] | None


class Reductions:
    """Reductions over all axes, one axis or several."""

    __slots__ = ()

    @advised
    def sum(
        self,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> MDArray:
        """Return the sum of the values; see `mdqr.sum`."""
        return reductions.reduced("sum", self, axis, keepdims, initial, where)

    @advised
    def prod(
        self,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> MDArray:
        """Return the product of the values; see `mdqr.prod`."""
        return reductions.reduced("prod", self, axis, keepdims, initial, where)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
        """Return the arithmetic mean: the sum divided by the number of values."""
        return reductions.mean(self, axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
        """Return the largest value; NaN if one occurs."""
        return reductions.extreme("max", self, axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
        """Return the smallest value; NaN if one occurs."""
        return reductions.extreme("min", self, axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> np.int64 | Places:
        """Return the position of the first largest value, as NumPy's integers."""
        return reductions.arg_extreme("argmax", self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> np.int64 | Places:
        """Return the position of the first smallest value, as NumPy's integers."""
        return reductions.arg_extreme("argmin", self, axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Mask:
        """Return whether any value is not zero, as NumPy's bool."""
        return reductions.truth("any", self, axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Mask:
        """Return whether no value is zero, as NumPy's bool."""
        return reductions.truth("all", self, axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> MDArray:
        """Return the running sums along `axis`, of the flattened array by default."""
        return reductions.cumsum(self, axis)
