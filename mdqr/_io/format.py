"""Printing: repr, str, format specifications, and the options of one context."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdqr._convert.arrays import block_to_strings, check_digits, exact_parts
from mdqr._convert.digits import (
    Dyadic,
    int_text,
    layout,
    most_digits,
    round_places,
    significant,
)
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_EDGE_ITEMS = 3
_LINE_WIDTH = 88
_FINEST = 1074  # more decimal places than this are zeros
_SPEC = re.compile(r"([+\- ]?)([1-9][0-9]*)?(?:\.([0-9]+))?([efg])").fullmatch


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
        Number of significant digits of every value. By default that of the enclosing block;
        outside of any, `repr` writes as many as it takes to read back the same limbs, at most 17,
        36, 73 and 146 in d, dd, qd and od, and `str` as many as the precision holds.
    threshold : int, optional
        Arrays of more values than this are summarised; 1000 outside of any block.

    Yields
    ------
    dict
        The options in force.

    Raises
    ------
    TypeError, ValueError
        If `digits` is no positive integer or `threshold` no integer from 0.

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
        raise TypeError(f"threshold must be an integer; got {threshold!r}")
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

    Values whose limbs stand more than some bits apart, such as 1 + 1e-200, are rounded to
    `most_digits`; `to_strings` writes them out.
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
        texts = [_trimmed(t) for t in _rounded(flat, a).tolist()]
    if not a.ndim:
        return f"{quote}{texts[0]}{quote}"
    if not quote:
        texts = _aligned(texts)
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


def _trimmed(text: str) -> str:
    """Drop the zeros at the end of each fraction, but one."""
    return re.sub(r"(\.[0-9]*?[0-9])0+(?![0-9])", r"\1", text)


def _aligned(texts: list[str]) -> list[str]:
    """Pad texts so that their points stand below each other and all have one width."""
    heads = [re.match(r"[^.]*", text)[0] for text in texts]  # type: ignore[index]
    before = max(map(len, heads))
    padded = [" " * (before - len(head)) + t for head, t in zip(heads, texts, strict=True)]
    width = max(map(len, padded))
    return [text.ljust(width) for text in padded]


# -- one value -------------------------------------------------------------------------------


def format_scalar(a: MDArray, spec: str) -> str:
    """Do ``format(a, spec)`` for one value, correctly rounded.

    Parameters
    ----------
    a : MDArray
        An array of size 1.
    spec : str
        ``[sign][width][.precision]type`` with sign "+", "-" or " " and type "e", "f" or "g", which
        mean what they mean for a float.

    Raises
    ------
    ValueError
        If `spec` is anything else.
    MemoryError
        If there is no memory for the text.
    """
    match = _SPEC(spec)
    if match is None:
        raise ValueError(
            f"format specification {spec!r} is not supported; wanted is "
            "[sign][width][.precision] and one of e, f, g, such as '.40e' or '+60.30f'"
        )
    sign, width, precision, kind = match.groups()
    count = 6 if precision is None else int(precision)
    block = host_block(a.limbs)
    parts = block if a.is_complex else block[None]
    values = [exact_parts(part.reshape(-1, 1))[0] for part in parts]
    try:
        text = _styled(values[0], kind, count, sign)
        if a.is_complex:
            text += _styled(values[1], kind, count, "+") + "j"
        return text.rjust(int(width or 0))
    except (MemoryError, OverflowError):  # the latter from texts longer than any memory
        raise MemoryError(
            f"no memory for the text of format specification {spec[:60]!r}; ask for fewer digits"
        ) from None


def _styled(value: Dyadic | float, kind: str, count: int, sign: str) -> str:
    """Do what ``format`` does for a float, for an exact value."""
    if isinstance(value, float):
        return format(value, f"{sign}.{count}{kind}")
    man, exp = value
    lead = "-" if man < 0 else sign.replace("-", "")
    man = abs(man)
    if kind == "f":
        places = min(count, _FINEST)
        text = int_text(round_places(man, exp, places)).zfill(places + 1)
        whole, fraction = text[: len(text) - places], text[len(text) - places :]
        return lead + whole + ("." + fraction.ljust(count, "0") if count else "")
    if kind == "e":
        text, leading = significant(man, exp, count + 1)
        fraction = "." + text[1:] if count else ""
        return f"{lead}{text[0]}{fraction}e{leading:+03d}"
    text, leading = significant(man, exp, count or 1)
    text = text.rstrip("0")
    return lead + layout(text, leading, count or 1, point=False)
