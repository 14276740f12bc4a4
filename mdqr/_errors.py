"""The warning that mdqr adds to NumPy's exceptions, and what its errors of memory say."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_ADVICE = "take fewer values at a time, or a lower precision"


class PrecisionWarning(UserWarning):
    """A result has fewer correct digits than its precision promises.

    Turn it into an error with ``warnings.filterwarnings("error", category=mdqr.PrecisionWarning)``.

    Examples
    --------
    >>> import mdqr
    >>> issubclass(mdqr.PrecisionWarning, UserWarning)
    True
    """


PrecisionWarning.__module__ = "mdqr"


def advised(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let the MemoryError of a function say what to reduce.

    NumPy and CuPy say how much they wanted, and not what for.
    """

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return function(*arguments, **options)
        except MemoryError as error:
            if _ADVICE in str(error):
                raise
            raise MemoryError(_explained(function.__name__, arguments, error)) from None

    return call


def all_advised(kind: type[_R]) -> type[_R]:
    """Apply `advised` to the methods of a class."""
    for name, method in list(vars(kind).items()):
        if callable(method) and not name.startswith("_"):
            setattr(kind, name, advised(method))
    return kind


def _explained(name: str, arguments: tuple[Any, ...], error: MemoryError) -> str:
    # What serves several operations is called with the name of one.
    called = next((x for x in arguments[:2] if isinstance(x, str)), name.lstrip("_"))
    held = sum(getattr(x, "nbytes", 0) for x in arguments)
    beside = f" beside operands of {held / 2**30:.3g} GiB" if held else ""
    return f"{called}: no memory{beside} ({error or 'no size is known'}); {_ADVICE}"
