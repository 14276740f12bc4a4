"""The warnings that mdqr adds to NumPy's exceptions, and its errors of memory."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from reprlib import Repr
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from mdqr._pickles import State, pickled
from mdqr._progress import Report

if TYPE_CHECKING:
    from mdqr._precision import Precision

_P = ParamSpec("_P")
_R = TypeVar("_R")
# Their names are not part of messages.
_MODULES = ("approx", "fft", "linalg", "optimize", "quadrature", "series", "sparse", "tensorcore")
_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
ADVICE = "take fewer values at a time, or a lower precision"


@pickled
class PrecisionWarning(RuntimeWarning):
    """Warning for results with fewer correct digits than their precision.

    Digits refer to the result for the operands as they are stored; where it is the operands that
    do not determine the result, the warning is a `DataPrecisionWarning`.
    ``warnings.filterwarnings("error", category=mdqr.PrecisionWarning)`` makes errors of both.

    Parameters
    ----------
    message : str
        The text.
    function, digits, precision, index
        The attributes.

    Attributes
    ----------
    function : str
        The function that warns, by its name in `mdqr`, such as "linalg.lstsq" or
        "linalg.QRFactor.solve".
    digits : float
        The least number of correct decimal digits of a component of the result; NaN where it is
        not known.
    precision : Precision or None
        The precision of the result; None for arrays of floats.
    index : tuple of int or None
        The place of the worst component in the result; where a warning is about whole matrices, the
        place of the worst one in the batch. None for a single place, or if it is not known.

    See Also
    --------
    DataPrecisionWarning : The entries, if they are rounded, do not determine the result.

    Examples
    --------
    >>> import warnings, mdqr
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     inverse = mdqr.linalg.inv(mdqr.array([["3e300"]], precision=mdqr.dd))
    >>> found = caught[0].message
    >>> found.function, found.precision.name, found.digits < mdqr.dd.digits, found.index
    ('linalg.inv', 'dd', True, (0, 0))
    """

    def __init__(
        self,
        message: str = "",
        *,
        function: str = "",
        digits: float = math.nan,
        precision: Precision | None = None,
        index: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(message)
        self.function, self.digits = function, digits
        self.precision, self.index = precision, index

    def _state(self) -> dict[str, Any]:
        names = ("function", "digits", "precision", "index")
        return {"message": str(self)} | {name: getattr(self, name) for name in names}

    @classmethod
    def _restored(cls, state: State) -> PrecisionWarning:
        names = ("function", "digits", "precision", "index")
        return cls(state.checked("message", str), **{name: state[name] for name in names})


class DataPrecisionWarning(PrecisionWarning):
    """Warning for results that the data, if their entries are rounded, do not determine.

    The result for the entries as stored may have all its digits. Entries count as rounded to the
    precision in which they were given, or as ``data_error=`` says.
    ``warnings.filterwarnings("ignore", category=mdqr.DataPrecisionWarning)`` is for data that are
    exact, and leaves the other warnings of lost digits.

    Parameters
    ----------
    message : str
        The text.
    function, digits, precision, index
        As in `PrecisionWarning`; `digits` are those that errors of the data leave.

    Examples
    --------
    >>> import mdqr
    >>> issubclass(mdqr.DataPrecisionWarning, mdqr.PrecisionWarning)
    True
    """


PrecisionWarning.__module__ = DataPrecisionWarning.__module__ = "mdqr"


def warn_of_precision(
    function: str,
    message: str,
    *,
    digits: float = math.nan,
    precision: Precision | None = None,
    index: tuple[int, ...] | None = None,
    category: type[PrecisionWarning] = PrecisionWarning,
) -> None:
    """Give a warning of a public function at the line outside of the package that called it.

    The message begins with the name of the function, without its module.
    """
    module, _, name = function.partition(".")
    text = f"{name if module in _MODULES else function}: {message}"
    warn_caller(
        category(
            text, function=function, digits=float(digits), precision=precision, index=index or None
        )
    )


def place_of_least(values: np.ndarray) -> tuple[int, ...]:
    """Return the index of the least of values, at least one."""
    return tuple(map(int, np.unravel_index(int(np.argmin(values)), values.shape)))


def warn_caller(warning: Warning) -> None:
    """Give a warning at the line outside of the package that called it.

    There is none where the package is called from C, as `atexit` does.
    """
    level, frame = 2, sys._getframe(1).f_back
    while frame is not None and package_of(frame) == "mdqr":
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level + 1)


def package_of(frame: FrameType | None) -> str:
    """Return the package of the code of a frame; nothing where no code of Python calls."""
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


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
            if not isinstance(options.get("progress"), (Report, type(None))):
                raise  # of the user's callable, or explained by the same function, called with it
            name = str(arguments[0]) if is_operation else None
            raise explained(function, arguments, error, name) from None

    return call


def explained(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    error: MemoryError,
    name: str | None = None,
) -> MemoryError:
    """Return an error that says what to reduce: `error` itself if it does so."""
    if ADVICE in str(error):
        return error
    return MemoryError(_wanted(name or _name_of(function), arguments, error))


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


def _wanted(name: str, arguments: tuple[Any, ...], error: MemoryError) -> str:
    held = sum(getattr(getattr(x, "limbs", x), "nbytes", 0) for x in arguments)
    held_text = f" beside operands of {held / 2**30:.3g} GiB" if held else ""
    return f"{name}: no memory{held_text} ({str(error) or 'no size is known'}); {ADVICE}"
