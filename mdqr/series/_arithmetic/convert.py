"""Series as text, the way they are written in mathematics, and as expressions of SymPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray

# Terms that are not zero, and digits of a coefficient.
_MOST_TERMS, _DIGITS = 8, 6


def series_text(coefficients: np.ndarray, name: str) -> str:
    """Return ``1 + 0.5 t - ... + O(t^9)`` of float64 or complex128 coefficients."""
    held = np.flatnonzero(coefficients)
    terms = [_term(coefficients[k], int(k), name) for k in held[:_MOST_TERMS]]
    text = " + ".join(terms).replace("+ -", "- ") or "0"
    more = " + ..." if len(held) > _MOST_TERMS else ""
    return f"{text}{more} + O({_power(len(coefficients), name)})"


def _power(order: int, name: str) -> str:
    return "1" if order == 0 else name if order == 1 else f"{name}^{order}"


def _term(value: Any, order: int, name: str) -> str:
    text = f"{value:.{_DIGITS}g}"
    if np.iscomplexobj(value):
        text = f"({text})" if value.imag else f"{value.real:.{_DIGITS}g}"
    if not order:
        return text
    sign = {"1": "", "-1": "-"}.get(text, f"{text} ")
    return sign + _power(order, name)


def to_sympy(coefficients: MDArray, variable: Any, about: MDArray | None = None) -> Any:
    """Return a polynomial with coefficients of as many bits as the precision has.

    Parameters
    ----------
    coefficients : MDArray
        ``(d + 1,)``.
    variable : sympy.Symbol
        Its variable.
    about : MDArray, optional
        What is taken off the variable, 0-d.
    """
    import sympy

    bits = coefficients.precision.bits

    def number(x: MDArray) -> Any:
        parts = [sympy.Float(_rational(part), precision=bits) for part in (x.real, x.imag)]
        return parts[0] + sympy.I * parts[1] if x.is_complex and parts[1] else parts[0]

    def _rational(part: MDArray) -> Any:
        exact = part.to_fractions().item()
        return sympy.Rational(exact.numerator, exact.denominator)

    s = variable if about is None or bool(about == 0) else variable - number(about)
    return sympy.Add(*(number(coefficients[k]) * s**k for k in range(coefficients.shape[0])))
