"""The elementwise functions, a line each: the name in the standard, and what computes it."""

from __future__ import annotations

from typing import Any

import mdqr
from mdqr._core.base import ArrayBase
from mdqr._functions import comparison, elementwise, special
from mdqr.array_api import _dispatch as dispatch
from mdqr.array_api._dispatch import Function

# Of numbers of every kind: the name, and mdqr's function; NumPy's has the name of the standard.
UNARY: dict[str, Function] = {
    "abs": mdqr.abs,
    "ceil": mdqr.ceil,
    "floor": mdqr.floor,
    "isfinite": mdqr.isfinite,
    "isinf": mdqr.isinf,
    "isnan": mdqr.isnan,
    "logical_not": mdqr.logical_not,
    "negative": mdqr.negative,
    "positive": lambda x: x.copy(),
    "round": mdqr.round,
    "sign": mdqr.sign,
    "square": mdqr.square,
    "trunc": mdqr.trunc,
    "conj": mdqr.conj,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
}
BINARY: dict[str, Function] = {
    "add": elementwise.add,
    "subtract": elementwise.subtract,
    "multiply": elementwise.multiply,
    "floor_divide": mdqr.floor_divide,
    "remainder": mdqr.remainder,
    "pow": mdqr.power,
    "maximum": mdqr.maximum,
    "minimum": mdqr.minimum,
    "equal": comparison.equal,
    "not_equal": comparison.not_equal,
    "less": comparison.less,
    "less_equal": comparison.less_equal,
    "greater": comparison.greater,
    "greater_equal": comparison.greater_equal,
    "logical_and": mdqr.logical_and,
    "logical_or": mdqr.logical_or,
    "logical_xor": mdqr.logical_xor,
}
# Of floating-point numbers only: the name, and that of mdqr's function. Functions that are not
# there are not in the namespace.
FLOATING_UNARY = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "reciprocal": "reciprocal",
    "signbit": "signbit",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}
FLOATING_BINARY = {
    "atan2": "arctan2",
    "copysign": "copysign",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "nextafter": "nextafter",
}
# Of integers and booleans only: NumPy's.
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")


def _named(function: Function, name: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "mdqr.array_api"
    function.__doc__ = f"Return what `{name}` is in the array API or SciPy, value by value."
    return function


def _unary(name: str, ours: Function) -> Function:
    def function(x: Any, /) -> Any:
        return dispatch.as_arrays(dispatch.call(ours, name, (x,)))

    return _named(function, name)


def _binary(name: str, ours: Function) -> Function:
    def function(x1: Any, x2: Any, /) -> Any:
        return dispatch.as_arrays(dispatch.call(ours, name, (x1, x2)))

    return _named(function, name)


def _floating_unary(name: str, ours: Function) -> Function:
    def function(x: Any, /) -> Any:
        return dispatch.as_arrays(ours(*dispatch.of_floats(name, x)))

    return _named(function, name)


def _floating_binary(name: str, ours: Function) -> Function:
    def function(x1: Any, x2: Any, /) -> Any:
        return dispatch.as_arrays(ours(*dispatch.of_floats(name, x1, x2)))

    return _named(function, name)


def _bitwise(name: str) -> Function:
    def function(x1: Any, x2: Any, /) -> Any:
        return _integral(name, x1, x2)

    return _named(function, name)


def _bitwise_invert(x: Any, /) -> Any:
    return _integral("bitwise_invert", x)


def _integral(name: str, *arrays: Any) -> Any:
    if any(isinstance(x, (ArrayBase, float, complex)) for x in arrays):
        raise TypeError(f"{name} is for integers and booleans")
    dispatch.check(name, arrays)
    return dispatch.as_arrays(getattr(dispatch.module_of(*arrays), name)(*arrays))


FUNCTIONS: dict[str, Function] = {
    **{name: _unary(name, ours) for name, ours in UNARY.items()},
    **{name: _binary(name, ours) for name, ours in BINARY.items()},
    **{
        name: _floating_unary(name, getattr(mdqr, ours))
        for name, ours in FLOATING_UNARY.items()
        if hasattr(mdqr, ours)
    },
    **{
        name: _floating_binary(name, getattr(mdqr, ours))
        for name, ours in FLOATING_BINARY.items()
        if hasattr(mdqr, ours)
    },
    "divide": _floating_binary("divide", elementwise.divide),
    **{name: _bitwise(name) for name in BITWISE},
    "bitwise_invert": _named(_bitwise_invert, "bitwise_invert"),
}

# What SciPy asks a namespace for, as `scipy.special` names it; not of the standard.
SPECIAL: dict[str, Function] = {
    **{name: _floating_unary(name, ours) for name, ours in special.UNARY.items()},
    **{name: _floating_binary(name, ours) for name, ours in special.BINARY.items()},
}
