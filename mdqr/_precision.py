"""The precisions: how many doubles a number has, and what follows from that."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, total_ordering
from numbers import Real
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from mdqr._errors import shortened, shown
from mdqr._pickles import State, pickled

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_GUARD_BITS = 64
MOST_OF_PATHS = 8  # limbs that paths of homotopies have kernels for

# As checkers of types know them; other text is converted by ``Precision(text)``.
PrecisionName: TypeAlias = Literal["d", "dd", "qd", "od", "hd"]


def eps_bits(limbs: int) -> int:
    """Return ``-log2(eps)``, as `findeps_bits` of kernels/include/mdqr/digits.hpp.

    An operation loses ``u**N``, ``u = 2**-53``, by cutting its result to N limbs, and at most as
    much before: eps is ``2 u**N``. For two to four limbs it is twice that, since products of
    double-doubles have errors of up to ``6 u**2``, and the contract allows 2 eps.
    """
    return 53 * limbs - (2 if 2 <= limbs <= 4 else 1)


def _tiny_exponent(limbs: int) -> int:
    """Return the exponent of `Precision.tiny`: ``u**N tiny`` is 2**-1068 or more.

    That leaves 6 bits and more for what operations lose by underflow, ``N**2 2**-1074``.

    Raises
    ------
    ValueError
        If no number of so many limbs near 1 keeps them all.
    """
    exponent = -1022 if limbs == 1 else -8 * ((1068 - 53 * limbs) // 8)
    if limbs < 1 or exponent >= -64:
        raise ValueError(f"a number near 1 cannot have {limbs} limbs: the last ones underflow")
    return exponent


@pickled
@total_ordering
class Precision:
    """A precision: values are unevaluated sums of `limbs` doubles.

    There is one object for each precision: `mdqr.d`, `mdqr.dd`, `mdqr.qd`, `mdqr.od` and
    `mdqr.hd`. They are immutable, hashable, ordered by the number of limbs, and pickled by name.
    Calling one converts: ``mdqr.qd(x)`` is ``mdqr.array(x, precision=mdqr.qd)``.

    Parameters
    ----------
    p : Precision or str
        A precision or its name.

    Raises
    ------
    TypeError, ValueError
        If `p` is neither of both, or names none.

    Attributes
    ----------
    name : str
        "d", "dd", "qd", "od" or "hd".
    limbs : int
        Number of doubles of a value.
    bits : int
        ``53 * limbs``.
    digits : int
        Number of decimal digits that every value keeps: ``floor(bits * log10(2))``.
    eps : float
        The unit of the error bounds.
    tiny : float
        Where full precision ends: smaller values lose their last limbs to underflow.
    huge : float
        The largest double. A value beyond it becomes infinite.
    pi, e : MDArray
        The constants, correctly rounded (0-d).

    Examples
    --------
    >>> import mdqr
    >>> mdqr.qd
    mdqr.qd
    >>> mdqr.qd.limbs, mdqr.qd.bits, mdqr.qd.digits, mdqr.qd.eps == 2.0**-210
    (4, 212, 63, True)
    >>> mdqr.dd < mdqr.qd
    True
    >>> mdqr.Precision("qd") is mdqr.qd
    True
    """

    __slots__ = ("digits", "eps", "limbs", "name", "tiny")

    name: str
    limbs: int
    digits: int
    eps: float
    tiny: float
    _array: ClassVar[Callable[..., MDArray]]  # `mdqr.array`, set beside `MDArray`

    def __new__(cls, p: Precision | str, *others: object) -> Precision:
        if not others:
            return as_precision(p)
        raise ValueError(f"precision must be one of {_choices()}; got {shown((p, *others))}")

    def __init_subclass__(cls) -> None:
        raise TypeError("Precision has no subclasses; there is one object for each precision")

    @classmethod
    def _make(cls, name: str, limbs: int) -> Precision:
        precision = object.__new__(cls)
        values = {
            "name": name,
            "limbs": limbs,
            "digits": math.floor(53 * limbs * math.log10(2)),
            "eps": math.ldexp(1.0, -eps_bits(limbs)),
            "tiny": math.ldexp(1.0, _tiny_exponent(limbs)),
        }
        for attribute, value in values.items():
            object.__setattr__(precision, attribute, value)
        return precision

    @property
    def bits(self) -> int:
        """Number of significant bits, ``53 * limbs``."""
        return 53 * self.limbs

    @property
    def next(self) -> Precision:
        """The next higher precision, or the highest itself."""
        return PRECISIONS[min(PRECISIONS.index(self) + 1, len(PRECISIONS) - 1)]

    @property
    def huge(self) -> float:
        """The largest double."""
        return float_info.max

    @property
    def pi(self) -> MDArray:
        """The number pi, correctly rounded (0-d)."""
        return self._constant(_scaled_pi(self.bits + _GUARD_BITS))

    @property
    def e(self) -> MDArray:
        """Euler's number e, correctly rounded (0-d)."""
        return self._constant(_scaled_e(self.bits + _GUARD_BITS))

    def _constant(self, scaled: int) -> MDArray:
        return self(Fraction(scaled, 1 << (self.bits + _GUARD_BITS)))

    def __call__(self, x: Any, /, *, dtype: Any = None, device: str | None = None) -> MDArray:
        """Return ``mdqr.array(x, precision=self, dtype=dtype, device=device)``."""
        return Precision._array(x, precision=self, dtype=dtype, device=device)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a precision is immutable; {attribute!r} cannot be set")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a precision is immutable; {attribute!r} cannot be deleted")

    def __repr__(self) -> str:
        return f"mdqr.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self is other

    def __lt__(self, other: object) -> bool:
        return self.limbs < other.limbs if isinstance(other, Precision) else NotImplemented

    def __hash__(self) -> int:
        return hash((Precision, self.name))

    def __copy__(self) -> Precision:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Precision:
        return self

    def _state(self) -> dict[str, Any]:
        return {"name": self.name}

    @classmethod
    def _restored(cls, state: State) -> Precision:
        return from_file(state["name"])


