"""NumPy's functions on `MDArray`: what exists is called, the rest is a TypeError."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._array.refusals import missing
from mdqr._array.tables import FUNCTIONS, METHODS, OPERATORS, SCIPY_UFUNCS, UFUNCS
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import arithmetic, is_operand
from mdqr._functions import elementwise

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._precision import Precision

Function = Callable[..., Any]


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any) -> Any:
    """Answer ``ufunc(*inputs)`` for operands of which one is an `MDArray`.

    Returns
    -------
    MDArray, numpy.ndarray or NotImplemented
        NotImplemented if an operand is of a type that has its own answer.

    Raises
    ------
    TypeError
        If the operation does not exist, an option is given that it does not have, or the result
        should go into a NumPy array.
    """
    out = options.pop("out", (None,))
    options = _without_default_type(options, inputs)
    if any(not _known(x) for x in (*inputs, *out)):
        return NotImplemented
    name = _name(ufunc)
    answer = UFUNCS.get(ufunc) or SCIPY_UFUNCS.get(name)
    if answer is not None and method != "__call__":
        answer = _of_method(answer, ufunc, method, options)
    if answer is None:
        raise TypeError(missing(name if method == "__call__" else f"{name}.{method}"))
    result = answer(*map(arithmetic, inputs))  # what is wrong with the operands is said first
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


def _of_method(
    answer: Function, ufunc: np.ufunc, method: str, options: dict[str, Any]
) -> Function | None:
    """Return what answers a method of a ufunc, with the options that it has; None if nothing."""
    if method == "outer":
        return lambda x, y: answer(_in_front(x)[(..., *(None,) * np.ndim(y))], y)
    function = METHODS.get((ufunc, method))
    if function is None:
        return None
    given = {"axis": 0} | {key: options.pop(key) for key in ("axis", "keepdims") if key in options}
    return partial(function, **given)


def _in_front(x: Any) -> Any:
    return x if isinstance(x, ArrayBase) else np.asarray(x)


def array_namespace(precision: Precision, api_version: str | None) -> Any:
    """Return the namespace of the array API for arrays of a precision.

    Raises
    ------
    ValueError
        If it does not follow that version of the standard.
    """
    from mdqr.array_api import _namespace

    _namespace.checked(api_version)
    return _namespace.namespace(precision)


def array_function(function: Function, types: Any, arguments: Any, options: Any) -> Any:
    """Answer a NumPy function called with an `MDArray` among its arguments.

    Returns
    -------
    object
        NotImplemented if an argument is of a type that has its own answer.

    Raises
    ------
    TypeError
        If the function does not exist, or an option is given that it does not have.
    """
    if not all(issubclass(kind, (ArrayBase, np.ndarray)) for kind in types):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}"
    answer = FUNCTIONS.get(function) or _from_module(function)
    if answer is None:
        raise TypeError(missing(name))
    options = _without_default_type(options, arguments)
    if options:
        arguments, options = _by_position(function, answer, arguments, options)
    return answer(*arguments, **options)


def _without_default_type(options: dict[str, Any], operands: Any) -> dict[str, Any]:
    """Return options without a ``dtype`` that all operands have.

    It is None, or the type of NumPy for their field, in which Dask's arrays of blocks pose.
    """
    dtype = options.get("dtype", options)
    if dtype is not None and dtype is not options:
        fields = {x.is_complex for x in operands if isinstance(x, ArrayBase)}
        if not _is_field(dtype) or fields != {dtype == np.complex128}:
            return options
    return {name: value for name, value in options.items() if name != "dtype"}


def _is_field(dtype: Any) -> bool:
    # The word is Dask's default for means.
    return dtype == "f8" or (isinstance(dtype, np.dtype) and dtype in (np.float64, np.complex128))


def _by_position(
    function: Function, answer: Function, arguments: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call with the data in their places that NumPy takes by name, too."""
    given, rest = list(arguments), dict(options)
    for name in _names_of_data(function, answer)[len(given) :]:
        if name not in rest:
            break
        given.append(rest.pop(name))
    return tuple(given), rest


@cache
def _names_of_data(function: Function, answer: Function) -> tuple[str, ...]:
    """Return NumPy's names of the parameters that `answer` takes by position only."""
    own = [p.name for p in signature(answer).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    try:
        return tuple(signature(function).parameters)[: len(own)]
    except ValueError:  # functions in C have no signature before NumPy 2.4
        return tuple(own)


def _from_module(function: Function) -> Function | None:
    """Return the function of that name in `mdqr.linalg` or `mdqr.fft`, if NumPy's is in its own."""
    parent, _, name = function.__module__.rpartition(".")
    if parent != "numpy" or name not in ("linalg", "fft"):
        return None
    module = import_module(f"mdqr.{name}")
    found: Function | None = getattr(module, function.__name__, None)
    return found


def _name(ufunc: np.ufunc) -> str:
    """Return where NumPy has it, or the bare name of one that is not NumPy's."""
    name = ufunc.__name__
    return f"numpy.{name}" if getattr(np, name, None) is ufunc else name


def _without_out(ufunc: np.ufunc, name: str) -> str:
    """Return words for how to keep the result of `ufunc`, which may have come by an operator."""
    operator = OPERATORS.get(ufunc)
    if operator is None:
        return f"write x = {name}(...) without out"
    return f"write x = x {operator} a instead of x {operator}= a"


def _known(x: Any) -> bool:
    return x is None or is_operand(x)
