"""Printing: repr, str, and the options of one context."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._convert.arrays import block_to_strings, check_digits
from mdqr._convert.digits import most_digits
from mdqr._core.base import ArrayBase
from mdqr._errors import shown
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_EDGE_ITEMS = 3
_LINE_WIDTH = 88
_FEW = 8  # values of a part of a result that are written out
_BESIDE = 8  # characters of a number beside its digits: sign, point, zeros, exponent


class _Options(NamedTuple):
    digits: int | None
    threshold: int


_DEFAULT = _Options(None, 1000)
_options: ContextVar[_Options] = ContextVar("mdqr_print_options", default=_DEFAULT)


@contextmanager
def printoptions(
    *, digits: int | None = None, threshold: int | None = None
) -> Iterator[dict[str, int | None]]:
    """Change how arrays are printed inside a ``with`` block.

    The options belong to the context of execution: threads and asynchronous tasks do not see each
    other's.

    Parameters
    ----------
    digits : int, optional
        Number of significant digits of every value. By default the value of the enclosing block;
        outside of any, `repr` writes as many as it takes to read back the same limbs, at most 17,
        36, 73, 146 and 291 in d, dd, qd, od and hd, and `str` as many as the precision holds.
    threshold : int, optional
        Arrays of more values than this are summarised; 1000 outside of any block.

    Yields
    ------
    dict
        The options in force.

    Raises
    ------
    TypeError, ValueError
        If `digits` is not a positive integer or `threshold` not an integer from 0.

    Examples
    --------
    >>> import mdqr
    >>> third = mdqr.array(1, precision=mdqr.qd) / 3
    >>> with mdqr.printoptions(digits=10):
    ...     print(third)
    0.3333333333
    """
    check_digits(digits)
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int)):
        raise TypeError(f"threshold must be an integer; got {shown(threshold)}")
    if threshold is not None and threshold < 0:
        raise ValueError(f"threshold must be at least 0; got {threshold}")
    current = _options.get()
    chosen = _Options(
        current.digits if digits is None else digits,
        current.threshold if threshold is None else threshold,
    )
    token = _options.set(chosen)
    try:
        yield chosen._asdict()
    finally:
        _options.reset(token)


printoptions.__module__ = "mdqr"


# -- arrays ----------------------------------------------------------------------------------


def repr_array(a: MDArray) -> str:
    """Return text that evaluates back to `a`, except where it is summarised.

    Values that take more than `most_digits`, such as 1 + 1e-200 and the double 1e-71, are rounded
    to these; `to_strings` writes them out.
    """
    options = [f"precision=mdqr.{a.precision.name}"]
    if a.is_complex and not a.size:
        options.append("dtype=complex")
    if a.device != "cpu":
        options.append(f'device="{a.device}"')
    if not a.size:
        return f"mdqr.zeros({a.shape}, {', '.join(options)})"
    if a.size > _options.get().threshold:
        options.insert(0, f"shape={a.shape}")
    prefix = "mdqr.array("
    body = _nested(a, _options.get().digits, "'", ", ", prefix)
    tail = ", ".join(options)
    joint = ",\n" + " " * len(prefix) if len(body) - body.rfind("\n") > _LINE_WIDTH else ", "
    return f"{prefix}{body}{joint}{tail})"


def str_array(a: MDArray) -> str:
    """Return the values as NumPy prints them, with at most the digits of the precision."""
    if not a.size:
        return "[]"
    return _nested(a, _options.get().digits, "", " ", "")


def _nested(a: MDArray, digits: int | None, quote: str, separator: str, prefix: str) -> str:
    """Lay the values out in NumPy's brackets; unquoted ones are aligned at the point."""
    places = np.arange(a.size).reshape(a.shape)
    shown = _shown(places)
    block = host_block(a.limbs)
    flat = block.reshape(*block.shape[: -a.ndim or None], a.size)[..., shown]
    if quote or digits is not None:
        most = most_digits(a.precision)
        texts = block_to_strings(flat, a.precision, a.is_complex, digits, most).tolist()
    else:
        texts = [trimmed(t) for t in _rounded(flat, a).tolist()]
    if not a.ndim:
        return f"{quote}{texts[0]}{quote}"
    if not quote:
        most = (digits or max(a.precision.digits, 16)) + _BESIDE
        texts = _aligned(texts, most * (1 + a.is_complex))
    words = dict(zip(shown.tolist(), (f"{quote}{t}{quote}" for t in texts), strict=True))
    summarised = a.size > _options.get().threshold
    return np.array2string(
        places,
        max_line_width=_LINE_WIDTH,
        separator=separator,
        prefix=prefix,
        formatter={"int": lambda place: words[int(place)]},
        threshold=0 if summarised else sys.maxsize,
        edgeitems=_EDGE_ITEMS,
    )


def _shown(places: np.ndarray) -> np.ndarray:
    """Return the flat places that are printed."""
    if places.size > _options.get().threshold:
        for axis, length in enumerate(places.shape):
            if length > 2 * _EDGE_ITEMS:
                edges = np.r_[:_EDGE_ITEMS, length - _EDGE_ITEMS : length]
                places = places.take(edges, axis=axis)
    return places.reshape(-1)


def _rounded(flat: np.ndarray, a: MDArray) -> np.ndarray:
    return block_to_strings(flat, a.precision, a.is_complex, max(a.precision.digits, 16))


def trimmed(text: str) -> str:
    """Drop the zeros at the end of each fraction, but one."""
    return re.sub(r"(\.[0-9]*?[0-9])0+(?![0-9])", r"\1", text)


def _aligned(texts: list[str], most: int) -> list[str]:
    """Pad texts to one width, points below each other unless that makes them wider than `most`."""
    heads = [re.match(r"[^.]*", text)[0] for text in texts]  # type: ignore[index]
    before = max(map(len, heads))
    padded = [" " * (before - len(head)) + t for head, t in zip(heads, texts, strict=True)]
    width = max(map(len, padded))
    if width > most:
        width = max(map(len, texts))
        return [text.rjust(width) for text in texts]
    return [text.ljust(width) for text in padded]


def summary(result: Any) -> str:
    """Return the ``repr`` of a named tuple, with shapes instead of arrays of many values."""
    fields = zip(result._fields, tuple(result), strict=True)
    written = ", ".join(f"{name}={_short(value)}" for name, value in fields)
    return f"{type(result).__name__}({written})"


def _short(value: Any) -> str:
    if getattr(value, "size", 0) <= _FEW or not hasattr(value, "shape"):
        return repr(value)
    kind = value.precision if isinstance(value, ArrayBase) else value.dtype
    return f"<{type(value).__name__} of shape {tuple(value.shape)}, {kind}>"
