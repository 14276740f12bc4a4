"""Error bounds and correct digits of a result: the base class of every `info`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mdqr._precision import Precision

# A value, or what makes it when it is first asked for.
Lazy = Any | Callable[[], Any]


class Info:
    """Error bounds and correct digits of a result; made when the first one is asked for.

    Attributes
    ----------
    precision : Precision
        The precision of the result.
    bound_kind : str
        "proven", or "estimated" where the bound rests on an estimate of a condition.
    condition : numpy.ndarray or float
        By how much a relative change of the data may change the result, relative to it.
    error_bound : numpy.ndarray
        Bound of the absolute error (of complex values: of its modulus) of each value for the data
        as stored; float64 of the shape of the result.
    digits : numpy.ndarray
        Correct decimal digits of each value for the data as stored; float64 of the shape of the
        result. A value that is shown to be exactly zero has all of them.
    data_error_bound : numpy.ndarray
        As `error_bound`, for all data within their errors: `data_error`, or half a unit in the last
        place of the precision in which the entries were given.
    data_digits : numpy.ndarray
        Correct decimal digits of each value for all data within their errors; at most `digits`.
    """

    bound_kind: str
    precision: Precision

    def __init__(
        self,
        precision: Precision,
        sizes: Lazy,
        error_bound: Lazy,
        data_error_bound: Lazy,
        *,
        condition: Lazy,
        bound_kind: str = "proven",
    ) -> None:
        self.precision, self.bound_kind = precision, bound_kind
        self._lazy = {
            "sizes": sizes,
            "error_bound": error_bound,
            "data_error_bound": data_error_bound,
            "condition": condition,
        }

    def _made(self, name: str) -> Any:
        value = self._lazy[name]
        if callable(value):
            self._lazy[name] = value = value()
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Return the values, made now: what makes them holds the data."""
        for name in self._lazy:
            self._made(name)
        return self.__dict__

    def __repr__(self) -> str:
        full = float(self.precision.digits)
        return (
            f"<{type(self).__name__} digits>={np.min(self.digits, initial=full):.1f} (as stored) "
            f"data_digits>={np.min(self.data_digits, initial=full):.1f} (within data errors)>"
        )

    @cached_property
    def condition(self) -> Any:
        """See the attributes of the class."""
        return self._made("condition")

    @cached_property
    def error_bound(self) -> np.ndarray:
        """See the attributes of the class."""
        return np.asarray(self._made("error_bound"))

    @cached_property
    def data_error_bound(self) -> np.ndarray:
        """See the attributes of the class."""
        return np.asarray(self._made("data_error_bound"))

    @cached_property
    def digits(self) -> np.ndarray:
        """See the attributes of the class."""
        return self._digits_of(self.error_bound, float(self.precision.digits))

    @cached_property
    def data_digits(self) -> np.ndarray:
        """See the attributes of the class."""
        return self._digits_of(self.data_error_bound, self.digits)

    def _digits_of(self, bound: np.ndarray, most: Any) -> np.ndarray:
        sizes = np.asarray(self._made("sizes"))
        with np.errstate(all="ignore"):
            relative = np.where(bound == 0, 0.0, bound / sizes)
            found = np.clip(-np.log10(relative), 0.0, most)
        return np.where(np.isnan(found), 0.0, found)


Info.__module__ = "mdqr.linalg"
