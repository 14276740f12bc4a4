"""Polynomial systems with a parameter, exactly as they were given."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.promotion import precisions_in
from mdqr._functions.creation import array
from mdqr._functions.from_limbs import from_limbs
from mdqr._pickles import State, pickled
from mdqr._precision import PRECISIONS, Precision
from mdqr.series._systems import parse
from mdqr.series._systems.formats import system_text
from mdqr.series._systems.polynomial import MOST_DEGREE, ZERO, Gaussian, Polynomial
from mdqr.series._systems.products import Products

# Names in a line of text.
_MOST_SHOWN = 8


@pickled
class System:
    """A polynomial system ``F(x, t) = 0`` of m equations in n unknowns and a parameter t.

    Made by `from_strings`, `from_text`, `from_sympy` or `from_arrays`. It may be used with any
    start point, precision and device; coefficients are rounded once, to working precision.

    Attributes
    ----------
    variables : tuple of str
        The unknowns.
    parameter : str
        The parameter.
    equations : int
        The number of equations.

    Examples
    --------
    >>> from mdqr import series
    >>> h = series.System.from_strings(["(1-t)*(x^2-1) + t*(3*x^2-3/2)"], ["x"], "t")
    >>> h
    <System of 1 equation in x and the parameter t, 2 terms>
    """

    variables: tuple[str, ...]
    parameter: str
    equations: int
    _exponents: np.ndarray
    _coefficients: Coefficients
    _equation: np.ndarray

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "System cannot be constructed directly; use System.from_strings, from_text, from_sympy "
            "or from_arrays"
        )

    @classmethod
    def _make(
        cls,
        exponents: np.ndarray,
        coefficients: Coefficients,
        equation: np.ndarray,
        equations: int,
        variables: Sequence[str],
        parameter: str,
    ) -> System:
        self = object.__new__(cls)
        self._exponents, self._coefficients = exponents, coefficients
        self._equation, self.equations = equation, equations
        self.variables, self.parameter = tuple(variables), parameter
        return self

    def _state(self) -> dict[str, Any]:
        return {
            "exponents": self._exponents,
            "equation": self._equation,
            "equations": self.equations,
            "variables": self.variables,
            "parameter": self.parameter,
            **self._coefficients.state(),
        }

    @classmethod
    def _restored(cls, state: State) -> System:
        variables, equations = state.checked("variables", tuple), state.checked("equations", int)
        names = _names(variables, state.checked("parameter", str))[: len(variables)]
        exponents = state.array("exponents", np.int64, None, len(variables))
        equation = state.array("equation", np.int64, len(exponents))
        if (exponents < 0).any() or ((equation < 0) | (equation >= equations)).any():
            raise ValueError("this pickle is damaged: terms of a system are out of range")
        found = Coefficients.of_state(state, len(exponents))
        return cls._make(exponents, found, equation, equations, names, state["parameter"])

    def __repr__(self) -> str:
        many = "equation" if self.equations == 1 else "equations"
        return (
            f"<System of {self.equations} {many} in {some_names(self.variables)} and the parameter "
            f"{self.parameter}, {len(self._equation)} terms>"
        )

    @classmethod
    def from_strings(
        cls, equations: Sequence[str], variables: Sequence[str], parameter: str = "t"
    ) -> System:
        """Read polynomials.

        Parameters
        ----------
        equations : sequence of str
            Polynomials whose values are to be zero, as in ``"x^2 + 0.1*x*y - 3/7*t"``; ``**`` for
            ``^``, ``i``, ``I`` or ``j`` for the imaginary unit where no variable has that name.
            Decimal numbers are exact: ``0.1`` is 1/10. A semicolon may end each.
        variables : sequence of str
            The unknowns.
        parameter : str, optional
            The parameter.

        Returns
        -------
        System
            The system.

        Raises
        ------
        TypeError
            If an equation is not a string.
        ValueError
            If one cannot be read, with the position, or has too many terms or too long numbers.
        """
        if isinstance(equations, str):
            raise TypeError("equations must be a list of strings; from_text takes one text")
        names, found, size = _names(variables, parameter), [], 0
        for text in equations:
            if not isinstance(text, str):
                raise TypeError(f"equations must be strings; got {type(text).__name__}")
            found.append(parse.polynomial(text, names))
            size += len(found[-1]) * len(names)
            if size > parse.MOST_EXPONENTS:
                raise ValueError(
                    f"the terms have more than {parse.MOST_EXPONENTS} exponents, one for each of "
                    f"{len(names)} variables; from_arrays takes large systems"
                )
        return cls._of(found, names)

    @classmethod
    def from_text(
        cls, text: str, variables: Sequence[str] | None = None, parameter: str | None = None
    ) -> System:
        """Read a whole system: an equation a line, or a text of PHCpack or Bertini.

        Parameters
        ----------
        text : str
            Equations as `from_strings` has them, one a line or each ended by a semicolon; of
            PHCpack, with the number of equations in front, or that and the number of unknowns,
            where what follows the last equation (a title, solutions) is not read; of Bertini, with
            its declarations of variables and functions. Text after ``#`` or ``%`` is ignored.
        variables : sequence of str, optional
            The unknowns; by default those that the text declares, or all names in it but the
            parameter and ``i``, ``I``, ``j``, in the order in which they come.
        parameter : str, optional
            The parameter, a name that need not be in the text; by default Bertini's path variable,
            or t. In texts of PHCpack t may be an unknown: if the names, with t, are not more than
            the equations, it has to be given.

        Returns
        -------
        System
            The system.

        Raises
        ------
        TypeError
            If `text` is not a string.
        ValueError
            If an equation cannot be read, counts do not fit, or the parameter has to be given.

        Examples
        --------
        >>> from mdqr import series
        >>> series.System.from_text("2 x*y - t; x^2 + y^2 - 1;", ["x", "y"])
        Traceback (most recent call last):
            ...
        ValueError: '2 x*y - t': unexpected 'x' at position 3
        >>> series.System.from_text("x*y - t; x^2 + y^2 - 1;")
        <System of 2 equations in x, y and the parameter t, 5 terms>
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a string; got {type(text).__name__}")
        found = system_text(text, None if variables is None else list(variables), parameter)
        return cls.from_strings(found.equations, found.variables, found.parameter)

    @classmethod
    def from_sympy(
        cls, equations: Sequence[Any], variables: Sequence[Any], parameter: Any
    ) -> System:
        """Take SymPy expressions, polynomial in the variables and the parameter.

        Parameters
        ----------
        equations : sequence of sympy.Expr
            Expressions whose values are to be zero, or equations.
        variables : sequence of sympy.Symbol
            The unknowns.
        parameter : sympy.Symbol
            The parameter.

        Returns
        -------
        System
            The system; rational coefficients and SymPy floats are exact.

        Raises
        ------
        ValueError
            If an equation is not polynomial, or a coefficient is not a rational or complex rational
            number or a float.
        """
        import sympy

        symbols = [*variables, parameter]
        names = _names([str(symbol) for symbol in variables], str(parameter))
        found: list[Polynomial] = []
        for given in equations:
            expression = given.lhs - given.rhs if isinstance(given, sympy.Equality) else given
            try:
                terms = sympy.Poly(expression, *symbols).terms()
            except sympy.PolynomialError as error:
                raise ValueError(f"{expression} is not polynomial: {error}") from None
            found.append({exponents: _gaussian(value) for exponents, value in terms if value != 0})
        return cls._of(found, names)

    @classmethod
    def from_arrays(
        cls,
        exponents: Any,
        coefficients: Any,
        equation: Any,
        *,
        variables: Sequence[str] | int | None = None,
        parameter: str = "t",
    ) -> System:
        """Take terms ``coefficient x_1^e_1 ... x_n^e_n``.

        Parameters
        ----------
        exponents : array_like of int
            ``(terms, n)``.
        coefficients : MDArray or array_like
            ``(terms,)``, or ``(terms, d)``: the coefficients of series in the parameter.
        equation : array_like of int
            ``(terms,)``: the equation that a term belongs to, from 0 on.
        variables : sequence of str or int, optional
            The unknowns or their number; x0, x1, ... by default.
        parameter : str, optional
            The parameter.

        Returns
        -------
        System
            The system.

        Raises
        ------
        ValueError
            If shapes do not fit, or exponents are negative.

        Examples
        --------
        >>> from mdqr import series
        >>> series.System.from_arrays([[2], [0], [0]], [[1, 0], [-2, 0], [0, -1]], [0, 0, 0])
        <System of 1 equation in x0 and the parameter t, 3 terms>
        """
        powers, places = np.asarray(exponents), np.asarray(equation)
        if powers.ndim != 2 or powers.dtype.kind not in "iu" or (powers < 0).any():
            raise ValueError("exponents must be integers of shape (terms, n), none negative")
        if powers.size and powers.sum(axis=1).max() > MOST_DEGREE:
            raise ValueError(f"a degree is above {MOST_DEGREE}")
        terms, count = powers.shape
        if places.shape != (terms,) or places.dtype.kind not in "iu" or (places < 0).any():
            raise ValueError(f"equation must be integers of shape ({terms},), none negative")
        given = coefficients if isinstance(coefficients, MDArray) else np.asarray(coefficients)
        if given.shape[:1] != (terms,) or given.ndim > 2:
            raise ValueError(
                f"coefficients must have shape ({terms},) or ({terms}, d); got {given.shape}"
            )
        if variables is None or isinstance(variables, int):
            variables = [f"x{i}" for i in range(count)]
        names = _names(variables, parameter)
        if len(names) != count + 1:
            raise ValueError(f"{count} exponents a term, but {len(names) - 1} variables")
        series = given[:, None] if given.ndim == 1 else given
        equations = 1 + int(places.max(initial=-1))
        return cls._make(
            powers, Coefficients(given=series), places, equations, names[:-1], parameter
        )

    @classmethod
    def _of(cls, polynomials: Sequence[Polynomial], names: Sequence[str]) -> System:
        """Group terms by their powers of the unknowns: coefficients are polynomials in t."""
        if not polynomials:
            raise ValueError("a system needs at least one equation")
        grouped: dict[tuple[int, tuple[int, ...]], dict[int, Gaussian]] = {}
        for place, polynomial in enumerate(polynomials):
            for exponents, value in polynomial.items():
                grouped.setdefault((place, exponents[:-1]), {})[exponents[-1]] = value
        orders = 1 + max((max(series) for series in grouped.values()), default=0)
        series = [[group.get(k, ZERO) for k in range(orders)] for group in grouped.values()]
        powers = np.array([key[1] for key in grouped], int).reshape(-1, len(names) - 1)
        return cls._make(
            powers,
            Coefficients(exact=series),
            np.array([key[0] for key in grouped], int),
            len(polynomials),
            names[:-1],
            names[-1],
        )

    @property
    def is_complex(self) -> bool:
        """True if a coefficient is complex."""
        return self._coefficients.is_complex

    @property
    def _precisions(self) -> set[Precision]:
        """The precision of the coefficients; none of numbers that have none of their own."""
        return precisions_in(self._coefficients.given)

    def _rounded(self, precision: Precision) -> MDArray:
        """Return the coefficients ``(terms, d)`` of the series in the parameter, on the host."""
        return self._coefficients.rounded(precision)

    @cached_property
    def _monomials(self) -> tuple[Products, np.ndarray]:
        """The products of the unknowns, and which of them a term has; -1 for none."""
        factors = [tuple(np.repeat(np.arange(row.size), row).tolist()) for row in self._exponents]
        places = {key: i for i, key in enumerate(dict.fromkeys(f for f in factors if f))}
        products = Products.of(places, len(self.variables))
        return products, np.array([places.get(key, -1) for key in factors], int)

    @cached_property
    def _layout(self) -> Layout:
        """The indices of the terms in the sums that equations are."""
        products, monomial = self._monomials
        equation, m = self._equation, self.equations
        held = np.flatnonzero(monomial >= 0)
        held = held[np.argsort(equation[held], kind="stable")]
        starts = np.searchsorted(equation[held], np.arange(m + 1)).astype(np.int64)
        constants, left = [], np.flatnonzero(monomial < 0)
        while left.size:
            rows, first = np.unique(equation[left], return_index=True)
            constants.append((rows, left[first]))
            left = np.delete(left, first)
        return Layout(held, starts, products.monomials[monomial[held]], constants)

    def _float64(self, t: complex) -> tuple[np.ndarray, np.ndarray]:
        """Return the exponents, and the coefficients at a value of the parameter in float64."""
        series = self._rounded(PRECISIONS[0]).to_device("cpu").to_numpy()
        return self._exponents, np.polynomial.polynomial.polyval(t, series.T)


