"""The precision and the field of an array as one object, the `dtype` of the array API."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from mdqr._precision import Precision, as_precision


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

    def __new__(cls, precision: Precision | str, is_complex: bool = False) -> DType:
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

    def __getattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(
            f"{self!r} is no dtype of NumPy and has no attribute {attribute!r}; a.to_numpy() has "
            "one, with the nearest float64 values"
        )

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a dtype is immutable; {attribute!r} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return DType, (self.precision.name, self.is_complex)


DType.__module__ = "mdqr.array_api"


@cache
def dtype_of(precision: Precision, is_complex: bool) -> DType:
    """Return the dtype of a precision and a field."""
    dtype = object.__new__(DType)
    object.__setattr__(dtype, "precision", precision)
    object.__setattr__(dtype, "is_complex", is_complex)
    return dtype
