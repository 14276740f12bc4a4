"""Running sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._core.axes import counted_axis
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REDUCTION, documented
from mdqr._functions import elementwise, filled, reductions
from mdqr._functions.manipulation.axes import along, moveaxis, operand
from mdqr._functions.sequences import concatenate

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
@documented(REDUCTION)
def cumsum(
    a: Any, /, axis: int | None = None, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return the running sums along an axis.

    Parameters
    ----------
    axis : int, optional
        The axis; by default the flattened array.

    Returns
    -------
    MDArray
        Of K values each: ``|error| <= 2 * K * eps * sum(|a|)``, to first order.

    >>> mdqr.cumsum(mdqr.array([1, 2, 3], precision=mdqr.qd)).to_numpy()
    array([1., 3., 6.])
    """
    return reductions.cumsum(operand(a), axis)


@with_precision
@documented(cumsum)
def cumprod(
    a: Any, /, axis: int | None = None, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return the running products along an axis.

    Products over 2, 4, 8, ... neighbours: as many passes as the length has bits.

    Returns
    -------
    MDArray
        Of K values each: relative error at most ``2 * K * eps``, complex ``4 * K * eps`` normwise,
        to first order, where no product of neighbours leaves the range.

    >>> mdqr.cumprod(mdqr.array([1, 2, 3, 4], precision=mdqr.qd)).to_numpy()
    array([ 1.,  2.,  6., 24.])
    """
    given, place = along(operand(a), axis)
    rows = moveaxis(given, place, -1).copy()
    reach = 1
    while reach < rows.shape[-1]:
        rows[..., reach:] = elementwise.multiply(rows[..., reach:], rows[..., :-reach])
        reach *= 2
    return moveaxis(rows, -1, place)


@with_precision
@documented(REDUCTION)
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the running sums along an axis, as the array API has them.

    Parameters
    ----------
    axis : int, optional
        The axis; required for several axes.
    include_initial : bool, optional
        Whether the first sum is the empty sum, 0.

    Returns
    -------
    MDArray
        As `mdqr.cumsum`.

    Raises
    ------
    ValueError
        If the axis is missing.

    >>> x = mdqr.array([1, 2, 3], precision=mdqr.qd)
    >>> mdqr.cumulative_sum(x, include_initial=True).to_numpy()
    array([0., 1., 3., 6.])
    """
    return _cumulative("cumulative_sum", operand(x), axis, include_initial)


@with_precision
@documented(cumulative_sum)
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the running products along an axis, as the array API has them.

    Parameters
    ----------
    include_initial : bool, optional
        Whether the first product is the empty product, 1.

    Returns
    -------
    MDArray
        As `mdqr.cumprod`.

    >>> x = mdqr.array([1, 2, 3], precision=mdqr.qd)
    >>> mdqr.cumulative_prod(x, include_initial=True).to_numpy()
    array([1., 1., 2., 6.])
    """
    return _cumulative("cumulative_prod", operand(x), axis, include_initial)


def _cumulative(name: str, x: MDArray, axis: int | None, include_initial: bool) -> MDArray:
    if axis is None and x.ndim > 1:
        raise ValueError(f"{name} of {x.ndim} axes needs to know which; give axis=")
    if not x.ndim:
        x = x.reshape(1)
    place = counted_axis(-1 if axis is None else axis, x.ndim)
    is_sum = name == "cumulative_sum"
    running = (cumsum if is_sum else cumprod)(x, place)
    if not include_initial:
        return running
    shape = [1 if i == place else n for i, n in enumerate(x.shape)]
    dtype = complex if x.is_complex else float
    first = filled.full(
        shape, 0.0 if is_sum else 1.0, precision=x.precision, dtype=dtype, device=x.device
    )
    return concatenate([first, running], place)
