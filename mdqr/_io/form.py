"""The layout of a file of delimited text, and the notation of its numbers."""

from __future__ import annotations

import codecs
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, SupportsIndex

from mdqr._errors import shown

BETWEEN = "\x1f"  # between fields that are cut by their widths
# Commas for points and the reverse: points between thousands are then no part of a number.
_SWAPPED = str.maketrans(",.", ".,")
_SWAPPED_BYTES = bytes.maketrans(b",.", b".,")
# A decimal with the exponent letter of Fortran; digits of hexadecimal floats stand behind others.
_FORTRAN = r"(?<![0-9A-Za-z_.])([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[dD](?=[+-]?[0-9])"
_fortran = re.compile(_FORTRAN).sub
_comma = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eEdD][+-]?[0-9]+)?").fullmatch
_groups = re.compile(r"[+-]?[0-9]{1,3}([,.' _\u00a0\u202f])[0-9]{3}(?:\1[0-9]{3})*\b.*").fullmatch
# What often stands for a missing number.
_ABSENT = ("", ".", "NA", "N/A", "null")
_fortran_bytes = re.compile(_FORTRAN.encode()).sub


class Advice(NamedTuple):
    """The remedies that messages name: options of a function, or of the command line."""

    header: str = "pass header=True"
    decimal: str = "decimal=','"
    thousands: str = "thousands="
    comments: str = "comments="
    encoding: str = "encoding='latin-1' or 'utf-16'"
    delimiter: str = "delimiter="
    blanks: str = "delimiter=None"
    missing: str = "missing="


