"""The array: limb planes in one block, with NumPy's behaviour."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, SupportsIndex, cast

import numpy as np

from mdqr._array.exports import Exports
from mdqr._array.methods import Reductions
from mdqr._array.operators import Operators
from mdqr._limbs.planes import Block
from mdqr._errors import advised
from mdqr._limbs import planes
from mdqr._limbs.device import device_of, place
from mdqr._precision import Precision, as_precision


class MDArray(Operators, Reductions, Exports):
    """An array of multiple-double numbers, with NumPy's behaviour.

    Make one with `mdqr.array`, `mdqr.zeros`, `mdqr.from_limbs` and so on, not with this class.

    A value is an unevaluated sum of ``precision.limbs`` doubles, largest first, normalised:
    ``fl(x[i] + x[i+1]) == x[i]``. Basic slices are views, an index of integers for every axis is a
    0-d copy (``a[i, ...]`` is the view), and advanced indexing copies.

    Attributes
    ----------
    limbs : numpy.ndarray
        The storage, float64 of shape ``(N, *shape)``, complex ``(2, N, *shape)``; not a copy.
    precision : Precision
        The precision of the values.
    is_complex : bool
        Whether the values are complex.
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

    __slots__ = ("_block", "_complex", "_precision")

    _block: Block
    _complex: bool
    _precision: Precision

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "MDArray is not called; use mdqr.array(x, precision=mdqr.qd), "
            "or mdqr.from_limbs(limbs) for limbs that are already there"
        )

    @classmethod
    def _wrap(cls, block: Block, precision: Precision, is_complex: bool) -> MDArray:
        """Return an array around `block`, without checks and without a copy."""
        array = cls.__new__(cls)
        array._block = block
        array._precision = precision
        array._complex = is_complex
        return array

    def _like(self, block: Block) -> MDArray:
        return MDArray._wrap(block, self._precision, self._complex)

    # -- what it is ------------------------------------------------------------------------------

    @property
    def limbs(self) -> Block:
        """A view of the storage: float64, ``(N, *shape)``, or ``(2, N, *shape)`` if complex.

        Who writes to it answers for the values being normalised; see `mdqr.from_limbs`. Its own
        shape and type may be changed: the array keeps those it has.
        """
        return self._block.view()

    @property
    def precision(self) -> Precision:
        """The precision of the values."""
        return self._precision

    @property
    def is_complex(self) -> bool:
        """Whether the values are complex."""
        return self._complex

    @property
    def device(self) -> str:
        """Where the limbs live: "cpu" or "cuda:k"."""
        return device_of(self._block)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return planes.value_shape(self._block, self._complex)

    @property
    def ndim(self) -> int:
        """The number of axes of the values."""
        return cast(int, self._block.ndim) - (2 if self._complex else 1)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    # -- views -----------------------------------------------------------------------------------

    @property
    def T(self) -> MDArray:
        """A view with all axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> MDArray:
        """A view with the last two axes swapped.

        Raises
        ------
        ValueError
            If there are fewer than two axes.
        """
        if self.ndim < 2:
            raise ValueError(f"mT needs at least two axes; the shape is {self.shape}")
        return self._like(self._block.swapaxes(-1, -2))

    @property
    def H(self) -> MDArray:
        """The conjugate transpose of the last two axes: a view if real, a copy if complex.

        Raises
        ------
        ValueError
            If there are fewer than two axes.
        """
        if self.ndim < 2:
            raise ValueError(f"H needs at least two axes; the shape is {self.shape}")
        return self.mT.conj() if self._complex else self.mT

    @property
    def real(self) -> MDArray:
        """A view of the real parts; assigning to it changes them."""
        return MDArray._wrap(
            self._block[0] if self._complex else self._block, self._precision, False
        )

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> MDArray:
        """A view of the imaginary parts; of a real array, read-only zeros.

        Raises
        ------
        TypeError
            On assignment to that of a real array.
        """
        if self._complex:
            return MDArray._wrap(self._block[1], self._precision, False)
        xp = planes.namespace(self._block)
        zeros = xp.broadcast_to(xp.zeros(()), self._block.shape)
        return MDArray._wrap(zeros, self._precision, False)

    @imag.setter
    def imag(self, value: Any) -> None:
        if not self._complex:
            raise TypeError(
                "a real array has no imaginary part to set; use a.astype(dtype=complex) first"
            )
        self.imag[...] = value

    def reshape(
        self, *shape: SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex]
    ) -> MDArray:
        """Return the values in another shape, in C order: a view where NumPy's planes allow one.

        Raises
        ------
        ValueError
            If the number of values differs, more than one entry is -1, or there are too many.
        """
        wanted = _sequence(shape)
        planes.check_axes(len(wanted), self._complex)
        # NumPy resolves -1 and words the error; the limb axes must not take part in it.
        resolved = np.broadcast_to(np.empty(()), self.shape).reshape(wanted).shape
        front = self._block.shape[: planes.lead(self._complex)]
        return self._like(self._block.reshape(front + resolved))

    def ravel(self) -> MDArray:
        """Return the values as one axis, in C order: a view where the planes allow one."""
        return self.reshape(self.size)

    def transpose(self, *axes: SupportsIndex | tuple[SupportsIndex, ...] | None) -> MDArray:
        """Return a view with permuted axes, all reversed by default.

        Raises
        ------
        ValueError
            If `axes` is not a permutation of the axes.
        """
        front = planes.lead(self._complex)
        if axes in ((), (None,)):
            order = tuple(range(self.ndim))[::-1]
        else:
            order = tuple(int(axis) for axis in _sequence(axes))
            if sorted(axis % self.ndim if self.ndim else axis for axis in order) != list(
                range(self.ndim)
            ) or any(not -self.ndim <= axis < self.ndim for axis in order):
                raise ValueError(
                    f"axes must be a permutation of the {self.ndim} axes of shape {self.shape}; "
                    f"got {order}"
                )
        behind = (front + axis % self.ndim for axis in order)
        return self._like(self._block.transpose(*range(front), *behind))

    # -- copies and conversions ------------------------------------------------------------------

    @advised
    def copy(self) -> MDArray:
        """Return a copy, contiguous in C order."""
        return self._like(self._block.copy(order="C"))

    def conj(self) -> MDArray:
        """Return the complex conjugates, as a new array."""
        return elementwise.conj(self)

    def astype(
        self, precision: Precision | str | None = None, dtype: type | None = None
    ) -> MDArray:
        """Return a copy in another precision or field.

        Parameters
        ----------
        precision : Precision or str, optional
            The precision wanted; this one's by default. A lower one rounds correctly: limb by limb
            to the nearest double.
        dtype : {None, float, complex}, optional
            The field wanted; this one's by default.

        Returns
        -------
        MDArray
            A new array.

        Raises
        ------
        TypeError
            If complex values should become real; take `real` or `imag` instead.

        Examples
        --------
        >>> import mdqr
        >>> a = mdqr.array([1, 2], precision=mdqr.qd)
        >>> a.astype(mdqr.dd).precision
        mdqr.dd
        """
        wanted = self._precision if precision is None else as_precision(precision)
        return creation.array(self, precision=wanted, dtype=dtype)

    def to_device(self, device: str) -> MDArray:
        """Return the array on `device`: itself if it lives there already, else a copy.

        Parameters
        ----------
        device : str
            "cpu", "cuda" (the current CUDA device) or "cuda:k".

        Raises
        ------
        ImportError
            If the device needs CuPy and CuPy cannot be imported.
        TypeError, ValueError
            If `device` does not name a device of this machine.
        """
        block = place(self._block, device)
        return self if block is self._block else self._like(block)

    def item(self, *index: Any) -> MDArray:
        """Return the only value, or the one at `index`, as a 0-d copy.

        Parameters
        ----------
        *index : int or tuple of int
            One flat index, or one integer for each axis.

        Raises
        ------
        ValueError
            If there is no index and not exactly one value, or the number of integers is wrong.
        IndexError
            If the index is out of bounds.
        """
        if index:
            position = tuple(map(operator.index, _sequence(index)))
            if len(position) == 1:
                return self.ravel()[position[0]]
            if len(position) != self.ndim:
                raise ValueError(
                    f"item() wants one flat index or {self.ndim} integers; got {position}"
                )
            return self[position]
        if self.size != 1:
            raise ValueError(
                f"item() without an index needs exactly one value; the shape is {self.shape}"
            )
        return self.reshape(()).copy()

    def tolist(self) -> Any:
        """Return nested lists of 0-d arrays; a 0-d array gives itself, copied."""
        return [part.tolist() for part in self] if self.ndim else self.copy()

    # -- a container -----------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> MDArray:
        return self._like(indexing.get(self._block, self._complex, key))

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


def _sequence(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``(2, 3)`` for the arguments ``2, 3`` and ``(2, 3),`` alike."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return tuple(arguments[0])
    return arguments


# At the end, since these modules import MDArray.
from mdqr._core import indexing, promotion
from mdqr._functions import creation, elementwise