System.__module__ = "mdqr.series"


class Layout(NamedTuple):
    """The terms by their equations, the first of each, their nodes; those without unknowns.

    The latter are equations and a term of each, to be added one array after the other.
    """

    held: np.ndarray
    starts: np.ndarray
    nodes: np.ndarray
    constants: list[tuple[np.ndarray, np.ndarray]]


class Coefficients:
    """Coefficients of terms: rational numbers, or an array as it was given."""

    def __init__(self, *, exact: list[list[Gaussian]] | None = None, given: Any = None) -> None:
        self._exact, self.given = exact, given
        self._rounded: dict[Precision, MDArray] = {}

    def state(self) -> dict[str, Any]:
        """Return their values for a pickle."""
        if self._exact is None:
            return {"given": self.given}
        return {"exact": [[(value.real, value.imag) for value in row] for row in self._exact]}

    @classmethod
    def of_state(cls, state: State, terms: int) -> Coefficients:
        """Return the coefficients of a pickle.

        Raises
        ------
        ValueError
            If they do not belong to so many terms.
        """
        if "exact" not in state:
            given = state["given"]
            if np.shape(given)[:1] != (terms,):
                raise ValueError("this pickle is damaged: each term has coefficients")
            return cls(given=given)
        rows = state.checked("exact", list)
        parts = (part for row in rows for value in row for part in value)
        if len(rows) != terms or not all(isinstance(part, Fraction) for part in parts):
            raise ValueError("this pickle is damaged: the coefficients are fractions of each term")
        if len({len(row) for row in rows}) > 1:
            raise ValueError("this pickle is damaged: terms have as many coefficients")
        return cls(exact=[[Gaussian(real, imag) for real, imag in row] for row in rows])

    @cached_property
    def is_complex(self) -> bool:
        """True if a coefficient is complex."""
        if self._exact is not None:
            return any(value.imag != 0 for row in self._exact for value in row)
        if isinstance(self.given, MDArray):
            return self.given.is_complex
        return array(self.given, precision="d").is_complex

    def rounded(self, precision: Precision) -> MDArray:
        """Return them in a precision."""
        if precision not in self._rounded:
            self._rounded[precision] = self._round(precision)
        return self._rounded[precision].copy()

    def _round(self, precision: Precision) -> MDArray:
        if self._exact is None:
            return array(self.given, precision=precision)
        shape = len(self._exact), len(self._exact[0]) if self._exact else 0
        names = ("real", "imag") if self.is_complex else ("real",)
        parts = []
        for name in names:
            exact = _objects(
                [[getattr(value, name) for value in row] for row in self._exact], shape
            )
            part = array(exact, precision=precision)
            lost = np.flatnonzero(
                ~np.isfinite(part.limbs[0]) | ((part.limbs[0] == 0) & (exact != 0))
            )
            if lost.size:
                raise ValueError("a coefficient of the system is outside the range of doubles")
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        return from_limbs(np.stack([part.limbs for part in parts]), dtype=complex)


