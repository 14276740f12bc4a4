"""Conversions of an `MDArray`: NumPy values, exact numbers, strings, pickles, copies."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._array.refusals import check_for_xarray, refused
from mdqr._convert.arrays import block_to_fractions, block_to_mpmath, block_to_strings
from mdqr._errors import package_of
from mdqr._io.files import restored
from mdqr._io.format import repr_array, str_array
from mdqr._io.html import html_array
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block
from mdqr._pickles import FORMAT, State, restore

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._precision import Precision


class Exports:
    """Conversions out of the array."""

    __slots__ = ()

    if TYPE_CHECKING:
        _block: Block
        _complex: bool
        _precision: Precision

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def device(self) -> str: ...

        def copy(self) -> MDArray: ...

    def to_numpy(self) -> np.ndarray:
        """Return the nearest float64 (complex: complex128) values.

        Returns
        -------
        numpy.ndarray
            A new array of the same shape.

        Examples
        --------
        >>> import mdqr
        >>> mdqr.array(["0.1", "0.5"], precision=mdqr.qd).to_numpy()
        array([0.1, 0.5])
        """
        if sys._getframe(1).f_globals.get("__name__", "")[:7] == "xarray.":
            check_for_xarray(self._precision, sys._getframe(1))
        block = host_block(self._block)
        if not self._complex:
            return cast(np.ndarray, planes.nearest_double(block))
        values = np.empty(self.shape, dtype=np.complex128)
        values.real, values.imag = map(planes.nearest_double, block)
        return values

    def to_mpmath(self) -> np.ndarray:
        """Return the exact values as an object array of mpmath numbers.

        Raises
        ------
        ImportError
            If mpmath is not installed.
        """
        return block_to_mpmath(host_block(self._block), self._complex)

    def to_fractions(self) -> np.ndarray:
        """Return the exact values as an object array of `fractions.Fraction`.

        Raises
        ------
        TypeError
            If the values are complex; convert `real` and `imag`.
        ValueError
            If a value is not finite.
        """
        return block_to_fractions(host_block(self._block), self._complex)

    def _sympy_(self) -> Any:
        """Return one value exactly, for `sympy.sympify`, which asks for it.

        Raises
        ------
        TypeError
            If there is not exactly one value.
        """
        from sympy import I, Rational, nan, oo

        array = cast("MDArray", self)
        if array.size != 1:
            raise TypeError(f"only one value becomes a number of SymPy; the shape is {array.shape}")

        def exact(part: MDArray) -> Any:
            near = float(part)
            if np.isfinite(near):
                return Rational(*part.as_integer_ratio())
            return nan if np.isnan(near) else oo if near > 0 else -oo

        real = exact(array.real)
        return real + I * exact(array.imag) if array.is_complex else real

    def to_strings(self, digits: int | None = None) -> np.ndarray:
        """Return decimal strings as an object array.

        Parameters
        ----------
        digits : int, optional
            Significant digits; by default the fewest that read back to the same limbs.

        Examples
        --------
        >>> import mdqr
        >>> str(mdqr.array("0.1", precision=mdqr.od).to_strings())
        '0.1'
        """
        block = host_block(self._block)
        return block_to_strings(block, self._precision, self._complex, digits)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the float64 or complex128 values of precision d, a view if real, for NumPy.

        Matplotlib, which draws no more digits than these, gets them for every precision, and
        `object` gets 0-d arrays.

        Raises
        ------
        TypeError
            If the precision is higher, as every value would be rounded, or the array is on a GPU.
        ValueError
            If `copy` is False and a copy is needed.
        """
        if dtype is not None and np.dtype(dtype) == object and copy is not False:
            return self._objects()
        if self._precision.limbs > 1 and not _is_harmless():
            raise TypeError(refused(self._precision))
        if not isinstance(self._block, np.ndarray):
            raise TypeError(
                f"an MDArray on {self.device} is not moved to the CPU implicitly; use a.to_numpy()"
            )
        if self._complex and copy is False:
            raise ValueError(
                "the parts of complex values lie apart, so that NumPy needs a copy of them"
            )
        is_new = self._complex or self._precision.limbs > 1
        if is_new and copy is False:
            raise ValueError("the values are rounded, so that NumPy needs a copy of them")
        values = self.to_numpy() if is_new else self._block[0, ...]
        return np.array(values, dtype=dtype, copy=None if is_new else copy)

    def _objects(self) -> np.ndarray:
        """Return an array of objects, which are 0-d arrays: nothing is rounded."""
        array = cast("MDArray", self)
        found = np.empty(array.shape, dtype=object)
        for place in np.ndindex(array.shape):
            found[place] = array[place] if place else array
        return found

    def __dlpack__(self, **options: Any) -> Any:
        """Return a DLPack capsule of real values of precision d.

        Raises
        ------
        BufferError
            If a value is more than one double; `limbs` is what can be shared.
        """
        if self._precision.limbs > 1 or self._complex:
            raise BufferError(
                f"values of dtype {cast('MDArray', self).dtype} are no single doubles; share the "
                "limbs, as in numpy.from_dlpack(a.limbs), and read them with mdqr.from_limbs"
            )
        return self._block[0, ...].__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self._block.__dlpack_device__()
        return int(kind), int(number)

    def __reduce__(self) -> tuple[Any, ...]:
        device = self.device.partition(":")[0]
        block = np.ascontiguousarray(host_block(self._block))
        state = {
            "limbs": block,
            "precision": self._precision.name,
            "complex": self._complex,
            "device": device,
        }
        return restore, ("MDArray", {"format": FORMAT, **state})

    @classmethod
    def _restored(cls, state: State) -> MDArray:
        return restored(*(state[name] for name in ("limbs", "precision", "complex", "device")))

    def __copy__(self) -> MDArray:
        return self.copy()

    def __deepcopy__(self, _: dict[int, Any]) -> MDArray:
        return self.copy()

    def __repr__(self) -> str:
        return repr_array(cast("MDArray", self))

    def __str__(self) -> str:
        return str_array(cast("MDArray", self))

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return html_array(cast("MDArray", self))


def _is_harmless() -> bool:
    """Return True for a call by Matplotlib, or by pandas, which looks for NaN alone."""
    frame = sys._getframe(1).f_back
    while frame is not None and package_of(frame) == "numpy":
        frame = frame.f_back
    if frame is not None and frame.f_code.co_name == "_isna" and package_of(frame) == "pandas":
        return True
    return package_of(frame) in ("matplotlib", "mpl_toolkits")
