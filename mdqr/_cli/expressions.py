"""Expressions of columns, evaluated in the precision of a fit, with bounds of their errors.

An error of the operands is carried on to first order by the derivative, and each operation adds
its own: 2 eps, elementary functions 4 eps of the result. Products of short numbers are exact.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._cli.columns import Values
from mdqr._convert.arrays import exact_parts, objects_to_block
from mdqr._errors import shortened
from mdqr._precision import Precision

Derivative = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of the operand and the result

FUNCTIONS: dict[str, Derivative] = {
    "exp": lambda x, r: r,
    "expm1": lambda x, r: r + 1,
    "log": lambda x, r: 1 / x,
    "log1p": lambda x, r: 1 / (1 + x),
    "log2": lambda x, r: 1 / (x * np.log(2)),
    "log10": lambda x, r: 1 / (x * np.log(10)),
    "sqrt": lambda x, r: 0.5 / r,
    "cbrt": lambda x, r: 1 / (3 * r * r),
    "abs": lambda x, r: np.ones_like(x),
    "sin": lambda x, r: np.cos(x),
    "cos": lambda x, r: np.sin(x),
    "tan": lambda x, r: 1 + r * r,
    "arctan": lambda x, r: 1 / (1 + x * x),
    "sinh": lambda x, r: np.cosh(x),
    "cosh": lambda x, r: np.sinh(x),
    "tanh": lambda x, r: 1 - r * r,
}
_MODULES = ("np", "numpy", "mdqr")
_TOKEN = re.compile(
    r"""(?P<quoted>`[^`]*`|'[^']*'|"[^"]*")
    |(?P<open>(?P<call>(?<=[\w.])\(|\{)|\()
    |(?P<close>[)}])
    |(?P<decimal>(?<![\w.])(?=[\d.]*\d)[\d_]*(?:\.[\d_]*(?:e[+-]?[\d_]+)?|e[+-]?[\d_]+))""",
    re.VERBOSE | re.IGNORECASE,
)


class ExpressionError(ValueError):
    """A formula that is none, or means nothing here."""


def hide_decimals(formula: str) -> tuple[str, Callable[[str], str]]:
    """Replace the decimals in expressions by names, and return what takes them back.

    formulaic writes expressions in its own way, with the decimals rounded to float64.
    """
    names: dict[str, str] = {}
    calls: list[bool] = []  # of the parentheses that are open: whether what is inside is evaluated

    def replaced(match: re.Match[str]) -> str:
        text = match[0]
        if match["open"]:
            calls.append(bool(match["call"]) or any(calls))
        elif match["close"] and calls:
            calls.pop()
        elif match["decimal"] and any(calls):
            return names.setdefault(text, f"_decimal_{len(names)}_")
        return text

    hidden = _TOKEN.sub(replaced, formula)
    decimals = {name: text for text, name in names.items()}

    def shown(text: str) -> str:
        return re.sub(r"_decimal_\d+_", lambda match: decimals.get(match[0], match[0]), text)

    return hidden, shown


def evaluate(text: str, columns: Mapping[str, Values], precision: Precision) -> Values:
    """Return the values of an expression of columns.

    Raises
    ------
    ExpressionError
        If the text is not an expression, or has something else than columns, decimals, operators
        and `FUNCTIONS`.
    """
    algebra = Algebra(
        columns.__getitem__,
        lambda decimal: constant(decimal, precision),
        lambda x: Values(-x.value, x.error),
        _OPERATORS,
        _power,
        _call,
    )
    with np.errstate(all="ignore"):
        found: Values = value_of(parsed(text), text, algebra)
    return found


def parsed(text: str) -> ast.expr:
    """Return the tree of an expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ExpressionError(f"cannot read {shortened(text)!r} as an expression") from None


def names_in(text: str) -> list[str]:
    """Return the names of columns in an expression, each once."""
    tree = parsed(text)
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inside = {child for node in called for child in ast.walk(node)}
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in inside]
    return list(dict.fromkeys(names))


class Algebra(NamedTuple):
    """The meaning of an expression: values of names and constants, and operations."""

    name: Callable[[str], Any]
    constant: Callable[[str], Any]
    negative: Callable[[Any], Any]
    operators: Mapping[type, Callable[[Any, Any], Any]]
    power: Callable[[Any, Any, ast.expr], Any]
    call: Callable[[str, Any], Any]


def value_of(node: ast.expr, text: str, algebra: Algebra) -> Any:
    """Return the value of a tree.

    Raises
    ------
    ExpressionError
        If it has something else than names, decimals, operators and functions of one argument.
    """

    def of(part: ast.expr) -> Any:
        return value_of(part, text, algebra)

    if isinstance(node, ast.Name):
        return algebra.name(node.id)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return algebra.constant(ast.get_source_segment(text.strip(), node) or "")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = of(node.operand)
        return algebra.negative(inner) if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return algebra.power(of(node.left), of(node.right), node.right)
    if isinstance(node, ast.BinOp) and type(node.op) in algebra.operators:
        return algebra.operators[type(node.op)](of(node.left), of(node.right))
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return algebra.call(_known(node.func), of(node.args[0]))
    raise ExpressionError(
        f"{shortened(ast.unparse(node))!r} has no meaning in a formula; there are columns, "
        f"numbers, + - * / **, I(...) and functions: {', '.join(FUNCTIONS)}"
    )


def _known(function: ast.expr) -> str:
    """Return the name of a known function."""
    name = _called(function)
    if name != "I" and name not in FUNCTIONS:
        raise ExpressionError(
            f"{shortened(name)!r} is no function of formulas; there are I, {', '.join(FUNCTIONS)}"
        )
    return name


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id in _MODULES else ast.unparse(function)
    return ast.unparse(function)


def constant(text: str, precision: Precision) -> Values:
    """Return a decimal as a column of one row."""
    wide, _ = objects_to_block([text], precision.limbs + 1)
    value = mdqr.array([text], precision=precision)
    lost = wide[-1] != 0
    return Values(value, np.where(lost, np.abs(value.to_numpy()) * precision.eps, 0.0))


def _call(name: str, x: Values) -> Values:
    if name == "I":
        return x
    result: MDArray = getattr(mdqr, name)(x.value)
    near = result.to_numpy()
    slope = np.abs(FUNCTIONS[name](x.value.to_numpy(), near))
    own = 0.0 if name == "abs" else 4 * x.value.precision.eps
    return Values(result, np.where(x.error == 0, 0.0, slope * x.error) + own * np.abs(near))


def _power(x: Values, exponent: Values, node: ast.expr) -> Values:
    if any(isinstance(part, ast.Name) for part in ast.walk(node)):
        raise ExpressionError(f"the exponent {ast.unparse(node)!r} must be a number, not a column")
    k = exponent.value[0]
    result = x.value ** (int(k) if k in (1, 2, 3) else k)  # these are products
    near, power = np.abs(result.to_numpy()), float(k)
    slope = np.abs(power) * np.abs(x.value.to_numpy()) ** (power - 1)
    is_whole = 0 <= power < 2**20 and power == int(power)
    exact = is_whole and _fits(int(power) * widest(x), x)
    carried = np.where(x.error == 0, 0.0, slope * x.error)
    return Values(result, carried + (0.0 if exact else 4 * x.value.precision.eps * near))


def _sum(sign: int) -> Callable[[Values, Values], Values]:
    def combined(x: Values, y: Values) -> Values:
        result: Any = x.value + y.value if sign > 0 else x.value - y.value
        rounding = 2 * result.precision.eps * np.abs(result.to_numpy())
        return Values(result, x.error + y.error + rounding)

    return combined


def product(x: Values, y: Values) -> Values:
    """Return the product."""
    result: Any = x.value * y.value
    a, b = np.abs(x.value.to_numpy()), np.abs(y.value.to_numpy())
    carried = a * y.error + b * x.error + x.error * y.error
    exact = _fits(widest(x) + widest(y), x)
    return Values(result, carried + (0.0 if exact else 2 * result.precision.eps * a * b))


def _quotient(x: Values, y: Values) -> Values:
    result: Any = x.value / y.value
    near, b = np.abs(result.to_numpy()), np.abs(y.value.to_numpy())
    carried = (x.error + near * y.error) / (b - y.error)
    return Values(result, carried + 2 * result.precision.eps * near)


_OPERATORS: dict[type, Callable[[Values, Values], Values]] = {
    ast.Add: _sum(1),
    ast.Sub: _sum(-1),
    ast.Mult: product,
    ast.Div: _quotient,
}


def _fits(bits: int, x: Values) -> bool:
    """Return whether results of so many bits are exact."""
    return bits <= 53 * x.value.precision.limbs


def widest(x: Values) -> int:
    """Return the number of bits between the first and the last set bit of any value."""
    spans = [0]
    for part in exact_parts(x.value.limbs):
        if not isinstance(part, float):
            man = abs(part[0])
            spans.append((man // (man & -man)).bit_length())
    return max(spans)
