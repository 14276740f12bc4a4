"""The caller's function in enclosures: values, first and second derivatives by n variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mdqr._core.answers import Answers
from mdqr._precision import Precision
from mdqr.optimize._enclosure.ball import Ball, enclosed, stack
from mdqr.optimize._enclosure.functions import CHAINS, Chain, exp, log, reciprocal

# Powers by integers up to it are products.
_PRODUCTS = 64


class Jet(Answers):
    """An array of functions of n variables, of shape S.

    Parameters
    ----------
    value : Ball
        The values, S.
    first, second : Ball or None
        Derivatives, ``(n,) + S`` and ``(n, n) + S``. Both are None for constants; `second` is None
        where it was not computed.
    """

    __slots__ = ("first", "second", "value")
    _answered = frozenset((*CHAINS, "sum", "hypot"))

    def __init__(self, value: Ball, first: Ball | None = None, second: Ball | None = None) -> None:
        self.value, self.first, self.second = value, first, second

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape))

    @property
    def precision(self) -> Precision:
        """The precision of the midpoints."""
        return self.value.mid.precision

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Jet]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        raise TypeError("an enclosure is neither true nor false: the function may not branch on x")

    def __float__(self) -> float:
        raise TypeError("an enclosure is not a float: the function must not round x")

    def _compared(self, other: Any) -> bool:
        raise TypeError("enclosures are not compared: the function may not branch on x")

    __lt__ = __le__ = __gt__ = __ge__ = _compared
    __eq__ = __ne__ = _compared

    def _parts(self, change: Callable[[Ball, int], Ball]) -> Jet:
        """Return a linear function of value and derivatives, called with the axes in front."""
        first, second = self.first, self.second
        return Jet(
            change(self.value, 0),
            None if first is None else change(first, 1),
            None if second is None else change(second, 2),
        )

    def __getitem__(self, key: Any) -> Jet:
        key = key if isinstance(key, tuple) else (key,)
        return self._parts(lambda ball, lead: ball[(slice(None),) * lead + key])

    def reshape(self, *shape: Any) -> Jet:
        """Return the array in another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        wanted = np.empty(self.shape, dtype=bool).reshape(wanted).shape
        return self._parts(lambda ball, lead: ball.reshape(ball.shape[:lead] + wanted))

    def sum(self, axis: int | None = None) -> Jet:
        """Return sums along an axis, or of all."""
        if axis is None:
            return self.reshape(-1).sum(axis=0)
        place = axis % self.ndim
        return self._parts(lambda ball, lead: ball.sum(axis=lead + place))

    def _broadcast(self, shape: tuple[int, ...]) -> Jet:
        missing = (1,) * (len(shape) - self.ndim)

        def change(ball: Ball, lead: int) -> Ball:
            head, tail = ball.shape[:lead], ball.shape[lead:]
            return ball.reshape(head + missing + tail).broadcast_to(head + shape)

        return self if self.shape == shape else self._parts(change)

    def _pair(self, other: Any) -> tuple[Jet, Jet]:
        """Return both operands as jets of one shape."""
        jet = other if isinstance(other, Jet) else Jet(enclosed(other, self.precision))
        shape = np.broadcast_shapes(self.shape, jet.shape)
        return self._broadcast(shape), jet._broadcast(shape)

    def __neg__(self) -> Jet:
        return self._parts(lambda ball, _: -ball)

    def __pos__(self) -> Jet:
        return self

    def __add__(self, other: Any) -> Jet:
        a, b = self._pair(other)
        return Jet(a.value + b.value, _sum(a.first, b.first), _sum(a.second, b.second))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Jet:
        return self + (-other if isinstance(other, Jet) else -Jet(enclosed(other, self.precision)))

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    def __mul__(self, other: Any) -> Jet:
        a, b = self._pair(other)
        second = _sum(_times(a.second, b.value), _times(b.second, a.value))
        if a.first is not None and b.first is not None and a.second is not None:
            cross = a.first[:, None] * b.first[None]
            second = _sum(second, cross + _swapped(cross))
        first = _sum(_times(a.first, b.value), _times(b.first, a.value))
        return Jet(a.value * b.value, first, second)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return self * other._chained(reciprocal)
        a, b = self._pair(other)
        return a._parts(lambda ball, _: ball / b.value)

    def __rtruediv__(self, other: Any) -> Jet:
        return self._chained(reciprocal) * other

    def __pow__(self, exponent: Any) -> Jet:
        """Raise to an integer by products, to others of a positive base by exp and log."""
        if not isinstance(exponent, Jet) and np.ndim(exponent) == 0:
            whole = _integer(exponent)
            if whole is not None and abs(whole) <= _PRODUCTS:
                return self._integer_power(whole)
        return (self._chained(log) * exponent)._chained(exp)

    def __rpow__(self, base: Any) -> Jet:
        number = Jet(enclosed(base, self.precision))
        return (self * number._chained(log))._chained(exp)

    def _integer_power(self, n: int) -> Jet:
        if n < 0:
            return self._chained(reciprocal)._integer_power(-n)
        found: Jet | None = None
        base = self
        while n:
            if n & 1:
                found = base if found is None else found * base
            n >>= 1
            if n:
                base = base * base
        return self * 0 + 1 if found is None else found

    def __matmul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet) and np.ndim(other) != 1:
            raise TypeError("a vector of enclosures times a matrix: write the matrix first")
        if isinstance(other, Jet) and len(other.shape) != 1:
            raise TypeError("enclosures take products of a matrix and a vector alone")
        return (self * other).sum(axis=-1)

    def __rmatmul__(self, other: Any) -> Jet:
        """Multiply a matrix of constants with a vector."""
        if len(self.shape) != 1 or np.ndim(other) > 2:
            raise TypeError("enclosures take products of a matrix and a vector alone")
        return (self * other).sum(axis=-1)

    def hypot(self, other: Any) -> Jet:
        """Return the root of the sum of two squares."""
        a, b = self._pair(other)
        return (a * a + b * b)._chained(CHAINS["sqrt"])

    def __getattr__(self, name: str) -> Any:
        if name not in CHAINS:
            raise AttributeError(f"enclosures have no attribute {name!r}")
        return lambda: self._chained(CHAINS[name])

    def _chained(self, chain: Chain) -> Jet:
        """Return a function of each value, by the chain rule."""
        value, slope, curvature = chain(self.value)
        first = _times(self.first, slope)
        second = _times(self.second, slope)
        if self.first is not None and second is not None:
            second = second + (self.first[:, None] * self.first[None]) * curvature
        return Jet(value, first, second)


