"""Layouts that show in the lines of a file: comments at its beginning, fields of fixed widths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, chain
from typing import NamedTuple

from mdqr._io import blocks
from mdqr._io.blocks import Block
from mdqr._io.form import BETWEEN, Form
from mdqr._io.rows import CellError, one_row

MARKS = "#%!"  # of comments, where a file begins with one
_error = re.compile(r"#(?:N/A|[A-Z]+[?!]|DIV/0!)").match  # a field that a spreadsheet wrote


class Comment(NamedTuple):
    """The last comment before the first row, which may name the columns, without its mark."""

    line: int
    text: str


def with_comments(
    file_blocks: Iterator[Block], form: Form
) -> tuple[Iterator[Block], Form, Comment | None]:
    """Return the blocks again, and a form that leaves comments out if a file begins with one.

    The third is the last of the comments before the first row.
    """
    first = next(file_blocks, None)
    if first is None or not form.detects:
        return chain([first] if first is not None else [], file_blocks), form, None
    found = None
    for line, text in enumerate(first.lines(), first.start):
        stripped = text.strip()
        if stripped and not _is_comment(stripped, form):
            break
        if stripped and not form.comments:
            form = form.commented(stripped[0])
        if stripped:
            found = Comment(line, stripped.lstrip(stripped[0]).strip())
    return chain([first], file_blocks), form, found


def _is_comment(text: str, form: Form) -> bool:
    if form.comments:
        return text.startswith(form.comments)
    missing = text.split(form.delimiter)[0].strip() in form.missing or _error(text)
    return text[0] in MARKS and text[0] != form.delimiter and not missing


def names_of(comment: Comment, fields: list[str], form: Form) -> list[str] | None:
    """Return the fields of a comment that names the columns, None if it does not.

    It does where the first row has as many fields and one of them is a number.
    """
    names = one_row(comment.text, form)
    if names is None or len(names) != len(fields) or not any(map(form.is_data, fields)):
        return None
    return names


def cut(file_blocks: Iterator[Block], form: Form, name: str) -> Iterator[Block]:
    """Return the blocks with `BETWEEN` after each field, where they are cut by widths."""
    if form.widths is None:
        return file_blocks
    first = next(file_blocks, None)
    if first is None:
        return iter(())
    lines = chain.from_iterable(block.lines() for block in chain([first], file_blocks))
    cut_lines = (_cut(text, i, form, name) for i, text in enumerate(lines, first.start))
    return blocks.of_lines(cut_lines, 0, start=first.start)


def _cut(text: str, line: int, form: Form, name: str) -> str:
    """Return a line with its fields apart, quoted where they have quotes."""
    text = form.before_comment(text.rstrip("\r\n")).rstrip()
    if not text:
        return "\n"
    assert form.widths is not None
    *starts, end = accumulate(form.widths, initial=0)
    if BETWEEN in text or len(text) > end:
        what = "a control character" if BETWEEN in text else f"text after its {end} characters"
        raise CellError(f"{name}, line {line}: the line has {what}")
    fields = (text[i : i + width] for i, width in zip(starts, form.widths, strict=True))
    if '"' in text:
        fields = (f'"{doubled}"' for doubled in (field.replace('"', '""') for field in fields))
    return BETWEEN.join(fields) + "\n"
