"""The transforms with NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdqr._array.array import MDArray
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._functions.elementwise import conj
from mdqr._limbs import planes
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.fft._axes import Norm, counted, real_operand, transformed, whole_spectrum

_SWAPPED: dict[Norm, Norm] = {None: "forward", "backward": "forward", "forward": "backward"}


@with_precision
@experimental
def fft(
    a: Any,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return discrete Fourier transforms, ``y[k] = sum_j exp(-2 pi i j k / n) a[j]``.

    Parameters
    ----------
    a : MDArray or array_like
        The values, real or complex.
    n : int, optional
        The length, any: values are cut off, or zeros put behind them. By default as it is.
    axis : int, optional
        The axis.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the inverse is divided by n (default), both by ``sqrt(n)``, or this one by n.

    Returns
    -------
    MDArray
        Complex, of length n along the axis.

    Raises
    ------
    ValueError
        If the length is below 1, or `norm` is unknown.
    AxisError
        If the axis does not exist.

    Notes
    -----
    ``norm(error) <= c * eps * norm(y)`` in the 2-norm along the axis, with c from `error_bound`,
    such as 427 for n = 4096. Errors found are below 2 eps.

    Steps of length at most 16, or prime, are products of matrices with correctly rounded roots of
    unity (W. M. Gentleman and G. Sande 1966, in T. G. Stockham's order). Prime factors above 192
    are convolutions of a power of two (L. Bluestein 1970).

    Examples
    --------
    >>> import mdqr
    >>> print(mdqr.fft.fft(mdqr.array([1, 2, 3, 4], precision=mdqr.qd)))
    [10.0+0.0j -2.0+2.0j -2.0+0.0j -2.0-2.0j]
    """
    return transformed(a, n, axis, norm, -1)


@with_precision
@experimental
@documented(fft)
def ifft(
    a: Any,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return inverse Fourier transforms, ``a[j] = sum_k exp(2 pi i j k / n) y[k] / n``.

    >>> mdqr.fft.ifft(mdqr.array([10, -2 + 2j, -2, -2 - 2j], precision=mdqr.qd)).real.to_numpy()
    array([1., 2., 3., 4.])
    """
    return transformed(a, n, axis, norm, 1)


@with_precision
@experimental
@documented(fft)
def rfft(
    a: Any,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the first ``n // 2 + 1`` values of the transforms of real numbers.

    The others are conjugate to them.

    Raises
    ------
    TypeError
        If values are complex.

    >>> mdqr.fft.rfft(mdqr.array([1, 2, 3, 4], precision=mdqr.qd)).shape
    (3,)
    """
    x = real_operand("rfft", a)
    found = transformed(x, n, axis, norm, -1)
    place = axis % x.ndim
    half = (*(slice(None),) * place, slice(found.shape[place] // 2 + 1))
    return found[half].copy()


@with_precision
@experimental
@documented(fft)
def irfft(
    a: Any,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the real numbers with given first halves of their transforms.

    Parameters
    ----------
    n : int, optional
        The length of the result; by default ``2 * (m - 1)`` for m values.

    Returns
    -------
    MDArray
        Real; imaginary parts of the first value, and of the last one of an even length, do not
        count.

    >>> mdqr.fft.irfft(mdqr.array([10, -2 + 2j, -2], precision=mdqr.qd)).to_numpy()
    array([1., 2., 3., 4.])
    """
    whole, n = whole_spectrum(a, n, axis)
    return transformed(whole, n, axis, norm, 1).real.copy()


@with_precision
@experimental
@documented(irfft)
def hfft(
    a: Any,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the real transforms of numbers whose second half is conjugate to the first.

    >>> mdqr.fft.hfft(mdqr.array([1, 2, 3], precision=mdqr.qd)).to_numpy()
    array([ 8., -2.,  0., -2.])
    """
    return irfft(conj(a), n, axis, _SWAPPED.get(norm, norm))


@with_precision
@experimental
@documented(rfft)
def ihfft(
    a: Any,
    /,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the first halves of the numbers with given real transforms, the inverse of `hfft`.

    >>> mdqr.fft.ihfft(mdqr.array([8, -2, 0, -2], precision=mdqr.qd)).real.to_numpy()
    array([1., 2., 3.])
    """
    return conj(rfft(a, n, axis, _SWAPPED.get(norm, norm)))


@with_precision
@experimental
def fftn(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return Fourier transforms along several axes.

    Parameters
    ----------
    a : MDArray or array_like
        The values, real or complex.
    s : sequence of int, optional
        The lengths, as `n` of `fft`; -1 for the length of the array.
    axes : sequence of int, optional
        The axes, by default the last ones for `s`, or all; two for ``fft2`` and its like.
    norm : {"backward", "ortho", "forward"}, optional
        As of `fft`.

    Returns
    -------
    MDArray
        Complex; the bounds of the axes add up.

    Raises
    ------
    ValueError
        If a length is below 1, `s` and `axes` have other lengths, or `norm` is unknown.
    AxisError
        If an axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.fft.fftn(mdqr.ones((2, 3), precision=mdqr.qd)).real.to_numpy()
    array([[6., 0., 0.],
           [0., 0., 0.]])
    """
    x, pairs = counted(a, s, axes)
    return _along(x, pairs, norm, -1)


def _along(x: MDArray, pairs: Sequence[tuple[int, int]], norm: Norm, sign: int) -> MDArray:
    if not pairs:
        block = x.limbs if x.is_complex else planes.complexify(x.limbs)
        return MDArray._wrap(block, x.precision, True).copy()
    for n, axis in reversed(pairs):
        x = transformed(x, n, axis, norm, sign)
    return x


@with_precision
@experimental
@documented(fftn)
def ifftn(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return inverse Fourier transforms along several axes.

    >>> mdqr.fft.ifftn(mdqr.array([[6, 0], [0, 0]], precision=mdqr.qd)).real.to_numpy()
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    x, pairs = counted(a, s, axes)
    return _along(x, pairs, norm, 1)


@with_precision
@experimental
@documented(fftn)
def rfftn(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return transforms of real numbers, of the last axis the first half as `rfft`.

    Raises
    ------
    TypeError
        If values are complex.

    >>> mdqr.fft.rfftn(mdqr.ones((2, 4), precision=mdqr.qd)).shape
    (2, 3)
    """
    x, pairs = counted(real_operand("rfftn", a), s, axes)
    if not pairs:
        raise ValueError("rfftn needs at least one axis")
    *others, (n, axis) = pairs
    return _along(rfft(x, n, axis, norm), others, norm, -1) if others else rfft(x, n, axis, norm)


@with_precision
@experimental
@documented(fftn)
def irfftn(
    a: Any,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the real numbers whose transforms are given, of the last axis the first half.

    Returns
    -------
    MDArray
        Real; the last length is by default ``2 * (m - 1)`` for m values.

    >>> mdqr.fft.irfftn(mdqr.array([[8, 0, 0], [0, 0, 0]], precision=mdqr.qd)).to_numpy()
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    x, pairs = counted(a, s, axes)
    if not pairs:
        raise ValueError("irfftn needs at least one axis")
    *others, (n, axis) = pairs
    x = _along(x, others[::-1], norm, 1) if others else x
    return irfft(x, None if s is None else n, axis, norm)
