"""The storage of an array, and views of it: what every function knows of `MDArray`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, cast

import numpy as np

from mdqr._core.dtypes import DType, dtype_of
from mdqr._errors import advised, shown
from mdqr._limbs import planes
from mdqr._limbs.device import device_of, place
from mdqr._limbs.planes import Block
from mdqr._precision import Precision

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Floats, Order


class ArrayBase:
    """Limb planes in one block, with a precision and a field.

    The class directly above it, `MDArray`, is the type of all arrays. Functions know this one
    only, so that the methods above can call them.
    """

    __slots__ = ("__weakref__", "_block", "_complex", "_precision", "_writes")

    _block: Block
    _complex: bool
    _precision: Precision
    _writes: bool  # of one value, and set only where `op=` changes another array
    _array: ClassVar[type[MDArray]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if ArrayBase in cls.__bases__:
            ArrayBase._array = cast("type[MDArray]", cls)

    @staticmethod
    def _wrap(block: Block, precision: Precision, is_complex: bool) -> MDArray:
        """Return an array around `block`, without checks and without a copy."""
        array = object.__new__(ArrayBase._array)
        array._block = block
        array._precision = precision
        array._complex = is_complex
        return array

    def _like(self, block: Block) -> MDArray:
        return self._wrap(block, self._precision, self._complex)

    def _part(self, block: Block, is_complex: bool | None = None) -> MDArray:
        """Return an array around `block`, which may be a view of this one's.

        A view of one value of an array is written to by `op=`; other arrays of one value are
        numbers, and `op=` makes a new one.
        """
        field = self._complex if is_complex is None else is_complex
        array = object.__new__(ArrayBase._array)  # as `_wrap`; a call less for each slice
        array._block = block
        array._precision = self._precision
        array._complex = field
        if block.ndim == 1 + field and block.base is not None and self._is_changed:
            array._writes = True
        return array

    @property
    def _is_changed(self) -> bool:
        """True if `op=` writes into the block, so that other arrays may see it."""
        block = self._block
        if block.ndim > planes.lead(self._complex):
            return True
        if block.base is None:
            return False
        try:
            return self._writes
        except AttributeError:
            return False

    # -- what it is ------------------------------------------------------------------------------

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + int(self._block.nbytes)

    @property
    def limbs(self) -> Floats:
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
    def dtype(self) -> DType:
        """The precision and the field as one object, as the array API has it."""
        return dtype_of(self._precision, self._complex)

    @property
    def is_complex(self) -> bool:
        """True if the values are complex."""
        return self._complex

    @property
    def device(self) -> str:
        """The device of the limbs: "cpu" or "cuda:k"."""
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
        return prod(self.shape)

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
            If the array has fewer than two axes.
        """
        if self.ndim < 2:
            raise ValueError(f"mT needs at least two axes; the shape is {self.shape}")
        return self._like(self._block.swapaxes(-1, -2))

    @property
    def real(self) -> MDArray:
        """A view of the real parts; assigning to it changes them."""
        return self._part(self._block[0] if self._complex else self._block, False)

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
            return self._part(self._block[1], False)
        xp = planes.namespace(self._block)
        zeros = xp.broadcast_to(xp.zeros(()), self._block.shape)
        return self._wrap(zeros, self._precision, False)

    @imag.setter
    def imag(self, value: Any) -> None:
        if not self._complex:
            raise TypeError(
                "a real array has no imaginary part to set; use a.astype(dtype=complex) first"
            )
        self.imag[...] = value

    def reshape(
        self,
        *shape: SupportsIndex | Sequence[SupportsIndex],
        order: Order = "C",
        copy: bool | None = None,
    ) -> MDArray:
        """Return the values in another shape: a view where NumPy's planes allow one.

        Parameters
        ----------
        *shape : int or tuple of int
            The shape; one entry may be -1.
        order : {"C", "F", "A"}, optional
            The last axis first, or the first ("F").
        copy : bool, optional
            True: always a copy; False: never one.

        Raises
        ------
        ValueError
            If the number of values differs, more than one entry is -1, they are too many, the
            order is unknown, or a copy is needed and `copy` is False.
        """
        if order != "C" and _is_reversed(order):
            return self.T.reshape(as_sequence(shape)[::-1], copy=copy).T
        if copy is not None:
            found = self.reshape(*shape)
            shared = planes.namespace(self._block).may_share_memory(found._block, self._block)
            if not copy and not shared and self.size:
                raise ValueError(
                    f"the shape {found.shape} needs a copy of an array of shape {self.shape}"
                )
            return found.copy() if copy and shared else found
        return self._part(self._reshaped_block(as_sequence(shape)))

    def _reshaped(self, shape: Sequence[SupportsIndex]) -> MDArray:
        """Return a new result, which nobody else has, in another shape; see `_part`."""
        return self._like(self._reshaped_block(shape))

    def _reshaped_block(self, shape: Sequence[SupportsIndex]) -> Block:
        planes.check_axes(len(shape), self._complex)
        front = self._block.shape[: planes.lead(self._complex)]
        try:
            return self._block.reshape((*front, *shape))
        except (TypeError, ValueError):
            # NumPy words the error; the limb axes must not take part in it.
            resolved = np.broadcast_to(np.empty(()), self.shape).reshape(shape).shape
            return self._block.reshape(front + resolved)

    def ravel(self, order: Order = "C") -> MDArray:
        """Return the values as one axis: a view where the planes allow one; see `mdqr.ravel`."""
        return (self.T if order != "C" and _is_reversed(order) else self).reshape(self.size)

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
            order = tuple(int(axis) for axis in as_sequence(axes))
            if sorted(axis % self.ndim if self.ndim else axis for axis in order) != list(
                range(self.ndim)
            ) or any(not -self.ndim <= axis < self.ndim for axis in order):
                raise ValueError(
                    f"axes must be a permutation of the {self.ndim} axes of shape {self.shape}; "
                    f"got {order}"
                )
        behind = (front + axis % self.ndim for axis in order)
        return self._part(self._block.transpose(*range(front), *behind))

    # -- copies ----------------------------------------------------------------------------------

    @advised
    def copy(self, order: Order = "C") -> MDArray:
        """Return a copy, contiguous in C order, whatever `order` of NumPy's is given."""
        _is_reversed(order)
        return self._like(self._block.copy(order="C"))

    def to_device(self, device: str, /, *, stream: None = None) -> MDArray:
        """Return the array on `device`: itself if it lives there already, else a copy.

        Parameters
        ----------
        device : str
            "cpu", "cuda" (the current CUDA device) or "cuda:k".
        stream : None
            What the array API has; copies are on the current streams.

        Raises
        ------
        ImportError
            If the device needs CuPy and CuPy cannot be imported.
        TypeError, ValueError
            If `device` does not name a device of this machine.
        """
        if stream is not None:
            raise ValueError("to_device takes no stream; make it the current one of CuPy")
        block = place(self._block, device)
        return cast("MDArray", self) if block is self._block else self._like(block)


def _is_reversed(order: str) -> bool:
    """True for the order "F"; raise ValueError for an order that NumPy lacks."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f'order must be "C", "F", "A" or "K"; got {shown(order)}')
    return order == "F"


def as_sequence(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``(2, 3)`` for the arguments ``2, 3`` and ``(2, 3),`` alike."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return tuple(arguments[0])
    return arguments