def _objects(rows: list[list[Fraction]], shape: tuple[int, int]) -> np.ndarray:
    found = np.empty(shape, dtype=object)
    for i, row in enumerate(rows):
        found[i] = row
    return found


def some_names(names: Sequence[str]) -> str:
    """Return names for a line of text: of many the first, the last and how many there are."""
    if len(names) <= _MOST_SHOWN:
        return ", ".join(names)
    first = ", ".join(names[: _MOST_SHOWN - 2])
    return f"{first}, ..., {names[-1]} ({len(names)} unknowns)"


def _names(variables: Sequence[str], parameter: str) -> list[str]:
    names = [*variables, parameter]
    if len(names) == 1:
        raise ValueError("a system needs at least one unknown")
    for name in names:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"a variable must be a name; got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"variables and the parameter must differ; got {', '.join(names)}")
    return names


def _gaussian(value: Any) -> Gaussian:
    """Return a SymPy number exactly."""
    parts = value.as_real_imag()
    if not all(part.is_Rational or part.is_Float for part in parts):
        raise ValueError(f"the coefficient {value} is not a rational number or a float")
    real, imag = (Fraction(*map(int, _ratio(part))) for part in parts)
    return Gaussian(real, imag)


def _ratio(part: Any) -> tuple[Any, Any]:
    if part.is_Rational:
        return part.p, part.q
    sign, mantissa, exponent, _ = part._mpf_
    mantissa = -int(mantissa) if sign else int(mantissa)
    return (mantissa << exponent, 1) if exponent >= 0 else (mantissa, 1 << -exponent)
