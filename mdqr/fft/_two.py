"""Transforms along two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdqr._array.array import MDArray
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.fft._axes import Norm
from mdqr.fft._functions import fftn, ifftn, irfftn, rfftn


@with_precision
@experimental
@documented(fftn)
def fft2(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return Fourier transforms along two axes, by default the last.

    >>> mdqr.fft.fft2(mdqr.zeros((3, 4), precision=mdqr.qd)).shape
    (3, 4)
    """
    return fftn(a, s, axes, norm)


@with_precision
@experimental
@documented(ifftn)
def ifft2(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return inverse Fourier transforms along two axes, by default the last.

    >>> mdqr.fft.ifft2(mdqr.zeros((3, 4), precision=mdqr.qd)).shape
    (3, 4)
    """
    return ifftn(a, s, axes, norm)


@with_precision
@experimental
@documented(rfftn)
def rfft2(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return transforms of real numbers along two axes, by default the last.

    >>> mdqr.fft.rfft2(mdqr.zeros((3, 4), precision=mdqr.qd)).shape
    (3, 3)
    """
    return rfftn(a, s, axes, norm)


@with_precision
@experimental
@documented(irfftn)
def irfft2(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the real numbers with given transforms along two axes, by default the last.

    >>> mdqr.fft.irfft2(mdqr.zeros((3, 4), precision=mdqr.qd)).shape
    (3, 6)
    """
    return irfftn(a, s, axes, norm)
