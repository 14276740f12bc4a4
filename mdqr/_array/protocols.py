"""NumPy's functions on `MDArray`: what exists is called, the rest is a TypeError."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.promotion import is_operand
from mdqr._functions import (
    comparison,
    elementary,
    elementwise,
    filled,
    matrices,
    power,
    reductions,
    sequences,
)

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

Function = Callable[..., Any]

# The tables are made by functions: within the cycle of imports mypy knows the types of decorated
# functions in a body only.


def matmul(a: Any, b: Any) -> MDArray:
    """Return ``a @ b``; `mdqr.linalg` is imported by the first one."""
    from mdqr import linalg

    return linalg.matmul(a, b)


def _positive(x: Any) -> MDArray:
    return x.copy()


# sinpi and cospi are not NumPy's.
_ELEMENTARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh"),
    *("arcsinh", "arccosh", "arctanh", "cbrt"),
)


def _ufuncs() -> dict[np.ufunc, Function]:
    """Return what answers each ufunc."""
    return {
        np.add: elementwise.add,
        np.subtract: elementwise.subtract,
        np.multiply: elementwise.multiply,
        np.divide: elementwise.divide,
        np.negative: elementwise.negative,
        np.positive: _positive,
        np.absolute: elementwise.abs,
        np.sign: elementwise.sign,
        np.sqrt: elementwise.sqrt,
        np.square: elementwise.square,
        np.reciprocal: elementwise.reciprocal,
        np.conjugate: elementwise.conj,
        np.hypot: elementwise.hypot,
        np.floor: elementwise.floor,
        np.ceil: elementwise.ceil,
        np.rint: elementwise.rint,
        np.power: power.power,
        np.maximum: comparison.maximum,
        np.minimum: comparison.minimum,
        np.equal: comparison.equal,
        np.not_equal: comparison.not_equal,
        np.less: comparison.less,
        np.less_equal: comparison.less_equal,
        np.greater: comparison.greater,
        np.greater_equal: comparison.greater_equal,
        np.isfinite: comparison.isfinite,
        np.isnan: comparison.isnan,
        np.isinf: comparison.isinf,
        np.matmul: matmul,
        **{getattr(np, name): getattr(elementary, name) for name in _ELEMENTARY},
    }


UFUNCS = _ufuncs()
OPERATORS: dict[np.ufunc, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.divide: "/",
    np.matmul: "@",
    np.power: "**",
}


def _method(name: str) -> Function:
    def call(a: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(a, ArrayBase):
            raise TypeError(f"numpy.{name}: the first argument must be the MDArray")
        return getattr(a, name)(*arguments, **options)

    return call


def _concatenate(arrays: Any, axis: int | None = 0) -> MDArray:
    return sequences.concatenate(arrays, axis)


def _functions() -> dict[Function, Function]:
    """Return what answers each other function of NumPy."""
    return {
        **{
            getattr(np, name): _method(name)
            for name in (
                *("sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "cumsum"),
                *("reshape", "ravel", "transpose", "copy"),
            )
        },
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: lambda a: a.size,
        np.real: lambda a: a.real,
        np.imag: lambda a: a.imag,
        np.dot: reductions.dot,
        np.vdot: reductions.vdot,
        np.outer: reductions.outer,
        np.trace: reductions.trace,
        np.polyval: power.polyval,
        np.where: comparison.where,
        np.allclose: comparison.allclose,
        np.array_equal: comparison.array_equal,
        np.concatenate: _concatenate,
        np.stack: sequences.stack,
        np.diag: matrices.diag,
        np.tril: matrices.tril,
        np.triu: matrices.triu,
        np.vander: matrices.vander,
        np.zeros_like: filled.zeros_like,
        np.ones_like: filled.ones_like,
        np.empty_like: filled.empty_like,
        np.full_like: filled.full_like,
        np.linspace: sequences.linspace,
    }


FUNCTIONS = _functions()


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any) -> Any:
    """Answer ``ufunc(*inputs)`` for operands of which one is an `MDArray`.

    Returns
    -------
    MDArray, numpy.ndarray or NotImplemented
        NotImplemented if an operand is of a type that has its own answer.

    Raises
    ------
    TypeError
        If there is no such operation, an option is given that it does not have, or the result
        should go into a NumPy array.
    """
    out = options.pop("out", (None,))
    if any(not _known(x) for x in (*inputs, *out)):
        return NotImplemented
    name = f"numpy.{ufunc.__name__}"
    if ufunc not in UFUNCS or method != "__call__":
        called = name if method == "__call__" else f"{name}.{method}"
        raise TypeError(_missing(called))
    result = UFUNCS[ufunc](*inputs)  # what is wrong with the operands is said first
    (target,) = out
    if target is not None and not isinstance(target, ArrayBase):
        raise TypeError(
            f"the result of {name} is an MDArray and does not go into a NumPy array, as that would "
            f"round every value; {_without_out(ufunc, name)}, or convert with a.to_numpy()"
        )
    if options:
        raise TypeError(f"{name} of an MDArray has no option {', '.join(options)}")
    if target is None:
        return result
    if not isinstance(result, ArrayBase):
        raise TypeError(f"the result of {name} is boolean and does not go into an MDArray")
    elementwise.store(cast("MDArray", result), cast("MDArray", target))
    return target


def array_function(function: Function, types: Any, arguments: Any, options: Any) -> Any:
    """Answer a NumPy function called with an `MDArray` among its arguments.

    Returns
    -------
    object
        NotImplemented if an argument is of a type that has its own answer.

    Raises
    ------
    TypeError
        If there is no such function, or an option is given that it does not have.
    """
    if not all(issubclass(kind, (ArrayBase, np.ndarray)) for kind in types):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}"
    answer = FUNCTIONS.get(function) or _from_linalg(function)
    if answer is None:
        raise TypeError(_missing(name))
    return answer(*arguments, **options)


def _from_linalg(function: Function) -> Function | None:
    if function.__module__ != "numpy.linalg":
        return None
    from mdqr import linalg

    found: Function | None = getattr(linalg, function.__name__, None)
    return found


def _without_out(ufunc: np.ufunc, name: str) -> str:
    """Return words for how to keep the result of `ufunc`, which may have come by an operator."""
    operator = OPERATORS.get(ufunc)
    if operator is None:
        return f"write x = {name}(...) without out"
    return f"write x = x {operator} a instead of x {operator}= a"


def _known(x: Any) -> bool:
    return x is None or is_operand(x)


def _missing(name: str) -> str:
    return (
        f"{name} has no implementation for MDArray; mdqr's own functions are in mdqr and "
        f"mdqr.linalg, and {name}(a.to_numpy()) computes with the nearest float64 values"
    )
