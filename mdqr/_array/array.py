"""The array: limb planes in one block, with NumPy's behaviour."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from mdqr._array.exports import Exports
from mdqr._array.methods import Methods
from mdqr._array.operators import Operators
from mdqr._array.reductions import Reductions
from mdqr._array.refusals import absent_attributes, complex_only, is_numpys
from mdqr._backend.host import values
from mdqr._core import indexing, promotion
from mdqr._core.base import ArrayBase, as_sequence
from mdqr._core.dtypes import DType
from mdqr._functions import creation, elementwise
from mdqr._limbs import planes
from mdqr._precision import Precision
from mdqr._typing import PrecisionLike


class MDArray(ArrayBase, Operators, Reductions, Methods, Exports):
    """An array of multiple-double numbers, with NumPy's behaviour.

    Make one with `mdqr.array`, `mdqr.zeros`, `mdqr.from_limbs` and so on, not with this class.

    A value is an unevaluated sum of ``precision.limbs`` doubles, largest first, normalised:
    ``fl(x[i] + x[i+1]) == x[i]``. Basic slices are views, an index of integers for every axis is a
    0-d copy (``a[i, ...]`` is the view), and advanced indexing copies. ``a op= b`` writes into `a`;
    of a 0-d array that is not a view of a larger one, a number, it makes a new array.

    Attributes
    ----------
    limbs : numpy.ndarray
        The storage, float64 of shape ``(N, *shape)``, complex ``(2, N, *shape)``; not a copy.
    precision : Precision
        The precision of the values.
    is_complex : bool
        Whether the values are complex.
    dtype : mdqr.array_api.DType
        Both as one object.
    shape : tuple of int
        The shape of the values; also `ndim` and `size`.
    device : str
        "cpu" or "cuda:k".
    T, mT, H : MDArray
        All axes reversed; the last two axes swapped; the latter conjugated.
    real, imag : MDArray
        Views of the parts.

    Raises
    ------
    TypeError
        By the constructor.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.zeros((2, 3), precision=mdqr.dd)
    >>> a.shape, a.T.shape, a.limbs.shape
    ((2, 3), (3, 2), (2, 2, 3))
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        raise TypeError(
            "MDArray has no subclasses: no operation would return one; keep an array as an "
            "attribute of the class instead"
        )

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "MDArray cannot be constructed directly; use mdqr.array(x, precision=mdqr.qd), "
            "or mdqr.from_limbs(limbs) for limbs that are already there"
        )

    @property
    def H(self) -> MDArray:
        """The conjugate transpose of the last two axes: a view if real, a copy if complex.

        Raises
        ------
        ValueError
            If the array has fewer than two axes.
        """
        if self.ndim < 2:
            raise ValueError(f"H needs at least two axes; the shape is {self.shape}")
        return self.mT.conj() if self._complex else self.mT

    # -- copies and conversions ------------------------------------------------------------------

    def conj(self) -> MDArray:
        """Return the complex conjugates, as a new array."""
        return elementwise.conj(self)

    def astype(self, precision: PrecisionLike | DType | None = None, dtype: Any = None) -> MDArray:
        """Return a copy in another precision or field.

        Parameters
        ----------
        precision : Precision, str, DType or complex, optional
            The new precision; this one's by default. A lower one rounds correctly: limb by limb
            to the nearest double. The dtype of another array is its precision and field; `complex`
            is the field alone.
        dtype : {None, float, complex}, optional
            The new field; this one's by default.

        Returns
        -------
        MDArray
            A new array.

        Raises
        ------
        TypeError
            If complex values should become real; take `real` or `imag` instead. If a type of
            NumPy's is asked for, which would round all values: `to_numpy` returns those.

        Examples
        --------
        >>> import mdqr
        >>> a = mdqr.array([1, 2], precision=mdqr.qd)
        >>> a.astype(mdqr.dd).precision
        mdqr.dd
        """
        if isinstance(precision, DType):
            precision, dtype = None, precision
        elif dtype is None and is_numpys(precision):
            precision, dtype = None, complex_only(precision)
        if precision is None and not isinstance(dtype, DType):
            precision = self._precision
        return creation.array(self, precision=precision, dtype=dtype)

    def item(self, *index: Any) -> MDArray:
        """Return the only value, or the one at `index`, as a 0-d `MDArray`, a copy.

        Parameters
        ----------
        *index : int or tuple of int
            One flat index, or one integer for each axis.

        Raises
        ------
        ValueError
            If no index is given and the array does not have exactly one value, or the number of
            integers is wrong.
        IndexError
            If the index is out of bounds.
        """
        if index:
            position = tuple(map(operator.index, as_sequence(index)))
            if len(position) == 1:
                return self.ravel()[position[0]]
            if len(position) != self.ndim:
                raise ValueError(
                    f"item() needs one flat index or {self.ndim} integers; got {position}"
                )
            return self[position]
        if self.size != 1:
            raise ValueError(
                f"item() without an index needs exactly one value; the shape is {self.shape}"
            )
        return self.reshape(()).copy()

    def tolist(self) -> MDArray | list[Any]:
        """Return nested lists of 0-d arrays; a 0-d array gives itself, copied."""
        return [part.tolist() for part in self] if self.ndim else self.copy()

    # -- a container -----------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> MDArray:
        return self._part(indexing.get(self._block, self._complex, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        pairs = [
            promotion.to_block(value, self._precision.limbs),
            (self._block, self._complex),
        ]
        block, value_complex = promotion.together(pairs, (value, self))[0]
        if value_complex and not self._complex:
            raise TypeError(
                "complex values cannot be assigned to a real array; "
                "assign their real part, or make the array complex with a.astype(dtype=complex)"
            )
        if self._complex and not value_complex:
            block = planes.complexify(block)
        indexing.put(self._block, self._complex, key, block)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if hasattr(type(self), name)]

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[MDArray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))


MDArray.__module__ = "mdqr"
for _name, _absent in absent_attributes().items():
    setattr(MDArray, _name, _absent)
Precision._array = creation.array
values.register(MDArray)
