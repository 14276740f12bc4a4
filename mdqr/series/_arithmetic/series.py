"""Truncated power series, and arithmetic with them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._functions.elementary import log
from mdqr._functions.sequences import concatenate
from mdqr._pickles import State, pickled
from mdqr._precision import Precision
from mdqr._typing import PrecisionLike
from mdqr.series._arithmetic import functions
from mdqr.series._arithmetic.convert import series_text, to_sympy
from mdqr.series._arithmetic.elementary import Elementary
from mdqr.series._arithmetic.products import multiply, shift_matrix
from mdqr.series._errors import required

# Exponents up to which powers are products.
_PRODUCTS = 64


def is_series(coeffs: Any) -> bool:
    """Return True if these can be the coefficients of series."""
    return isinstance(coeffs, MDArray) and coeffs.ndim > 0 and coeffs.shape[-1] > 0


@pickled
class PowerSeries(Elementary):
    """Power series ``c_0 + c_1 t + ... + c_d t^d + O(t^(d+1))``, one or an array of them.

    Arithmetic with series of two degrees gives the lower one; numbers, and arrays of the shape of
    the series, count as constants.

    Parameters
    ----------
    coefficients : array_like
        ``(..., d + 1)``, c_0 first.
    precision : Precision or str, optional
        The precision; by default the precision of an `MDArray`.
    variable : str, optional
        The name shown.

    Attributes
    ----------
    coeffs : MDArray
        The coefficients, ``(..., d + 1)``.
    degree : int
        d.
    shape : tuple of int
        The shape of the array of series.

    Examples
    --------
    >>> from mdqr.series import PowerSeries
    >>> t = PowerSeries.identity(4, precision="qd")
    >>> 1 / (1 - t)
    1 + t + t^2 + t^3 + t^4 + O(t^5)
    >>> (1 + t).sqrt().coeffs.to_fractions()[2]
    Fraction(-1, 8)
    """

    __slots__ = ("coeffs", "variable")

    def __init__(
        self,
        coefficients: Any,
        *,
        precision: PrecisionLike | None = None,
        variable: str = "t",
    ) -> None:
        coeffs = array(coefficients, precision=precision)
        if not coeffs.ndim or not coeffs.shape[-1]:
            raise ValueError(
                f"a series needs coefficients along the last axis; the shape is {coeffs.shape}"
            )
        self.coeffs, self.variable = coeffs, variable

    @classmethod
    def identity(
        cls,
        degree: int,
        *,
        precision: PrecisionLike,
        at: Any = 0,
        device: str | None = None,
        variable: str = "t",
    ) -> PowerSeries:
        """Return the series of ``at + t``.

        Parameters
        ----------
        degree : int
            The last order, at least 0.
        precision : Precision or str
            The precision.
        at : number, optional
            The constant coefficient.
        device : str, optional
            "cpu" or "cuda".
        variable : str, optional
            The name shown.
        """
        coefficients = [at, *(int(k == 1) for k in range(1, _degree(degree) + 1))]
        found = array(coefficients, precision=precision, device=device)
        return cls._of(found, variable)

    def _state(self) -> dict[str, Any]:
        return {"coeffs": self.coeffs, "variable": self.variable}

    @classmethod
    def _restored(cls, state: State) -> PowerSeries:
        return cls._of(state.checked("coeffs", is_series), state.checked("variable", str))

    @classmethod
    def _of(cls, coeffs: MDArray, name: str) -> PowerSeries:
        series = object.__new__(cls)
        series.coeffs, series.variable = coeffs, name
        return series

    # -- what it is ------------------------------------------------------------------------------

    @property
    def degree(self) -> int:
        """The last order kept."""
        return self.coeffs.shape[-1] - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of series."""
        return self.coeffs.shape[:-1]

    @property
    def precision(self) -> Precision:
        """The precision of the coefficients."""
        return self.coeffs.precision

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of one series; its numbers are in coefficients")
        return self.shape[0]

    def __getitem__(self, key: Any) -> PowerSeries:
        key = key if isinstance(key, tuple) else (key,)
        if Ellipsis not in key:
            key = (*key, Ellipsis)
        return self._like(self.coeffs[(*key, slice(None))])

    def __repr__(self) -> str:
        if self.shape:
            return f"<PowerSeries of shape {self.shape}, degree {self.degree}, {self.precision}>"
        return series_text(self.coeffs.to_device("cpu").to_numpy(), self.variable)

    # -- arithmetic ------------------------------------------------------------------------------

    def __neg__(self) -> PowerSeries:
        return self._like(-self.coeffs)

    def __pos__(self) -> PowerSeries:
        return self

    def __add__(self, other: Any) -> PowerSeries:
        return self._linear(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> PowerSeries:
        return self._linear(other, operator.sub)

    def __rsub__(self, other: Any) -> PowerSeries:
        return -self + other

    def __mul__(self, other: Any) -> PowerSeries:
        if not isinstance(other, PowerSeries):
            return self._like(self.coeffs * _factor(other))
        return self._like(multiply(*_aligned(self.coeffs, other.coeffs)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> PowerSeries:
        if not isinstance(other, PowerSeries):
            return self._like(self.coeffs / _factor(other))
        return self * other.reciprocal()

    def __rtruediv__(self, other: Any) -> PowerSeries:
        return self.reciprocal() * other

    def __pow__(self, exponent: Any) -> PowerSeries:
        """Raise to a number; small integers by products, others from ``c_0 ** exponent``.

        Its type does not count, but that a complex one makes a complex series, and an `MDArray` of
        a higher precision a series of that.
        """
        if isinstance(exponent, PowerSeries):
            return (self.log() * exponent).exp()
        r, fraction = functions.exponent_of(exponent, self.precision)
        precision = max(self.precision, r.precision) if r is exponent else self.precision
        kind = complex if self.coeffs.is_complex or r.is_complex else None
        base = self._like(self.coeffs.astype(precision))
        # Products lose an eps each: of high powers more than the power of c_0 does.
        if (
            fraction is not None
            and fraction.denominator == 1
            and (abs(fraction) <= _PRODUCTS or bool((base.coeffs[..., 0] == 0).any()))
        ):
            return self._like(base._integer_power(int(fraction)).coeffs.astype(dtype=kind))
        return self._like(functions.power(base.coeffs.astype(dtype=kind), exponent))

    def __rpow__(self, base: Any) -> PowerSeries:
        number = base if isinstance(base, MDArray) else array(base, precision=self.precision)
        return (self * log(number.to_device(self.coeffs.device))).exp()

    def __rmatmul__(self, other: Any) -> PowerSeries:
        """Multiply a matrix or a vector with a vector of series."""
        if len(self.shape) != 1:
            raise ValueError(f"the product needs a vector of series; the shape is {self.shape}")
        return self._like(other @ self.coeffs)

    def _integer_power(self, exponent: int) -> PowerSeries:
        if exponent < 0:
            return self.reciprocal()._integer_power(-exponent)
        found, base = None, self
        while exponent:
            if exponent & 1:
                found = base if found is None else found * base
            exponent >>= 1
            if exponent:
                base = base * base
        return self._like(functions.ones(self.coeffs)) if found is None else found

    def _linear(self, other: Any, function: Callable[[Any, Any], Any]) -> PowerSeries:
        if isinstance(other, PowerSeries):
            orders = 1 + min(self.degree, other.degree)
            return self._like(function(self.coeffs[..., :orders], other.coeffs[..., :orders]))
        head = function(self.coeffs[..., :1], _factor(other))
        rest = self.coeffs[..., 1:]
        if head.shape[:-1] != rest.shape[:-1]:
            rest = rest + functions.zeros(head, 1)
        return self._like(concatenate([head, rest], axis=-1))

    def _like(self, coeffs: MDArray) -> PowerSeries:
        return self._of(coeffs, self.variable)

    # -- calculus --------------------------------------------------------------------------------

    def truncated(self, degree: int) -> PowerSeries:
        """Return the series up to a degree, at most its own."""
        return self._like(self.coeffs[..., : _degree(degree) + 1])

    def extended(self, degree: int) -> PowerSeries:
        """Return the series with zeros up to a degree, at least its own."""
        return self._like(functions.extended(self.coeffs, 1 + max(_degree(degree), self.degree)))

    def deriv(self) -> PowerSeries:
        """Return the derivative, of one degree less; of degree 0 it is 0."""
        return self._like(functions.derivative(self.coeffs))

    def integ(self, constant: Any = 0) -> PowerSeries:
        """Return the integral with a constant, of one degree more."""
        return self._like(functions.integral(self.coeffs, self.coeffs[..., 0] * 0 + constant))

    def __call__(self, t: Any) -> Any:
        """Evaluate at numbers, or at a series: the composition.

        Parameters
        ----------
        t : array_like or PowerSeries
            Points, whose shape broadcasts to that of the series, or a series without a constant
            term.

        Returns
        -------
        MDArray or PowerSeries
            Values by Horner's scheme, or the composed series.
        """
        return self.compose(t) if isinstance(t, PowerSeries) else self._at(t)

    def _at(self, t: Any) -> MDArray:
        point = self._number(t)
        found = self.coeffs[..., -1] + point * 0
        for k in range(self.degree - 1, -1, -1):
            found = found * point + self.coeffs[..., k]
        return found

    def _number(self, x: Any) -> MDArray:
        given = x if isinstance(x, MDArray) else array(x, precision=self.precision)
        return given.to_device(self.coeffs.device)

    def compose(self, inner: PowerSeries) -> PowerSeries:
        """Return ``self(inner(t))``.

        Raises
        ------
        TypeError
            If `inner` is not a series.
        ValueError
            If `inner` has a constant term.
        """
        required("compose", "inner", inner, PowerSeries)
        if bool((inner.coeffs[..., 0] != 0).any()):
            raise ValueError(
                "the inner series has a constant term: all orders of the outer one would count; "
                "use shift first"
            )
        return self._composed(inner)

    def _composed(self, inner: PowerSeries) -> PowerSeries:
        degree = min(self.degree, inner.degree)
        found = self._like(self.coeffs[..., degree : degree + 1]).extended(degree)
        for k in range(degree - 1, -1, -1):
            found = found * inner.truncated(degree) + self.coeffs[..., k]
        return self._of(found.coeffs, inner.variable)

    def reversion(self) -> PowerSeries:
        """Return the series g with ``self(g(t)) = t``, by Newton's iteration.

        Where orders leave the range of doubles, those from there on may be NaN.

        Raises
        ------
        ValueError
            If the constant term is not zero, or the term of order 1 is.
        """
        head = self.coeffs[..., :2]
        if self.degree < 1 or bool(((head[..., 0] != 0) | (head[..., 1] == 0)).any()):
            raise ValueError("a series to revert starts with its term of order 1, which is not 0")
        slope = self.deriv()
        found = self._like(concatenate([head[..., :1], 1 / head[..., 1:]], axis=-1))
        while found.degree < self.degree:
            wide = min(2 * found.degree + 1, self.degree)
            g = found.extended(wide)
            left = self.truncated(wide)._composed(g)
            left.coeffs[..., 1] -= 1
            # The missing last order of the derivative meets a zero.
            found = g - left / slope.extended(wide)._composed(g)
        return found

    def shift(self, t1: Any) -> PowerSeries:
        """Return the coefficients about `t1`, as for a polynomial.

        Orders that were cut off are missing: of a series that goes on, the high ones are wrong.
        """
        point = self._number(t1).to_device("cpu")
        return self._like(
            self.coeffs @ shift_matrix(point, self.degree + 1).to_device(self.coeffs.device)
        )

    # -- functions: the others are those of Elementary ------------------------------------------

    def root(self, n: int) -> PowerSeries:
        """Return the n-th root, from the principal one of the constant term."""
        if operator.index(n) < 1:
            raise ValueError(f"the root must be a natural number; got {n}")
        if n == 1:
            return self
        return self._like(functions.power(self.coeffs, Fraction(1, n)))

    def sum(self, axis: int | None = None) -> PowerSeries:
        """Return the sum over an axis of the array of series, or over all."""
        if axis is None:
            return self._like(self.coeffs.reshape(-1, self.degree + 1).sum(axis=0))
        return self._like(self.coeffs.sum(axis=axis if axis >= 0 else axis - 1))

    # -- to other packages -----------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray:
        """Return the coefficients rounded to float64 or complex128, ``(..., d + 1)``."""
        return self.coeffs.to_device("cpu").to_numpy()

    def to_mpmath(self) -> np.ndarray:
        """Return the coefficients as an object array of mpmath numbers, exactly."""
        return self.coeffs.to_device("cpu").to_mpmath()

    def to_sympy(self, variable: Any = None) -> Any:
        """Return the polynomial of one series as a SymPy expression, without its O.

        Parameters
        ----------
        variable : sympy.Symbol, optional
            The variable; a symbol of the name of the series by default.

        Raises
        ------
        ValueError
            If it is an array of series.
        """
        if self.shape:
            raise ValueError(f"to_sympy takes one series; the shape is {self.shape}")
        import sympy

        return to_sympy(self.coeffs, sympy.Symbol(self.variable) if variable is None else variable)


PowerSeries.__module__ = "mdqr.series"


def _degree(degree: Any) -> int:
    found = operator.index(degree)
    if found < 0:
        raise ValueError(f"the degree must be at least 0; got {found}")
    return found


def _factor(other: Any) -> Any:
    """Return a constant as an operand of coefficients."""
    if isinstance(other, (MDArray, np.ndarray)) and other.ndim:
        return other[..., None]
    return other


def _aligned(a: MDArray, b: MDArray) -> list[MDArray]:
    """Return the orders that both have, in one precision and field."""
    orders = min(a.shape[-1], b.shape[-1])
    kind = max(a.precision, b.precision), complex if a.is_complex or b.is_complex else None
    return [x[..., :orders].astype(*kind) for x in (a, b)]
