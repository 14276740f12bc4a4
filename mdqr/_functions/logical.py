"""Truth of values, and closeness."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._convert.array_like import plain
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import common_shape, highest_precision, operands
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._functions import comparison, elementwise
from mdqr._limbs import planes
from mdqr._limbs.device import check_together, is_cuda_array, place_on_device_of

if TYPE_CHECKING:
    from mdqr._typing import Mask, PrecisionLike


@with_precision
def logical_and(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return masks of pairs of values that are both not zero.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        NaN is not zero.

    Returns
    -------
    numpy.ndarray or numpy.bool
        Of the broadcast shape; of CuPy on a GPU.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.logical_and(mdqr.array([0, 1, 2], precision=mdqr.qd), [True, False, True])
    array([False, False,  True])
    """
    return _combined(lambda a, b: a & b, x1, x2)


@with_precision
@documented(logical_and)
def logical_or(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return where at least one of two values is not zero.

    >>> mdqr.logical_or(mdqr.array([0, 1], precision=mdqr.qd), False)
    array([False,  True])
    """
    return _combined(lambda a, b: a | b, x1, x2)


@with_precision
@documented(logical_and)
def logical_xor(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return where exactly one of two values is not zero.

    >>> mdqr.logical_xor(mdqr.array([0, 1], precision=mdqr.qd), True)
    array([ True, False])
    """
    return _combined(lambda a, b: a ^ b, x1, x2)


@with_precision
def logical_not(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return masks of values that are zero.

    Parameters
    ----------
    x : MDArray or array_like
        The values; NaN is not zero.

    Returns
    -------
    numpy.ndarray or numpy.bool
        Of the shape of `x`; of CuPy on a GPU.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.logical_not(mdqr.array([0, 1], precision=mdqr.qd))
    array([ True, False])
    """
    ops = operands(x)
    return ~planes.nonzero(ops.blocks[0], ops.is_complex)


@with_precision
def isclose(
    a: Any,
    b: Any,
    /,
    rtol: Any = None,
    atol: Any = 0.0,
    equal_nan: bool = False,
    *,
    precision: PrecisionLike | None = None,
) -> Mask:
    """Return masks of pairs with ``|a - b| <= atol + rtol * |b|``.

    Parameters
    ----------
    a, b : MDArray or array_like
        The operands.
    rtol, atol : real number, optional
        The tolerances, as in `mdqr.allclose`.
    equal_nan : bool, optional
        Whether NaN equals NaN.

    Returns
    -------
    numpy.ndarray or numpy.bool
        Of the broadcast shape. Infinities are close to themselves only.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.isclose(mdqr.array([1, 2], precision=mdqr.qd), [1, 2.1])
    array([ True, False])
    """
    ops = operands(a, b)
    if rtol is None:
        rtol = math.sqrt(min(x.precision for x in (a, b) if isinstance(x, ArrayBase)).eps)
    left, right = map(ops.wrap, ops.full_blocks())
    finite = comparison.isfinite(left) & comparison.isfinite(right)
    bounded = comparison.where(finite, right, 0)
    distance = elementwise.abs(comparison.where(finite, left, 0) - bounded)
    most = elementwise.add(elementwise.multiply(elementwise.abs(bounded), rtol), atol)
    close = finite & comparison.less_equal(distance, most)
    same = comparison.equal(left, right)
    if equal_nan:
        same = same | (comparison.isnan(left) & comparison.isnan(right))
    return close | same


@with_precision
@documented(isclose)
def allclose(
    a: Any,
    b: Any,
    /,
    rtol: Any = None,
    atol: Any = 0.0,
    equal_nan: bool = False,
    *,
    precision: PrecisionLike | None = None,
) -> bool:
    """Return whether ``|a - b| <= atol + rtol * |b|`` everywhere.

    Parameters
    ----------
    rtol : real number, optional
        Relative tolerance; by default the square root of `eps` of the lower precision of the
        `MDArray` operands (NumPy's 1e-5 would pass results with five digits).
    atol : real number, optional
        Absolute tolerance.

    Returns
    -------
    bool
        Whether all values are close. Infinities are close to themselves only.

    >>> mdqr.allclose(mdqr.qd("0.1"), mdqr.qd("0.1") * (1 + 2.0**-120))
    True
    """
    close = isclose(a, b, rtol, atol, equal_nan)
    return bool(close.all())


def _combined(function: Callable[[Any, Any], Any], x1: Any, x2: Any) -> Any:
    highest_precision((x1, x2))
    truths = [truth_of(x) for x in (x1, x2)]
    if any(map(is_cuda_array, truths)):
        device = next(filter(is_cuda_array, truths))
        truths = [
            place_on_device_of(t, device) if not isinstance(x, ArrayBase) else t
            for t, x in zip(truths, (x1, x2), strict=True)
        ]
        check_together(truths)
    common_shape([t.shape for t in truths])
    return function(*truths)[()]


def truth_of(x: Any) -> Any:
    """Return where values of any kind are not zero."""
    if isinstance(x, ArrayBase):
        return planes.nonzero(x._block, x._complex)
    return (x if is_cuda_array(x) else np.asarray(plain(x))).astype(bool, copy=False)
