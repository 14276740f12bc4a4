"""Arrays of doubles that a function of the caller takes for arrays of mdqr.

Far from a minimum 16 digits are enough, and plain arrays of NumPy or CuPy are much faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.answers import Answers
from mdqr._limbs.device import host_block

_FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "square"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "reciprocal", "abs", "conj"),
)


class Doubles(Answers):
    """An array of float64 or complex128 with the arithmetic and elementary functions of mdqr.

    Anything else raises TypeError or AttributeError.
    """

    __slots__ = ("array", "xp")
    _answered = frozenset((*_FUNCTIONS, "sum"))

    def __init__(self, xp: ModuleType, array: Any) -> None:
        self.xp, self.array = xp, array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Doubles]:
        return (self._made(part) for part in self.array)

    def __getitem__(self, key: Any) -> Doubles:
        return self._made(self.array[key])

    def __bool__(self) -> bool:
        raise TypeError("arrays of doubles are not for branches")

    def _compared(self, other: Any) -> bool:
        raise TypeError("arrays of doubles are not compared")

    __lt__ = __le__ = __gt__ = __ge__ = _compared
    __eq__ = __ne__ = _compared

    def _made(self, array: Any) -> Doubles:
        return Doubles(self.xp, array)

    def _plain(self, other: Any) -> Any:
        return doubles_of(self.xp, other)

    def __neg__(self) -> Doubles:
        return self._made(-self.array)

    def __pos__(self) -> Doubles:
        return self

    def __add__(self, other: Any) -> Doubles:
        return self._made(self.array + self._plain(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Doubles:
        return self._made(self.array - self._plain(other))

    def __rsub__(self, other: Any) -> Doubles:
        return self._made(self._plain(other) - self.array)

    def __mul__(self, other: Any) -> Doubles:
        return self._made(self.array * self._plain(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Doubles:
        return self._made(self.array / self._plain(other))

    def __rtruediv__(self, other: Any) -> Doubles:
        return self._made(self._plain(other) / self.array)

    def __pow__(self, exponent: Any) -> Doubles:
        plain = self._plain(exponent)
        # A square, faster than a power.
        return self * self if np.isscalar(plain) and plain == 2 else self._made(self.array**plain)

    def __rpow__(self, base: Any) -> Doubles:
        return self._made(self._plain(base) ** self.array)

    def sum(self, axis: Any = None) -> Doubles:
        """Return sums along an axis, or of all."""
        return self._made(self.array.sum(axis=axis))

    def __getattr__(self, name: str) -> Any:
        if name not in _FUNCTIONS:
            raise AttributeError(f"arrays of doubles have no attribute {name!r}")
        function = getattr(self.xp, name)
        return lambda *others: self._made(function(self.array, *map(self._plain, others)))


def doubles_of(xp: ModuleType, x: Any) -> Any:
    """Return the doubles nearest to numbers, an array where x has a shape."""
    if isinstance(x, Doubles):
        return x.array
    if isinstance(x, MDArray):
        leading = x.real.limbs[0] + 1j * x.imag.limbs[0] if x.is_complex else x.limbs[0]
        return host_block(leading) if xp is np else xp.asarray(leading)
    if isinstance(x, (int, float, complex, np.number)):
        return complex(x) if isinstance(x, complex) else float(x)
    return xp.asarray(np.asarray(x, dtype=float)) if np.ndim(x) else float(x)
