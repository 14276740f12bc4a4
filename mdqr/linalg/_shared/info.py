"""The base class of every `info`, and of results that have one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mdqr._pickles import State, pickled
from mdqr._precision import Precision, from_file
from mdqr._typing import Floats
from mdqr.linalg._shared.digits import digits_within

_I = TypeVar("_I", bound="Info")
_R = TypeVar("_R", bound="WithInfo")

# A value, or what makes it when it is first asked for; None where nothing is known.
Lazy = Any | Callable[[], Any] | None

_VALUES = (
    *("method", "iterations", "bound_kind", "condition", "error_bound", "data_error_bound"),
    *("digits", "data_digits", "history"),
)
_BOUNDS = ("error_bound", "data_error_bound")
_NONE_MADE: dict[str, Lazy] = {}


@pickled
class Info:
    """Error bounds, digits and facts of a result; bounds are computed when they are first read.

    These attributes are always there. Unknown ones are None (`method`, `precision`,
    `iterations`, `bound_kind`), NaN (all numbers), or empty (`history`).

    Attributes
    ----------
    method : str or None
        How the result was computed; None where the function has only one method. For a batch one
        word, or an array of words of the batch shape if its matrices took several methods.
    precision : Precision or None
        The precision of the result.
    iterations : int or None
        Number of iteration steps; for a batch the largest.
    condition : numpy.ndarray or float
        By how much a relative change of the data may change the result, relative to it.
    error_bound : numpy.ndarray
        Bound of the absolute error (of complex values: of its modulus) of each value for the data
        as stored; float64 of the shape of the result.
    bound_kind : str or None
        "proven", or "estimated" where the bound rests on an estimate of a condition; an array where
        `method` is one and they differ.
    digits : numpy.ndarray
        Correct decimal digits of each value for the data as stored; float64 of the shape of the
        result. A value that is shown to be exactly zero has all of them.
    data_error_bound : numpy.ndarray
        As `error_bound`, for all data within their errors: `data_error`, or half a unit in the last
        place of the precision in which the entries were given.
    data_digits : numpy.ndarray
        Correct decimal digits of each value for all data within their errors; at most `digits`.
    history : numpy.ndarray
        Largest relative change in each step of the iteration, float64 with one axis.
    """

    method: str | np.ndarray | None
    precision: Precision | None
    iterations: int | None
    bound_kind: str | np.ndarray | None
    _lazy = _NONE_MADE
    _more: tuple[str, ...] = ()  # other values than those above that pickles hold

    def __init__(
        self,
        precision: Precision | None = None,
        sizes: Lazy = None,
        error_bound: Lazy = None,
        data_error_bound: Lazy = None,
        *,
        condition: Lazy = None,
        bound_kind: str = "proven",
        method: str | None = None,
        iterations: int | None = None,
        history: Lazy = None,
    ) -> None:
        self.precision, self.method, self.iterations = precision, method, iterations
        self.bound_kind = None if error_bound is None else bound_kind
        self._lazy = {
            "sizes": sizes,
            "error_bound": error_bound,
            "data_error_bound": data_error_bound,
            "condition": condition,
            "history": history,
        }

    def _made(self, name: str) -> Any:
        value = self._lazy[name]
        if callable(value):
            self._lazy[name] = value = value()
        return np.nan if value is None else value

    def __copy__(self: _I) -> _I:
        copied = object.__new__(type(self))
        copied.__dict__ |= self.__dict__
        return copied

    def _state(self) -> dict[str, Any]:
        """Return the values, made now: what makes them holds the data."""
        values = {name: getattr(self, name) for name in (*_VALUES, *self._more)}
        known = [name for name in _BOUNDS if self._lazy.get(name) is not None]
        return values | {"known": known, "precision": self.precision and self.precision.name}

    @classmethod
    def _restored(cls: type[_I], state: State) -> _I:
        self = object.__new__(cls)
        self.__dict__ |= {name: state[name] for name in (*_VALUES, *cls._more)}
        for name in ("condition", *_BOUNDS, "digits", "data_digits", "history"):
            state.checked(name, _is_numbers)
        known, name = state.checked("known", list), state["precision"]
        self.precision = None if name is None else from_file(name)
        self._lazy = {bound: state[bound] if bound in known else None for bound in _BOUNDS}
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._shown()}>"

    def _shown(self) -> str:
        """Return the text of `repr` after the name of the class."""
        if self._lazy.get("error_bound") is None:
            return f"method={self.method!r} no error bound"
        full = float(self.precision.digits) if self.precision else np.inf
        worst = f"digits>={np.min(self.digits, initial=full):.1f} (as stored)"
        if self._lazy["data_error_bound"] is None:
            return worst
        data = np.min(self.data_digits, initial=full)
        return f"{worst} data_digits>={data:.1f} (within data errors)"

    @cached_property
    def condition(self) -> float | Floats:
        """See the attributes of the class."""
        return self._made("condition")

    @cached_property
    def error_bound(self) -> Floats:
        """See the attributes of the class."""
        return np.asarray(self._made("error_bound"))

    @cached_property
    def data_error_bound(self) -> Floats:
        """See the attributes of the class."""
        if self._lazy.get("data_error_bound") is None:
            return np.full(self.error_bound.shape, np.nan)
        return np.asarray(self._made("data_error_bound"))

    @cached_property
    def digits(self) -> Floats:
        """See the attributes of the class."""
        full = float(self.precision.digits) if self.precision else np.inf
        return self._digits_of("error_bound", full)

    @cached_property
    def data_digits(self) -> Floats:
        """See the attributes of the class."""
        return self._digits_of("data_error_bound", self.digits)

    @cached_property
    def history(self) -> Floats:
        """See the attributes of the class."""
        return np.zeros(0) if self._lazy.get("history") is None else self._made("history")

    def _digits_of(self, name: str, most: Any) -> np.ndarray:
        bound = getattr(self, name)
        if self._lazy.get(name) is None:
            return np.full(np.shape(bound), np.nan)
        sizes = np.asarray(self._made("sizes"))
        with np.errstate(all="ignore"):
            relative = np.where(bound == 0, 0.0, bound / sizes)
            return digits_within(relative, most)


Info.__module__ = "mdqr.linalg"


def _is_numbers(value: Any) -> bool:
    return isinstance(value, (float, int, np.number)) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    )


@pickled
class WithInfo:
    """A named tuple with the attribute `info`, which copies, pickles and `_replace` keep.

    The info of one made by a user has nothing but unknown values.
    """

    info: Any = Info()

    def _described(self: _R, info: Info) -> _R:
        """Return the same, with its info."""
        self.info = info
        return self

    def _state(self: Any) -> dict[str, Any]:
        return self._asdict() | {"info": self.info}

    @classmethod
    def _restored(cls: Any, state: State) -> Any:
        fields = {name: state[name] for name in cls._fields}
        return cls(**fields)._described(state.checked("info", Info))

    def _replace(self: _R, **fields: Any) -> _R:
        replaced: _R = super()._replace(**fields)  # type: ignore[misc]
        replaced.info = self.info
        return replaced
