"""Files, compressed or not, as blocks of whole lines."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any, cast

from mdqr._io import blocks
from mdqr._io.blocks import Block, Source
from mdqr._io.form import Form
from mdqr._io.rows import CellError

_COMPRESSED: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
# A compressed file may hold so many bytes, and so many times its own: a small one fills no memory.
_FREE = 1 << 26
_GROWTH = 100
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)
UTF8 = ("utf-8", "utf-8-sig")


@contextmanager
def opened(file: Source, form: Form) -> Iterator[Iterator[Block]]:
    """Open a file, leave some lines out, and give its blocks.

    A name that ends in .gz, .bz2 or .xz denotes a compressed file.

    Raises
    ------
    TypeError
        If it is none.
    CellError
        If a compressed file is damaged, or grows more than a hundredfold.
    """
    with ExitStack() as stack:
        if isinstance(file, (str, os.PathLike)):
            path = os.fspath(file)
            stream: Any = stack.enter_context(open(path, "rb"))
            unpack = opener(path)
            if unpack is not open:
                most = _FREE + _GROWTH * os.fstat(stream.fileno()).st_size
                stack.enter_context(_undamaged(path))
                stream = stack.enter_context(unpack(stream, "rb"))
                stream = io.BufferedReader(_Limited(stream, most, path))
        else:
            stream = file
        yield _blocks(stream, form.skiprows, form.encoding)


def opener(path: str | os.PathLike[str]) -> Callable[..., Any]:
    """Return `open`, or its like for a compressed file, by the end of the name."""
    return _COMPRESSED.get(os.path.splitext(os.fspath(path))[1].lower(), open)


def _blocks(stream: Any, skiprows: int, encoding: str) -> Iterator[Block]:
    if isinstance(stream, io.BufferedIOBase):
        if encoding in UTF8:
            return blocks.of_bytes(stream, skiprows)
        return blocks.of_lines(_decoded(stream, encoding), skiprows, encoding)
    if isinstance(stream, Iterable):
        return blocks.of_lines(iter(stream), skiprows, encoding)
    raise TypeError(blocks.no_file(stream))


def _decoded(stream: IO[bytes] | io.BufferedIOBase, encoding: str) -> Iterator[str]:
    text = io.TextIOWrapper(cast("IO[bytes]", stream), encoding, newline="")
    try:
        # Not the lines of `text` itself: who stops here would close it, and the stream with it.
        yield from iter(text.readline, "")
    finally:
        text.detach()  # who opened the stream closes it


@contextmanager
def _undamaged(path: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        if getattr(error, "errno", None) is not None:  # of the system, not of the format
            raise
        raise CellError(f"{path}: the compressed file is damaged ({error})") from None


class _Limited(io.RawIOBase):
    """A stream that ends with an error behind so many bytes."""

    def __init__(self, stream: Any, most: int, path: str) -> None:
        self._stream, self._left, self._most, self._path = stream, most, most, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), self._left + 1))
        if len(data) > self._left:
            raise CellError(
                f"{self._path}: the file holds more than {self._most} bytes, a hundred times its "
                "size; unpack it first if it is meant"
            )
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)
