"""Network parameters of Touchstone files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from mdqr._errors import shortened
from mdqr._functions.creation import array
from mdqr._functions.elementary import cospi, sinpi
from mdqr._functions.filled import empty
from mdqr._functions.power import power
from mdqr._io.blocks import Source
from mdqr._io.form import Form
from mdqr._io.loadtxt import name_of
from mdqr._io.opened import opened
from mdqr._io.rows import CellError
from mdqr._pickles import pickled_fields
from mdqr._precision import Precision, as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_UNITS = {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}
_KINDS = ("s", "y", "z", "h", "g")
_FORMATS = ("db", "ma", "ri")


@experimental
@pickled_fields
class TouchstoneData(NamedTuple):
    """The contents of a Touchstone file.

    Attributes
    ----------
    frequencies : MDArray
        In Hz, shape ``(count,)``.
    parameters : MDArray
        Complex, shape ``(count, ports, ports)``, as the file has them, not denormalised.
    kind : str
        Which parameters: "S", "Y", "Z", "H" or "G".
    resistance : MDArray
        The reference resistance in ohms, 0-d.
    """

    frequencies: MDArray
    parameters: MDArray
    kind: str
    resistance: MDArray


@experimental
def read_touchstone(
    file: Source, *, ports: int | None = None, precision: PrecisionLike
) -> TouchstoneData:
    r"""Read network parameters of a Touchstone file of version 1; every number is rounded once.

    Parameters
    ----------
    file : str, path, file or iterable of lines
        The file. A name that ends in ``.gz``, ``.bz2`` or ``.xz`` denotes a compressed file.
    ports : int, optional
        The number of ports; by default that in the name of the file, as in ``filter.s2p``.
    precision : Precision or str
        The precision of the result.

    Returns
    -------
    TouchstoneData
        ``(frequencies, parameters, kind, resistance)``. Numbers as real and imaginary part ("RI")
        have an error of at most half a unit in the last place of the last limb; as magnitude and
        angle ("MA") at most ``(16 + abs(angle) / 50) * eps`` of the magnitude; in decibels ("DB")
        ``abs(dB) / 8 * eps`` more. Noise parameters behind a file of two ports are not read.

    Raises
    ------
    ValueError
        If the file is damaged: the message names file and line. If the number of ports is not
        known, or the file is of version 2.
    TypeError
        If `file` gives no lines.
    OSError
        If the file cannot be read.

    Notes
    -----
    *Touchstone File Format Specification*, EIA/IBIS Open Forum, version 1.1, describes the format.
    Two ports have the order S11, S21, S12, S22.

    Examples
    --------
    >>> import io, mdqr
    >>> text = "! one port\n# MHz S RI R 75\n1.5 0.1 -0.2\n"
    >>> found = mdqr.read_touchstone(io.StringIO(text), ports=1, precision=mdqr.qd)
    >>> print(found.frequencies, found.parameters[0, 0, 0])
    [1500000.0] 0.1-0.2j
    """
    target, name = as_precision(precision), name_of(file)
    count = _ports(name) if ports is None else int(ports)
    if count < 1:
        raise ValueError(f"a network has one port or more; got {ports}")
    with opened(file, Form(None, comments="!")) as blocks:
        lines = chain.from_iterable(block.lines() for block in blocks)
        (unit, kind, form, resistance), rows = _read(lines, name)
    width = 1 + 2 * count * count
    numbers, places = _records(rows, width, count, name)
    table = _numbers(numbers, places, target, name).reshape(-1, width)
    frequencies = table[:, 0] * _UNITS[unit]
    pairs = table[:, 1:].reshape(-1, count, count, 2)
    if count == 2:
        pairs = pairs.transpose(0, 2, 1, 3)
    values = _complex(pairs[..., 0], pairs[..., 1], form)
    return TouchstoneData(frequencies, values, kind.upper(), array(resistance, precision=target))


read_touchstone.__module__ = TouchstoneData.__module__ = "mdqr"


def _ports(name: str) -> int:
    """Return the number of ports in the name of a file."""
    stem = re.sub(r"\.(gz|bz2|xz)$", "", os.path.basename(name), flags=re.IGNORECASE)
    found = re.search(r"\.[sygzh](\d+)p$", stem, flags=re.IGNORECASE)
    if found is None:
        raise ValueError(f"{name}: the name does not have the number of ports; give ports=")
    return int(found[1])


def _read(lines: Iterator[str], name: str) -> tuple[Any, list[tuple[int, list[str]]]]:
    """Return the option line, and the lines of numbers as their own number and their words."""
    options, rows = None, []
    for line, text in enumerate(lines, 1):
        words = text.partition("!")[0].split()
        if not words:
            continue
        if words[0].startswith("["):
            raise CellError(f"{name}, line {line}: files of version 2 are not read; got {words[0]}")
        if words[0].startswith("#"):
            options = options or _options(
                " ".join(words)[1:].lower().split(), f"{name}, line {line}"
            )
        else:
            rows.append((line, words))
    return options or _options([], name), rows


def _options(words: list[str], place: str) -> tuple[str, str, str, str]:
    """Return the unit, the kind, the format and the resistance of an option line."""
    unit, kind, form, resistance = "ghz", "s", "ma", "50"
    rest = iter(words)
    for word in rest:
        if word in _UNITS:
            unit = word
        elif word in _KINDS:
            kind = word
        elif word in _FORMATS:
            form = word
        elif word == "r":
            resistance = next(rest, "")
        else:
            raise CellError(f"{place}: {shortened(word)!r} is no word of an option line")
    return unit, kind, form, resistance


def _records(
    rows: list[tuple[int, list[str]]], width: int, ports: int, name: str
) -> tuple[list[str], list[int]]:
    """Return the words of all frequencies, and their lines; with three ports or more these wrap."""
    words: list[str] = []
    places: list[int] = []
    size = 0
    for line, found in rows:
        if ports == 2 and not size % width and len(found) == 5 and words:
            break  # noise parameters
        words += found
        places += [line] * len(found)
        size += len(found)
        if ports < 3 and len(found) != width:
            raise CellError(f"{name}, line {line}: wanted {width} numbers; got {len(found)}")
    if size % width:
        raise CellError(
            f"{name}, line {places[-1]}: {ports} ports have {width} numbers for each frequency; "
            f"got {size} in all"
        )
    return words, places


def _numbers(words: list[str], places: list[int], target: Precision, name: str) -> MDArray:
    if not words:
        return empty(0, precision=target)
    try:
        return array(words, precision=target, dtype=float)
    except (ValueError, TypeError):
        for word, line in zip(words, places, strict=True):
            try:
                array(word, precision=target, dtype=float)
            except (ValueError, TypeError) as error:
                raise CellError(f"{name}, line {line}: {error}") from None
        raise


def _complex(first: MDArray, second: MDArray, form: str) -> MDArray:
    """Return complex values of two numbers each."""
    if form == "ri":
        real, imag = first, second
    else:
        # The angle has 1 eps of its quotient, worth pi of a half turn; the functions have 4.
        size = first if form == "ma" else power(10, first / 20)
        half_turns = second / 180
        real, imag = size * cospi(half_turns), size * sinpi(half_turns)
    found = real.astype(dtype=complex)
    found.imag = imag
    return found
