"""The terms of a model: columns, powers of one column, or a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mdqr._array.array import MDArray
from mdqr._cli.columns import Columns, Values
from mdqr._cli.expressions import (
    ExpressionError,
    constant,
    evaluate,
    hide_decimals,
    names_in,
    product,
    widest,
)
from mdqr._errors import shortened
from mdqr._functions.matrices import vander
from mdqr._io.loadtxt import listed

INTERCEPT = "intercept"


class Model(Protocol):
    """A linear model of columns."""

    target: str  # what is fitted, for people
    names: list[str]  # of the coefficients

    @property
    def variables(self) -> list[str]:
        """The columns that `matrix` takes."""
        ...

    @property
    def wanted(self) -> list[str]:
        """The columns that `response` takes."""
        ...

    def matrix(self, columns: Columns) -> Values:
        """Return the matrix ``(rows, coefficients)``, and bounds of its errors."""
        ...

    def response(self, columns: Columns) -> Values:
        """Return the right-hand side, and bounds of its errors."""
        ...


@dataclass
class ColumnModel:
    """Some columns, or the powers up to `degree` of one, and a constant."""

    target: str
    features: list[str]
    degree: int | None
    intercept: bool

    def __post_init__(self) -> None:
        if self.degree is not None and len(self.features) != 1:
            raise ValueError(
                f"--poly needs one column for its variable, there are {len(self.features)} "
                f"({listed(self.features)}); name it with --features"
            )
        self.names = list(self.features)
        if self.degree is not None:
            name = self.features[0]
            powers = range(1, self.degree + 1)
            self.names = [name if k == 1 else f"{name}^{k}" for k in powers]
        if self.intercept:
            self.names.insert(0, unused(INTERCEPT, self.names))
        if not self.names:
            raise ValueError("the model has no coefficient; give --features or --intercept")

    @property
    def variables(self) -> list[str]:
        """The features."""
        return self.features

    @property
    def wanted(self) -> list[str]:
        """The target."""
        return [self.target]

    def matrix(self, columns: Columns) -> Values:
        """Return columns or powers side by side."""
        if self.degree is not None:
            found = [_powers(columns.values[self.features[0]], self.degree)]
        else:
            parts = [columns.values[name] for name in self.features]
            found = [Values(v.value.reshape(-1, 1), v.error[:, None]) for v in parts]
        rows = len(columns.lines)
        if self.intercept:
            one = constant("1", columns.precision)
            found.insert(0, Values(one.value.reshape(1, 1), one.error[:, None]))
        return _side_by_side(found, rows)

    def response(self, columns: Columns) -> Values:
        """Return the target."""
        return columns.values[self.target]


@dataclass
class FormulaModel:
    """The terms of a formula, each a list of factors: columns, decimals and expressions."""

    target: str
    names: list[str]
    left: list[str]
    terms: list[list[str]]
    columns: frozenset[str]  # names that are columns as they stand, such as "a b"

    @property
    def variables(self) -> list[str]:
        """The columns in the terms."""
        return self._in([factor for term in self.terms for factor in term])

    @property
    def wanted(self) -> list[str]:
        """The columns of the left side."""
        return self._in(self.left)

    def _in(self, factors: list[str]) -> list[str]:
        names = [[f] if f in self.columns else names_in(f) for f in factors]
        return list(dict.fromkeys(name for some in names for name in some))

    def matrix(self, columns: Columns) -> Values:
        """Return the terms side by side."""
        found = [self._term(term, columns) for term in self.terms]
        wide = [Values(v.value.reshape(-1, 1), v.error[:, None]) for v in found]
        return _side_by_side(wide, len(columns.lines))

    def response(self, columns: Columns) -> Values:
        """Return the left side."""
        found = self._term(self.left, columns)
        return _checked(found, self.target, columns)

    def _term(self, factors: list[str], columns: Columns) -> Values:
        result: Values | None = None
        for factor in factors:
            if factor in self.columns:
                value = columns.values[factor]
            else:
                value = evaluate(factor, columns.values, columns.precision)
                value = _checked(value, factor, columns)
            result = value if result is None else product(result, value)
        return constant("1", columns.precision) if result is None else result


def formula_model(text: str) -> FormulaModel:
    """Return the model of a formula such as ``y ~ x + log(z)``.

    Raises
    ------
    ExpressionError
        If it is none.
    ImportError
        If formulaic is not installed.
    """
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError as error:
        raise ImportError('formulas need formulaic: pip install "mdqr[formula]"') from error
    hidden, shown = hide_decimals(text)
    try:
        formula: Any = Formula(hidden)
    except (FormulaicError, SyntaxError) as error:
        reason = shown(str(error)).partition("\n")[0]
        raise ExpressionError(f"--formula {shortened(text)!r}: {reason}") from None
    if not hasattr(formula, "lhs") or len(formula.lhs) != 1:
        raise ExpressionError(f"--formula {shortened(text)!r}: wanted one target, as in 'y ~ x'")
    plain: set[str] = set()

    def factors(term: Any) -> list[str]:
        plain.update(f.expr for f in term.factors if f.eval_method.value == "lookup")
        return [shown(f.expr) for f in term.factors if f.expr != "1"]

    (left,) = formula.lhs
    terms = [factors(term) for term in formula.rhs]
    names = [shown(str(term)) for term in formula.rhs]
    constant_name = unused(INTERCEPT, names)
    names = [constant_name if name == "1" else name for name in names]
    if not names:
        raise ExpressionError(f"--formula {shortened(text)!r}: the model has no coefficient")
    return FormulaModel(shown(str(left)), names, factors(left), terms, frozenset(plain))


def unused(name: str, names: Sequence[str]) -> str:
    """Return `name`, in parentheses until it is none of the others."""
    while name in names:
        name = f"({name})"
    return name


def _checked(x: Values, text: str, columns: Columns) -> Values:
    """Return the values of an expression, if all are finite."""
    bad = np.flatnonzero(~np.isfinite(x.value.to_numpy()))
    if bad.size:
        line = columns.lines[bad[0]] if x.value.size > 1 else columns.lines[0]
        raise ExpressionError(f"line {line}: {shortened(text)!r} is not a finite number there")
    return x


def _side_by_side(parts: Sequence[Values], rows: int) -> Values:
    limbs = [
        np.broadcast_to(v.value.limbs, (*v.value.limbs.shape[:1], rows, v.value.shape[1]))
        for v in parts
    ]
    errors = [np.broadcast_to(v.error, (rows, v.error.shape[1])) for v in parts]
    block = np.ascontiguousarray(np.concatenate(limbs, axis=-1))
    value = MDArray._wrap(block, parts[0].value.precision, False)
    return Values(value, np.concatenate(errors, axis=1))


def _powers(x: Values, degree: int) -> Values:
    """Return the powers 1 to `degree`, and bounds of their errors."""
    precision = x.value.precision
    powers = vander(x.value, degree + 1, increasing=True)[:, 1:]
    k, size = np.arange(1, degree + 1), np.abs(x.value.to_numpy())[:, None]
    with np.errstate(all="ignore"):
        carried = k * size ** (k - 1) * x.error[:, None]
        rounded = 2.0 * (k - 1) * precision.eps * size**k
    fits = widest(x) * k <= 53 * precision.limbs  # such powers are exact
    return Values(powers, carried + np.where(fits, 0.0, rounded))