def _sum(a: Ball | None, b: Ball | None) -> Ball | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _times(a: Ball | None, factor: Ball) -> Ball | None:
    return None if a is None else a * factor


def _swapped(a: Ball) -> Ball:
    axes = (1, 0, *range(2, len(a.shape)))
    return Ball(a.mid.transpose(axes), a.rad.transpose(axes))


def _integer(exponent: Any) -> int | None:
    try:
        whole = int(exponent)
        return whole if bool(exponent == whole) else None
    except (TypeError, ValueError, OverflowError):
        return None


def variables(x: Ball, order: int) -> Jet:
    """Return n variables as an array of jets, ``(n,)``, with derivatives up to an order."""
    n, precision = x.shape[0], x.mid.precision
    first = enclosed(np.eye(n), precision)
    second = enclosed(np.zeros((n, n, n)), precision) if order > 1 else None
    return Jet(x, first, second)


def vector(values: Any, like: Jet) -> Jet:
    """Return the values of a function, an array or a sequence, as a vector of jets.

    Raises
    ------
    TypeError
        If an entry is not a number.
    """
    if isinstance(values, Jet):
        return values.reshape(-1)
    if not isinstance(values, (list, tuple)):
        return Jet(enclosed(values, like.precision)).reshape(-1)
    zero = like[0] * 0
    entries = [(zero + each).reshape(-1) for each in values]
    assert like.first is not None
    return Jet(
        stack([each[0].value for each in entries]),
        _moved([each[0].first for each in entries], 1),
        _moved([each[0].second for each in entries], 2),
    )


def _moved(balls: list[Ball | None], lead: int) -> Ball | None:
    """Return derivatives of values one after the other on the last axis."""
    if any(ball is None for ball in balls):
        return None
    found = stack([ball for ball in balls if ball is not None])
    axes = (*range(1, lead + 1), 0)
    return Ball(found.mid.transpose(axes), found.rad.transpose(axes))
