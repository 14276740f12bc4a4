"""The numbers pi, e and Euler's constant, and exact expressions of them.

An expression is a quotient of two sums of products of constants with rational coefficients, so that
`pi - pi` is known to be zero. Its value is enclosed by the intervals of mpmath, with as many bits
as a rounding needs.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from math import comb, isfinite
from numbers import Number
from typing import Any, Final, NoReturn

import numpy as np

from mdqr._convert.array_like import exact_value, is_constant, is_symbolic, refuse_interval, signed
from mdqr._convert.enclosures import UNIT, listed, rounded, settled, sign, sum_of, whole
from mdqr._errors import shown
from mdqr._pickles import State, pickled

# A factor is a constant's name, a number raised to a fractional power, or a pair of a base
# and an irrational exponent; a product is a set of factors with their exponents.
Factor = Any
Product = frozenset[tuple[Factor, Fraction]]
Sum = dict[Product, Fraction]

_ONE: Product = frozenset()
_REFUSED = {
    np.ndarray: "an array of NumPy",
    complex: "a complex number",
    np.complexfloating: "a complex number",
}
_MOST_TERMS = 500  # of a power that is multiplied out
_MOST_BITS = 2**16  # of a rational number that is raised to a power


@pickled
class Constant(Number):
    """An exact number made of `mdqr.pi`, `mdqr.e`, `mdqr.euler_gamma` and rationals.

    It is rounded once, when it is combined with an `MDArray` or a precision is given.
    ``+ - * / **`` with each other, integers, fractions, decimals and floats (the doubles they
    are) stay exact.
    """

    __slots__ = ("_divisor", "_terms")
    __array_ufunc__ = None  # NumPy would make float64 or objects of it
    _op_priority = 100.0  # SymPy would take float(x)

    _terms: Sum
    _divisor: Sum

    def __init__(self, *_: Any) -> None:
        raise TypeError("constants are made of mdqr.pi, mdqr.e and mdqr.euler_gamma")

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a constant is immutable; {attribute!r} cannot be set")

    def __copy__(self) -> Constant:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Constant:
        return self

    def _state(self) -> dict[str, Any]:
        if (name := _NAMES.get(id(self))) is not None:
            return {"name": name}
        return {"terms": listed(self._terms), "divisor": listed(self._divisor)}

    @classmethod
    def _restored(cls, state: State) -> Constant:
        if "name" in state:
            return _BY_NAME[state["name"]]
        terms, divisor = (
            sum_of(state.checked(name, list), Constant, _BY_NAME) for name in ("terms", "divisor")
        )
        if not divisor:
            raise ValueError("this pickle is damaged: a constant has no divisor")
        return _made(terms, divisor)

    @property
    def rational(self) -> Fraction | None:
        """The value if it is known to be rational."""
        if not self._terms:
            return Fraction(0)
        ratios = {self._terms.get(key, Fraction(0)) / value for key, value in self._divisor.items()}
        same = len(ratios) == 1 and self._terms.keys() == self._divisor.keys()
        return ratios.pop() if same else None

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: object) -> Any:
        return _operate(_plus, self, other)

    def __radd__(self, other: object) -> Any:
        return _operate(_plus, other, self)

    def __sub__(self, other: object) -> Any:
        return _operate(lambda x, y: _plus(x, -y), self, other)

    def __rsub__(self, other: object) -> Any:
        return _operate(lambda x, y: _plus(x, -y), other, self)

    def __mul__(self, other: object) -> Any:
        return _operate(_times, self, other)

    def __rmul__(self, other: object) -> Any:
        return _operate(_times, other, self)

    def __truediv__(self, other: object) -> Any:
        return _operate(lambda x, y: _times(x, _inverse(y)), self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _operate(lambda x, y: _times(x, _inverse(y)), other, self)

    def __pow__(self, other: object) -> Any:
        return _operate(_power, self, other)

    def __rpow__(self, other: object) -> Any:
        caller = sys._getframe(1)
        if caller.f_globals.get("__name__") == "fractions":  # Python 3.11 made a float of it
            other = caller.f_locals.get("a", other)
        return _operate(_power, other, self)

    def __neg__(self) -> Constant:
        return _made({key: -value for key, value in self._terms.items()}, self._divisor)

    def __pos__(self) -> Constant:
        return self

    def __abs__(self) -> Constant:
        return -self if sign(self) < 0 else self

    # -- comparison ------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        return self._compared(other, lambda sign: sign == 0)

    def __lt__(self, other: object) -> Any:
        return self._compared(other, lambda sign: sign < 0)

    def __le__(self, other: object) -> Any:
        return self._compared(other, lambda sign: sign <= 0)

    def __gt__(self, other: object) -> Any:
        return self._compared(other, lambda sign: sign > 0)

    def __ge__(self, other: object) -> Any:
        return self._compared(other, lambda sign: sign >= 0)

    def _compared(self, other: object, holds: Callable[[int], bool]) -> Any:
        if isinstance(other, np.ndarray):
            _refuse(other)
        beyond = _not_finite(other)
        if beyond is not None:
            return beyond == beyond and holds(-1 if beyond > 0 else 1)
        value = _exact(other)
        return NotImplemented if value is None else holds(sign(_plus(self, -value)))

    def __hash__(self) -> int:
        value = self.rational
        return hash(float(self) if value is None else value)

    def __bool__(self) -> bool:
        return sign(self) != 0

    # -- conversion ------------------------------------------------------------------------------

    def _sympy_(self) -> NoReturn:
        # SymPy would take the float.
        raise TypeError(
            "SymPy has these constants exactly: sympy.pi, sympy.E and sympy.EulerGamma, not "
            f"{self!r} of mdqr"
        )

    def __float__(self) -> float:
        return rounded(self, 1)[0]

    def __int__(self) -> int:
        return int(settled(self, whole))

    def __round__(self, ndigits: int | None = None) -> Any:
        """Return the nearest integer or, as `Fraction` does, the nearest with so many decimals."""
        if ndigits is not None:
            unit = Fraction(10) ** -operator.index(ndigits)
            return round(self / unit) * unit
        value = self.rational
        if value is not None:
            return round(value)
        nearest = int(abs(self) + Fraction(1, 2))
        return nearest if sign(self) > 0 else -nearest

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"the format {shown(spec)} is for a number that has a precision; give one, as in "
                f"format(mdqr.qd({self!r}), {shown(spec)})"
            )
        return str(self)

    def __repr__(self) -> str:
        above = _shown(self._terms)
        if self._divisor == UNIT:
            return above
        return f"({above}) / ({_shown(self._divisor)})"


# -- operations ----------------------------------------------------------------------------------


def _made(terms: Sum, divisor: Sum) -> Constant:
    constant = object.__new__(Constant)
    object.__setattr__(constant, "_terms", {key: value for key, value in terms.items() if value})
    object.__setattr__(constant, "_divisor", divisor)
    return constant


def _of(value: Fraction | int) -> Constant:
    return _made({_ONE: Fraction(value)}, UNIT)


def _exact(x: object) -> Constant | None:
    """Return a finite number as a constant, None if it is something else."""
    if isinstance(x, Constant):
        return x
    if isinstance(x, np.generic):
        x = x.item() if isinstance(x, (np.integer, np.bool_, np.float64)) else x
    if _not_finite(x) is not None:
        raise ValueError(f"{x} is not an exact number; give the constant a precision first")
    if isinstance(x, (int, Fraction)):
        return _of(Fraction(x))
    if isinstance(x, (float, Decimal, np.floating)):
        return _of(Fraction(*x.as_integer_ratio()))
    if is_symbolic(x):
        return _of_package(x)
    value = exact_value(x)
    return None if value is None else _of(value)


def _of_package(x: Any) -> Constant | None:
    """Return a rational number of SymPy, or what mpmath, SymPy or Arb stores of a float."""
    if getattr(x, "is_Rational", False):
        return _of(Fraction(int(x.p), int(x.q)))
    if not isinstance(getattr(x, "_mpf_", None), tuple) or is_constant(x):
        return None
    refuse_interval(x)
    man, exponent = signed(x._mpf_)
    return _times(_of(man), _integer_power(_of(2), exponent))


def _not_finite(x: Any) -> float | None:
    """Return an infinity or NaN as a double, None for a finite number and other things."""
    if isinstance(x, (float, Decimal, np.floating)):
        return None if isfinite(x) else float(x)
    raw = getattr(x, "_mpf_", None)
    return float(x) if isinstance(raw, tuple) and not raw[1] and raw[2] else None


def _operate(function: Callable[[Constant, Constant], Constant], x: object, y: object) -> Any:
    for value in (x, y):
        _refuse(value)
    left, right = _exact(x), _exact(y)
    return NotImplemented if left is None or right is None else function(left, right)


def _refuse(x: object) -> None:
    for kind, text in _REFUSED.items():
        if isinstance(x, kind):
            raise TypeError(
                f"an exact constant and {text} have no precision for the result; give one, as in "
                f"mdqr.array({shown(x)}, precision=mdqr.qd), or take float(c) of constants c"
            )


def _plus(x: Constant, y: Constant) -> Constant:
    if x._divisor == y._divisor:
        return _made(_sum(x._terms, y._terms), x._divisor)
    above = _sum(_multiplied(x._terms, y._divisor), _multiplied(y._terms, x._divisor))
    return _made(above, _multiplied(x._divisor, y._divisor))


def _times(x: Constant, y: Constant) -> Constant:
    if x._terms == y._divisor:
        return _made(y._terms, x._divisor)
    if y._terms == x._divisor:
        return _made(x._terms, y._divisor)
    return _made(_multiplied(x._terms, y._terms), _multiplied(x._divisor, y._divisor))


def _inverse(x: Constant) -> Constant:
    if sign(x) == 0:
        raise ZeroDivisionError(f"division by {x!r}, which is zero")
    if len(x._terms) > 1:
        return _made(x._divisor, x._terms)
    ((product, value),) = x._terms.items()
    turned = frozenset((factor, -exponent) for factor, exponent in product)
    return _made(_multiplied(x._divisor, {turned: 1 / value}), UNIT)


def _power(x: Constant, y: Constant) -> Constant:
    exponent = y.rational
    if exponent is not None and exponent.denominator == 1:
        return _integer_power(x, int(exponent))
    side = sign(x)
    if side < 0:
        raise ValueError(f"a negative number to the power {y!r} is not real")
    if side == 0:
        if sign(y) < 0:
            raise ZeroDivisionError(f"zero to the negative power {y!r}")
        return _of(0)
    if exponent is None:
        return _of(1) if x.rational == 1 or sign(y) == 0 else _factor((x, y))
    return _root(x, exponent) or _factor(x, exponent)


def _factor(factor: Factor, exponent: Fraction = Fraction(1)) -> Constant:
    return _made({frozenset([(factor, exponent)]): Fraction(1)}, UNIT)


def _integer_power(x: Constant, n: int) -> Constant:
    if n < 0:
        return _inverse(_integer_power(x, -n))
    count = max(len(x._terms), len(x._divisor), 1)
    if count == 1 and x._terms:
        if any(_is_long(value, n) for sums in (x._terms, x._divisor) for value in sums.values()):
            return _factor(x, Fraction(n))
        parts = []
        for terms in (x._terms, x._divisor):
            ((product, value),) = terms.items()
            raised = {frozenset((factor, k * n) for factor, k in product if n): value**n}
            parts.append(_multiplied(raised, UNIT))
        return _made(*parts)
    if n and count > 1 and comb(count + n - 1, n) > _MOST_TERMS:
        return _factor(x, Fraction(n))
    found = _of(1)
    for _ in range(n):
        found = _times(found, x)
    return found


def _root(x: Constant, exponent: Fraction) -> Constant | None:
    """Return a power of a product whose coefficient has an exact root, None for others."""
    if len(x._terms) > 1 or x._divisor != UNIT:
        return None
    ((product, value),) = x._terms.items()
    n = exponent.denominator
    ends = [_integer_root(end, n) for end in (value.numerator, value.denominator)]
    if ends[0] is None or ends[1] is None:
        return None
    if _is_long(Fraction(ends[0], ends[1]), exponent.numerator):
        return None
    turned = frozenset((factor, k * exponent) for factor, k in product)
    scale = Fraction(ends[0], ends[1]) ** exponent.numerator
    return _made(_multiplied({turned: scale}, UNIT), UNIT)


def _is_long(value: Fraction, n: int) -> bool:
    """True if ``value**n`` has more bits than a coefficient should have."""
    size = max(abs(value.numerator), value.denominator)
    return size > 1 and size.bit_length() * abs(n) > _MOST_BITS


def _integer_root(value: int, n: int) -> int | None:
    if value < 2:
        return value
    if n >= value.bit_length():
        return None
    low, high = 0, 1 << (value.bit_length() // n + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**n <= value else (low, middle - 1)
    return low if low**n == value else None


def _sum(x: Sum, y: Sum) -> Sum:
    found = dict(x)
    for product, value in y.items():
        found[product] = found.get(product, Fraction(0)) + value
    return {product: value for product, value in found.items() if value}


def _multiplied(x: Sum, y: Sum) -> Sum:
    found: Sum = {}
    for first, a in x.items():
        for second, b in y.items():
            exponents = dict(first)
            for factor, exponent in second:
                exponents[factor] = exponents.get(factor, Fraction(0)) + exponent
            product: Sum = {frozenset((f, k) for f, k in exponents.items() if k): a * b}
            for factor, exponent in exponents.items():
                if exponent == 1 and isinstance(factor, Constant) and factor._divisor == UNIT:
                    rest = frozenset((f, k) for f, k in exponents.items() if k and f is not factor)
                    product = _multiplied({rest: a * b}, factor._terms)
                    break
            found = _sum(found, product)
    return found


# -- text ----------------------------------------------------------------------------------------


def _shown(terms: Sum) -> str:
    texts = sorted(_term_shown(product, value) for product, value in terms.items())
    return " + ".join(texts) or "0 * mdqr.pi"


def _term_shown(product: Product, value: Fraction) -> str:
    factors = sorted(_factors_shown(product))
    if not factors:
        return f"{value}" if value.denominator == 1 else repr(value)
    front = "" if value.numerator == 1 else f"{value.numerator} * "
    behind = "" if value.denominator == 1 else f" / {value.denominator}"
    return front + " * ".join(factors) + behind


def _factors_shown(product: Product) -> Iterator[str]:
    for factor, exponent in product:
        if isinstance(factor, tuple):
            text = f"(({factor[0]!r}) ** ({factor[1]!r}))"
        else:
            text = f"mdqr.{factor}" if isinstance(factor, str) else f"({factor!r})"
        power = f"{exponent}" if exponent.denominator == 1 else repr(exponent)
        yield text if exponent == 1 else f"{text} ** {power}"


Constant.__module__ = "mdqr"
pi: Final = _factor("pi")
e: Final = _factor("e")
euler_gamma: Final = _factor("euler_gamma")
_NAMES = {id(pi): "pi", id(e): "e", id(euler_gamma): "euler_gamma"}
_BY_NAME = {"pi": pi, "e": e, "euler_gamma": euler_gamma}
