"""Warnings for floats that meet arrays of more limbs, inside of `warn_float`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from mdqr._backend.host import values
from mdqr._core.base import ArrayBase
from mdqr._errors import DataPrecisionWarning, warn_caller
from mdqr._precision import Precision

_PACKAGE = str(Path(__file__).parents[1])
_SHORT = 40  # bits of a float that is plainly exact
_OWN = ("mdqr._core", "mdqr._array", "mdqr._functions", "mdqr._errors", "mdqr._backend.host.values")
_lock = threading.Lock()
_asked: ContextVar[bool] = ContextVar("mdqr_warn_float", default=False)
contexts = 0  # that ask, in all threads: without any, operations pay for one comparison


@contextmanager
def warn_float() -> Iterator[None]:
    """Warn inside a ``with`` block where floats are operands of arrays of more than one double.

    ``np.pi * x`` has the 16 digits of `numpy.pi`, whatever the precision of x. A
    `DataPrecisionWarning` names the first float of an operation with more than 40 significant bits:
    0.1 and `numpy.pi`, not 0.5, 3.0 and floats of 32 bits. The block belongs to the context of
    execution: threads and asynchronous tasks do not see it.

    Yields
    ------
    None
        The ``with`` has no value.

    Warns
    -----
    DataPrecisionWarning
        At each line where such a float is an operand. Comparisons are exact, and do not warn.

    Examples
    --------
    >>> import math, warnings, mdqr
    >>> x = mdqr.array(["0.1", "0.2"], precision=mdqr.qd)
    >>> with warnings.catch_warnings(record=True) as caught, mdqr.config.warn_float():
    ...     warnings.simplefilter("always")
    ...     y, z = x * mdqr.pi / 2.0, x * math.pi
    >>> len(caught)
    1
    """
    global contexts
    token = _asked.set(True)
    with _lock:
        contexts += 1
        values.set_check(_check_pair)
    try:
        yield
    finally:
        with _lock:
            contexts -= 1
            if not contexts:
                values.set_check(None)
        _asked.reset(token)


warn_float.__module__ = "mdqr.config"


def _check_pair(x: Any, y: Any) -> None:
    array, other = (x, y) if isinstance(x, ArrayBase) else (y, x)
    if isinstance(other, float):
        check((other,), array._precision)


def check(operands: Iterable[Any], precision: Precision) -> None:
    """Warn if one of the operands is a long float, or has one, and the caller's."""
    if precision.limbs == 1 or not _asked.get():
        return
    found = next((x for value in operands for x in _long(value)), None)
    if found is None or not _of_the_caller():
        return
    warn_caller(
        DataPrecisionWarning(
            f"the float {found!r} has 16 digits and meets an array of {precision}; give a string "
            f"such as {str(found)!r} to mdqr.{precision}, or mdqr.pi and its like",
            digits=16.0,
            precision=precision,
        )
    )


def _long(x: Any) -> Iterator[float]:
    """Yield the first float of more significant bits than rounded decimals have by chance."""
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from _long(item)
        return
    if not isinstance(x, (float, complex, np.inexact, np.ndarray)):
        return
    given = np.asarray(x)
    if given.dtype.kind not in "fc":
        return
    parts = np.concatenate([given.real.ravel(), given.imag.ravel()]).astype(np.float64)
    parts = parts[np.isfinite(parts)]
    scaled = np.frexp(parts)[0] * 2.0**_SHORT
    long = parts[scaled != np.trunc(scaled)]
    if long.size:
        yield float(long[0])


def _of_the_caller() -> bool:
    """Return True if the operation was called from outside, not by another function of mdqr."""
    frame: FrameType | None = sys._getframe(1)
    # An example in a docstring has the name of its module, but no file of the package.
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if not str(frame.f_globals.get("__name__")).startswith(_OWN):
            return False
        frame = frame.f_back
    return True
