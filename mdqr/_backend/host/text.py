"""Decimals to limbs and limbs to decimals by the extension; without it, Python's integers do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.host.backend import extension

MOST_DIGITS = 400  # of a number that the extension writes
MOST_LIMBS = 16  # of a number that it reads: `most_limbs` of kernels/host/text/decimal.hpp
READ, EMPTY, OTHER = range(3)  # what a row is


@cache
def kernels() -> ModuleType | None:
    """Return the extension, None where there is none: a bare tree converts without it."""
    try:
        return extension()
    except ImportError:
        return None


def read_texts(texts: Sequence[str], limbs: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Round ordinary decimals to greedy limbs ``(limbs, count)``, and tell which were read.

    Others are of another form, very long, very large or small, or no numbers; or they are to have
    more than `MOST_LIMBS` limbs.
    """
    block = np.zeros((limbs, len(texts)))
    done = np.zeros(len(texts), dtype=np.uint8)
    module = kernels()
    if module is not None and limbs <= MOST_LIMBS:
        module.read_texts(list(texts), block, done)
    return block, done.view(np.bool_)


def read_rows(
    data: bytes,
    ends: NDArray[np.int64],
    targets: NDArray[np.int64],
    limbs: int,
    delimiter: str | None,
    comments: str | None,
) -> tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.bool_]] | None:
    """Read the lines of a text that end at `ends`, without quotes; None if it is not done here.

    That is without the extension, and for more than `MOST_LIMBS` limbs.

    Parameters
    ----------
    data : bytes
        UTF-8.
    ends : numpy.ndarray
        The places behind the lines: those of the newlines, and the end of the text.
    targets : numpy.ndarray
        For each column of the text that of the result, -1 for those that are not wanted.
    limbs : int
        Number of limbs wanted.
    delimiter : str or None
        One ASCII character; None: blanks.
    comments : str or None
        What begins a comment.

    Returns
    -------
    block : numpy.ndarray
        ``(limbs, rows, columns)``.
    status : numpy.ndarray
        For each row: `READ`, `EMPTY`, or `OTHER` if it has another number of fields.
    left : numpy.ndarray
        ``(rows, columns)``: the cells that hold a number of another form, or none.
    """
    module = kernels()
    if module is None or limbs > MOST_LIMBS:
        return None
    shape = (len(ends), int(targets.max(initial=-1)) + 1)
    block = np.empty((limbs, *shape))
    status = np.empty(shape[0], dtype=np.uint8)
    left = np.zeros(shape, dtype=np.uint8)
    mark = -1 if delimiter is None else ord(delimiter)
    module.read_rows(data, ends, targets, block, status, left, mark, comments or "")
    return block, status, left.view(np.bool_)


def write_texts(
    planes: NDArray[np.float64], full: int, digits: int | None, most: int | None
) -> tuple[list[str | None], list[int]]:
    """Return digits without a point, None where they are to be found by integers, and places.

    The place of the first digit is its power of ten. Without `digits` they are the fewest that
    read back as `full` limbs, rounded to `most` where it takes more.
    """
    module, count = kernels(), planes.shape[1]
    if module is None or (digits or 0) > MOST_DIGITS:
        return [None] * count, [0] * count
    texts, leading = module.write_texts(np.ascontiguousarray(planes), full, digits or 0, most or 0)
    # The kernel writes numbers of few bits out, which takes many digits where they are small.
    if digits is None and most is not None:
        long = [i for i, text in enumerate(texts) if text is not None and len(text) > most]
        if long:
            rounded, places = write_texts(planes[:, long], full, most, None)
            for i, text, place in zip(long, rounded, places, strict=True):
                texts[i], leading[i] = None if text is None else text.rstrip("0"), place
    return texts, leading
