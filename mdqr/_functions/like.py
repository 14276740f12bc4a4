"""Arrays with the shape, precision and field of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._core.base import ArrayBase
from mdqr._functions import creation
from mdqr._precision import Precision

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def zeros_like(
    a: MDArray,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of zeros with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    precision, dtype, device : optional
        Instead of those of `a`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.zeros_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    options = _model(a, precision, dtype, device)
    return creation.zeros(a.shape, **options)


def ones_like(
    a: MDArray,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array of ones with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    precision, dtype, device : optional
        Instead of those of `a`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.ones_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    options = _model(a, precision, dtype, device)
    return creation.ones(a.shape, **options)


def empty_like(
    a: MDArray,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array to be filled, which holds zeros, with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    precision, dtype, device : optional
        Instead of those of `a`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.empty_like(mdqr.eye(2, precision=mdqr.qd)).precision
    mdqr.qd
    """
    options = _model(a, precision, dtype, device)
    return creation.empty(a.shape, **options)


def full_like(
    a: MDArray,
    fill_value: Any,
    *,
    precision: Precision | str | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return an array filled with one value with the shape, precision and field of `a`.

    Parameters
    ----------
    a : MDArray
        The model.
    fill_value : array_like
        The value, as in `mdqr.full`.
    precision, dtype, device : optional
        Instead of those of `a`.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.full_like(mdqr.eye(2, precision=mdqr.qd), 2).precision
    mdqr.qd
    """
    options = _model(a, precision, dtype, device)
    return creation.full(a.shape, fill_value, **options)


def _model(
    a: Any, precision: Precision | str | None, dtype: Any, device: str | None
) -> dict[str, Any]:
    if not isinstance(a, ArrayBase):
        raise TypeError(
            f"the model must be an MDArray; got {type(a).__name__}: "
            "use mdqr.zeros(shape, precision=mdqr.qd) and its like"
        )
    return {
        "precision": a.precision if precision is None else precision,
        "dtype": (complex if a.is_complex else float) if dtype is None else dtype,
        "device": a.device if device is None else device,
    }