Precision.__module__ = "mdqr"

d: Final = Precision._make("d", 1)
dd: Final = Precision._make("dd", 2)
qd: Final = Precision._make("qd", 4)
od: Final = Precision._make("od", 8)
hd: Final = Precision._make("hd", 16)

PRECISIONS: Final[tuple[Precision, ...]] = (d, dd, qd, od, hd)

_BY_NAME = {precision.name: precision for precision in PRECISIONS}
_BY_LIMBS = {precision.limbs: precision for precision in PRECISIONS}


def from_file(name: Any) -> Precision:
    """Return the precision that a file or a pickle names.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if not isinstance(name, str) or name not in _BY_NAME:
        choices = ", ".join(repr(p.name) for p in PRECISIONS)
        raise ValueError(
            f"the precision must be one of {choices}, unless a newer mdqr has others; "
            f"it is {shortened(repr(name), 100)}"
        )
    return _BY_NAME[name]


def as_precision(p: Precision | str) -> Precision:
    """Return the precision named by `p`.

    Parameters
    ----------
    p : Precision or str
        A precision or its name.

    Returns
    -------
    Precision
        The one object of that name.

    Raises
    ------
    ValueError
        If no precision has the name.
    TypeError
        If `p` is neither a `Precision` nor a string.
    """
    if isinstance(p, Precision):
        return p
    if not isinstance(p, str):
        raise TypeError(
            f"precision must be one of {_choices()}; got {shown(p)} of type {type(p).__name__}"
        )
    if p not in _BY_NAME:
        raise ValueError(f"precision must be one of {_choices()}; got {shown(p)}")
    return _BY_NAME[p]


def precision_for_digits(digits: float) -> Precision:
    """Return the lowest precision with at least so many decimal digits.

    Parameters
    ----------
    digits : int or float
        Number of decimal digits, greater than 0.

    Returns
    -------
    Precision
        The first one with ``Precision.digits >= digits``.

    Raises
    ------
    TypeError
        If `digits` is not a real number.
    ValueError
        If it is not greater than 0, or more than the highest precision has.

    See Also
    --------
    mdqr.linalg.lstsq : ``digits=`` counts the digits that are proven for a solution.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.precision_for_digits(50)
    mdqr.qd
    >>> mdqr.precision_for_digits(63.5)
    mdqr.od
    >>> mdqr.precision_for_digits(200)
    mdqr.hd
    """
    number: object = digits
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(
            f"digits must be a real number; got {shown(digits)} of type {type(digits).__name__}"
        )
    if not digits > 0:
        raise ValueError(f"digits must be greater than 0; got {shown(digits)}")
    highest = PRECISIONS[-1]
    if digits > highest.digits:
        raise ValueError(
            f"digits must be at most {highest.digits}, those of mdqr.{highest.name}, the highest "
            f"precision; got {shown(digits)}"
        )
    return next(precision for precision in PRECISIONS if precision.digits >= digits)


def precisions_with_paths() -> list[Precision]:
    """Return the precisions that paths of homotopies are followed in, the lowest first."""
    return [precision for precision in PRECISIONS if precision.limbs <= MOST_OF_PATHS]


def precision_of_limbs(limbs: int) -> Precision:
    """Return the precision of values of `limbs` doubles.

    Raises
    ------
    ValueError
        If there is none.
    """
    if limbs not in _BY_LIMBS:
        raise ValueError(
            f"no precision has {limbs} limbs; the limb counts are "
            + ", ".join(f"{count} ({p.name})" for count, p in _BY_LIMBS.items())
        )
    return _BY_LIMBS[limbs]


def _choices() -> str:
    return ", ".join(f'mdqr.{name} ("{name}")' for name in _BY_NAME)


@lru_cache
def _scaled_pi(bits: int) -> int:
    """Return ``pi * 2**bits`` within a few units, by Machin's formula."""
    extra = 16
    one = 1 << (bits + extra)
    return (16 * _scaled_arctan(one, 5) - 4 * _scaled_arctan(one, 239)) >> extra


def _scaled_arctan(one: int, inverse: int) -> int:
    """Return ``one * arctan(1 / inverse)`` within one unit a term."""
    power = one // inverse
    total, k = 0, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power //= inverse * inverse
        k += 2
    return total


@lru_cache
def log_of_2(bits: int) -> Fraction:
    """Return the natural logarithm of 2, less an error below ``2**-bits``."""
    # Terms are below 2^-(bits + 16) from k = bits + 16 on; those before lose a unit each.
    one, terms = 1 << (bits + 16), range(1, bits + 16)
    return Fraction(sum(one // (k << k) for k in terms), one)


@lru_cache
def _scaled_e(bits: int) -> int:
    """Return ``e * 2**bits`` within a few units, by the exponential series."""
    extra = 16
    term = total = 1 << (bits + extra)
    k = 1
    while term:
        term //= k
        total += term
        k += 1
    return total >> extra
