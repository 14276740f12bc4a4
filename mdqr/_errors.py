"""The warning that mdqr adds to NumPy's exceptions, and what its errors of memory say."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from reprlib import Repr
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
ADVICE = "take fewer values at a time, or a lower precision"


class PrecisionWarning(UserWarning):
    """Warning for results with fewer correct digits than their precision, or not fixed by the data.

    Digits refer to the result for the operands as they are stored.
    Turn it into an error with ``warnings.filterwarnings("error", category=mdqr.PrecisionWarning)``.

    Examples
    --------
    >>> import mdqr
    >>> issubclass(mdqr.PrecisionWarning, UserWarning)
    True
    """


PrecisionWarning.__module__ = "mdqr"


def warn_of_precision(message: str, category: type[Warning] = PrecisionWarning) -> None:
    """Give a warning at the line outside of the package that called it."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").partition(".")[0] == "mdqr":
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def advised(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let the MemoryError of a public function say what to reduce.

    NumPy and CuPy say how much they wanted, and not what for. A function whose first parameter is
    `op` serves several operations and is called with the name of one.
    """
    is_operation = next(iter(signature(function).parameters), "") == "op"

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return function(*arguments, **options)
        except MemoryError as error:
            if ADVICE in str(error):
                raise
            name = str(arguments[0]) if is_operation else _name_of(function)
            raise MemoryError(_explained(name, arguments, error)) from None

    return call


def all_advised(kind: type[_R]) -> type[_R]:
    """Apply `advised` to the constructor and the public methods of a class."""
    for name, method in list(vars(kind).items()):
        if callable(method) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, advised(method))
    return kind


def shortened(text: str, most: int = 60) -> str:
    """Return a text of the caller's for a message, without its end if that is far."""
    return text if len(text) <= most else text[: most - 3] + "..."


def shown(x: object, most: int = 60) -> str:
    """Return what was given for an option, for a message: short, whatever it is.

    Its `repr` may be long, raise, or go into a list that is nested without end.
    """
    try:
        return shortened(_short.repr(x), most)
    except Exception:  # of a class of the caller's
        return f"an object of type {shortened(type(x).__name__)}"


def _name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, for a constructor that of its class."""
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2].strip("_")


def _explained(name: str, arguments: tuple[Any, ...], error: MemoryError) -> str:
    held = sum(getattr(getattr(x, "limbs", x), "nbytes", 0) for x in arguments)
    held_text = f" beside operands of {held / 2**30:.3g} GiB" if held else ""
    return f"{name}: no memory{held_text} ({str(error) or 'no size is known'}); {ADVICE}"
