"""The precision and the field of an array as one object, the `dtype` of the array API."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._errors import shown
from mdqr._pickles import State, pickled, pickled_fields
from mdqr._precision import Precision, as_precision, from_file
from mdqr._typing import PrecisionLike


@pickled
class DType:
    """The dtype of an array: how many limbs its values have, and whether they are complex.

    There is one object for each; `mdqr.MDArray.dtype` returns it, and ``dtype=`` takes it.

    Attributes
    ----------
    precision : Precision
        The precision of the values.
    is_complex : bool
        Whether they are complex.
    name : str
        "float_qd", "complex_qd" and so on.
    kind : str
        "f" or "c", as of NumPy's dtypes.
    itemsize : int
        The number of bytes of the limbs of a value.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.ones(3, precision=mdqr.qd)
    >>> a.dtype, a.dtype.precision
    (mdqr.array_api.float_qd, mdqr.qd)
    >>> mdqr.zeros(2, dtype=a.dtype).precision
    mdqr.qd
    """

    __slots__ = ("is_complex", "precision")

    precision: Precision
    is_complex: bool

    def __new__(cls, precision: PrecisionLike, is_complex: bool = False) -> DType:
        """Return the one object of a precision and a field."""
        return dtype_of(as_precision(precision), bool(is_complex))

    @property
    def name(self) -> str:
        """The name of the dtype in `mdqr.array_api`."""
        return f"{'complex' if self.is_complex else 'float'}_{self.precision}"

    @property
    def kind(self) -> str:
        """The letter of the field, "f" or "c"."""
        return "c" if self.is_complex else "f"

    @property
    def itemsize(self) -> int:
        """The number of bytes of the limbs of a value."""
        return 8 * self.precision.limbs * (1 + self.is_complex)

    def __repr__(self) -> str:
        return f"mdqr.array_api.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the same field, for `numpy.issubdtype`, which asks for no more."""
        caller = sys._getframe(1)
        if caller.f_code is not np.issubdtype.__code__:
            return self.__getattr__("dtype")
        return np.dtype(complex if self.is_complex else float)

    def __getattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(
            f"{self!r} is no dtype of NumPy and has no attribute {attribute!r}; a.to_numpy() has "
            "one, with the nearest float64 values"
        )

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a dtype is immutable; {attribute!r} cannot be set")

    def _state(self) -> dict[str, Any]:
        return {"precision": self.precision.name, "complex": self.is_complex}

    @classmethod
    def _restored(cls, state: State) -> DType:
        return dtype_of(from_file(state["precision"]), state.checked("complex", bool))


DType.__module__ = "mdqr.array_api"


@cache
def dtype_of(precision: Precision, is_complex: bool) -> DType:
    """Return the dtype of a precision and a field."""
    dtype = object.__new__(DType)
    object.__setattr__(dtype, "precision", precision)
    object.__setattr__(dtype, "is_complex", is_complex)
    return dtype


@pickled_fields
class FInfo(NamedTuple):
    """The properties of a precision, as `finfo` returns them.

    ``bits`` is 64, for one limb: so wide are the floats that consumers draw and write;
    ``dtype.precision.bits`` is the number of significant bits.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        """NumPy's name of `smallest_normal`."""
        return self.smallest_normal


def limits(precision: Precision) -> FInfo:
    """Return the properties of a precision."""
    huge = precision.huge
    return FInfo(64, precision.eps, huge, -huge, precision.tiny, dtype_of(precision, False))


def finfo(dtype: Any, /) -> FInfo:
    """Return the limits of a precision, a dtype or an array.

    Parameters
    ----------
    dtype : Precision, str, DType or MDArray
        What has a precision.

    Returns
    -------
    FInfo
        With `eps` (the unit of the error bounds), `max`, `min`, `smallest_normal` (where full
        precision ends), `tiny`, `bits` of a limb, and `dtype`.

    Raises
    ------
    TypeError, ValueError
        If `dtype` has none, or a name is unknown.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.finfo(mdqr.dd).eps == 2.0**-104
    True
    """
    if isinstance(dtype, (Precision, str)):
        return limits(as_precision(dtype))
    found = dtype if isinstance(dtype, DType) else getattr(dtype, "dtype", None)
    if not isinstance(found, DType):
        raise TypeError(f"finfo is for precisions, their dtypes and MDArrays; got {shown(dtype)}")
    return limits(found.precision)