class Form:
    """The layout of a file; see `loadtxt`.

    `hints` has what to say of fields that are not numbers, behind the reason.

    Raises
    ------
    ValueError, TypeError, LookupError
        If an option is none.
    """

    def __init__(
        self,
        delimiter: str | None = ",",
        skiprows: SupportsIndex = 0,
        comments: str | Sequence[str] | None = None,
        missing: str | Sequence[str] | None = None,
        hints: Mapping[str, str] | None = None,
        *,
        decimal: str = ".",
        thousands: str | None = None,
        widths: Sequence[int] | None = None,
        max_rows: SupportsIndex | None = None,
        encoding: str = "utf-8",
        advice: Advice | None = None,
    ) -> None:
        self.widths = None if widths is None else _widths(widths)
        if self.widths is not None:
            delimiter = BETWEEN
        if delimiter is not None and (
            not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"'
        ):
            raise ValueError(
                f"delimiter must be one character between fields, or None; got {shown(delimiter)}"
            )
        self.delimiter = delimiter
        self.skiprows = _count("skiprows", skiprows)
        self.max_rows = None if max_rows is None else _count("max_rows", max_rows)
        self.detects = comments is None
        self._take_comments(_marks(comments))
        self.decimal, self.thousands = decimal, thousands
        self._check_decimal()
        self._grouped = self._check_thousands()
        texts = [missing] if isinstance(missing, str) else missing or ()
        self.missing = frozenset(text.strip() for text in texts)
        self.missing_numbers = tuple(filter(_is_number, self.missing))
        self.hints = hints or {}
        self.encoding = codecs.lookup(encoding).name
        self.advice = advice or Advice()

    def _take_comments(self, marks: tuple[str, ...]) -> None:
        self.comments = marks
        self._comment = re.compile("|".join(map(re.escape, marks)) or r"(?!)")
        self._comment_bytes = re.compile(b"(?:" + self._comment.pattern.encode() + rb")[^\n]*")

    def commented(self, mark: str) -> Form:
        """Return the same layout with comments that begin with `mark`."""
        form = copy(self)
        form._take_comments((mark,))
        return form

    def _check_thousands(self) -> re.Pattern[str] | None:
        """Return a pattern of numbers with separators between their thousands."""
        mark = self.thousands
        if mark is None:
            return None
        if not isinstance(mark, str) or len(mark) != 1 or mark.isalnum() or mark in '\r\n"+-':
            raise ValueError(
                f"thousands must be one character between digits, or None; got {shown(mark)}"
            )
        if mark in (self.decimal, self.delimiter) or (self.delimiter is None and mark.isspace()):
            raise ValueError(
                f"thousands={mark!r} is between fields or before fractions already: the delimiter "
                f"is {self.delimiter!r}, decimal {self.decimal!r}"
            )
        mark, point = re.escape(mark), re.escape(self.decimal)
        return re.compile(
            rf"[+-]?[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+(?:{point}[0-9]*)?(?:[eEdD][+-]?[0-9]+)?"
        )

    def _check_decimal(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be '.' or ','; got {shown(self.decimal)}")
        if self.decimal == "," and (
            self.delimiter in (",", ".") or any(c in mark for mark in self.comments for c in ",.")
        ):
            raise ValueError(
                f"decimal=',' needs another character between fields, such as ';', and comments "
                f"without commas and points; got {self.delimiter!r} and {self.comments}"
            )

    def before_comment(self, text: str) -> str:
        """Return what stands in front of the first mark of a comment."""
        found = self._comment.search(text) if self.comments else None
        return text if found is None else text[: found.start()]

    def is_comment(self, line: str) -> bool:
        """Return whether a line begins with a comment."""
        return line.lstrip().startswith(self.comments) if self.comments else False

    def plain(self, data: bytes) -> tuple[bytes, str | None]:
        """Return lines without quotes as the kernel reads them, and what begins their comments.

        No byte changes its place but those of several kinds of comments, which are left out.
        """
        mark = self.comments[0] if len(self.comments) == 1 else None
        if mark is not None and ("d" in mark or "D" in mark):
            mark = None  # exponents are rewritten before the kernel looks for it
        if self.comments and mark is None:
            data = self._comment_bytes.sub(b"", data)
        return data, mark

    def numbers(self, data: bytes) -> bytes:
        """Return lines with their numbers as the kernel reads them, at the same places."""
        if self.decimal == ",":
            data = data.translate(_SWAPPED_BYTES)
        return _fortran_bytes(rb"\1e", data) if b"D" in data or b"d" in data else data

    def hint(self, text: str) -> str:
        """Return what to say of a field that is not a number, behind the reason."""
        if (several := self._several(text)) is not None:
            return f"; are these several fields? give {several}"
        if self.thousands is not None and self.thousands in text:
            return f"; {self.thousands!r} is for groups of three digits, before the fraction"
        comma = self.decimal == "." and _comma(text)
        if (found := _groups(text)) is not None:
            between = f"{self.advice.thousands}{found[1]!r}"
            if comma:
                between += f", or {self.advice.decimal} if it begins a fraction"
            return f"; is that a separator of thousands? give {between}"
        if comma:
            return f"; is that a decimal comma? give {self.advice.decimal}"
        if self.decimal == "," and "." in text:
            return "; with decimal=',' a number has no point"
        if (mark := re.search("[#%!]", text)) is not None and not self.comments:
            return f"; does a comment begin there? give {self.advice.comments}{mark[0]!r}"
        if text in _ABSENT:
            return f"; is a number missing there? give {self.advice.missing}{text!r}"
        if "_" in text:
            return "; a number in a file has no underscores"
        return ""

    def _several(self, text: str) -> str | None:
        """Return the option for a field that is several numbers, None if it is not."""
        for mark in (";", "\t", "|", None) if self.widths is None else ():
            fields = text.split(mark)
            if len(fields) > 1 and all(self.is_data(field) or _comma(field) for field in fields):
                return self.advice.blanks if mark is None else f"{self.advice.delimiter}{mark!r}"
        return None

    def number(self, text: str) -> str:
        """Return a field as text of a number; of one that is none anything that is none, too."""
        if self._grouped is not None and self._grouped.fullmatch(text.strip()):
            text = text.replace(self.thousands or "", "")
        if "_" in text:  # Python has them between digits, files do not
            return ""
        if self.decimal == ",":
            text = text.translate(_SWAPPED)
        return _fortran(r"\1e", text) if "D" in text or "d" in text else text

    def is_data(self, text: str) -> bool:
        """Return True if a field is a number, or one that may be missing."""
        text = text.strip()
        return _is_number(self.number(text)) or (bool(text) and text in self.missing)


def _is_number(text: str) -> bool:
    """Return whether a text is read as a number other than NaN."""
    try:
        return not math.isnan(float(_fortran(r"\1e", text.replace(",", "."))))
    except ValueError:
        return False


def _count(name: str, value: SupportsIndex) -> int:
    count = operator.index(value)
    if count < 0:
        raise ValueError(f"{name} must not be negative; got {shown(value)}")
    return count


def _widths(widths: Sequence[int]) -> tuple[int, ...]:
    counts = tuple(_count("widths", width) for width in widths)
    if not counts or 0 in counts:
        raise ValueError(f"widths must be positive, one for each field; got {shown(widths)}")
    return counts


def _marks(comments: str | Sequence[str] | None) -> tuple[str, ...]:
    one = isinstance(comments, str) or not isinstance(comments, Iterable | None)
    marks: tuple[Any, ...] = (comments,) if one else tuple(comments or ())
    if not all(isinstance(mark, str) and mark and not set(mark) & set('\r\n"') for mark in marks):
        raise ValueError(
            f"comments must be a text that begins them, or several, or None; got {shown(comments)}"
        )
    return tuple(sorted(dict.fromkeys(marks), key=len, reverse=True))  # the longest is found first
