"""Texts of polynomials, read by recursive descent; nothing is evaluated as Python.

    sum     = [+|-] product {(+|-) product}
    product = power {(*|/) power}
    power   = atom [(^|**) integer]
    atom    = number | name | ( sum )

Numbers are taken exactly: ``0.1`` is 1/10. Division is by constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, TypeVar

from mdqr._errors import shortened
from mdqr.series._systems import polynomial as poly
from mdqr.series._systems.polynomial import Polynomial

_T = TypeVar("_T")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|[-+*/^();]))"
)
_IMAGINARY = ("i", "I", "j")
MOST_TEXT, MOST_DEPTH, MOST_EXPONENT = 1_000_000, 100, 10_000
# Exponents of all terms of a system together: each term has one for every variable.
MOST_EXPONENTS = 20_000_000


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def polynomial(text: str, names: Sequence[str]) -> Polynomial:
    """Read a polynomial in the named variables.

    Parameters
    ----------
    text : str
        The polynomial; a semicolon may end it.
    names : sequence of str
        The variables. ``i``, ``I`` and ``j`` are the imaginary unit unless they are among them.

    Returns
    -------
    dict
        Coefficients by exponents.

    Raises
    ------
    ValueError
        If it is not such a text, with the position; or too large.
    """
    if len(text) > MOST_TEXT:
        raise ValueError(f"a polynomial of {len(text)} characters; at most {MOST_TEXT} are read")
    return _Reader(text, names).whole()


class _Reader:
    """One text, and the place where it is read."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._text, self._names = text, {name: i for i, name in enumerate(names)}
        self._work = poly.Work()
        self._tokens, self._next, self._depth = list(_tokens(text)), 0, 0

    def whole(self) -> Polynomial:
        """Read all of it."""
        found = self._sum()
        self._take(";")
        if self._peek().kind != "end":
            self._refuse("unexpected")
        return found

    def _sum(self) -> Polynomial:
        found: Polynomial = {}
        sign = self._take("+", "-")
        while True:
            self._checked(poly.add_to, found, self._product(), -1 if sign == "-" else 1)
            if len(found) * len(self._names) > MOST_EXPONENTS:
                self._refuse(f"more than {MOST_EXPONENTS} exponents in all terms before")
            sign = self._take("+", "-")
            if not sign:
                return found

    def _product(self) -> Polynomial:
        found = self._power()
        while sign := self._take("*", "/"):
            start = self._next
            factor = self._power()
            if sign == "/":
                factor = self._inverse(factor, start)
            found = self._checked(poly.multiply, found, factor, self._work)
        return found

    def _power(self) -> Polynomial:
        base = self._atom()
        if not self._take("^", "**"):
            return base
        token = self._peek()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 9:
            self._refuse("an exponent must be a natural number, not")
        self._next += 1
        return self._checked(poly.power, base, int(token.text), len(self._names), self._work)

    def _atom(self) -> Polynomial:
        token, count = self._peek(), len(self._names)
        if self._take("("):
            self._depth += 1
            if self._depth > MOST_DEPTH:
                self._refuse(f"more than {MOST_DEPTH} open parentheses at")
            found = self._sum()
            if not self._take(")"):
                self._refuse("a closing parenthesis is missing before")
            self._depth -= 1
            return found
        if token.kind == "number":
            self._next += 1
            return poly.constant(poly.Gaussian(_exact(token, self._text), Fraction(0)), count)
        if token.kind == "name" and token.text in self._names:
            self._next += 1
            return poly.variable(self._names[token.text], count)
        if token.kind == "name" and token.text in _IMAGINARY:
            self._next += 1
            return poly.constant(poly.IMAGINARY, count)
        if token.kind == "name":
            known = shortened(", ".join(self._names))
            self._refuse(f"unknown variable (there are {known}):")
        return self._refuse("a number, a variable or a parenthesis is missing before")

    def _inverse(self, factor: Polynomial, start: int) -> Polynomial:
        constant = (0,) * len(self._names)
        if set(factor) != {constant}:
            self._next = start
            self._refuse("only numbers that are not zero may divide, not")
        return {constant: factor[constant].inverse()}

    def _checked(self, function: Callable[..., _T], *arguments: Any) -> _T:
        try:
            return function(*arguments)
        except poly.TooLarge as error:
            raise ValueError(f"{_shown(self._text)}: {error}") from None

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *signs: str) -> str:
        token = self._peek()
        if token.kind != "sign" or token.text not in signs:
            return ""
        self._next += 1
        return token.text

    def _refuse(self, why: str) -> NoReturn:
        token = self._peek()
        what = "the end" if token.kind == "end" else _shown(token.text)
        raise ValueError(f"{_shown(self._text)}: {why} {what} at position {token.position + 1}")


def _tokens(text: str) -> list[_Token]:
    found, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            start = len(text) - len(text[place:].lstrip())
            raise ValueError(f"{_shown(text)}: unexpected {text[start]!r} at position {start + 1}")
        kind = str(match.lastgroup)
        found.append(_Token(kind, match.group(kind), match.start(kind)))
        place = match.end()
    return [*found, _Token("end", "", len(text))]


def _exact(token: _Token, text: str) -> Fraction:
    """Return a decimal number as a fraction; its exponent must be one of a double's reach."""
    _, _, exponent = token.text.lower().partition("e")
    if exponent and (len(exponent) > 7 or abs(int(exponent)) > MOST_EXPONENT):
        raise ValueError(
            f"{_shown(text)}: the exponent of {_shown(token.text)} at position "
            f"{token.position + 1} is beyond {MOST_EXPONENT}"
        )
    return Fraction(token.text)


def _shown(text: str) -> str:
    return repr(shortened(text))
