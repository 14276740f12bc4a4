"""The assertion of NumPy's name, on exact values."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from mdqr.testing._assertions import _first, _lead, _precision_of, _text, ulp_error
from mdqr.testing._exact import SCALE
from mdqr.testing._oracles import Exact, exact_value

_FINER = 256  # bits of a modulus below the unit of its square


def assert_allclose(
    actual: Any, desired: Any, *, rtol: float, atol: float = 0.0, err_msg: str = ""
) -> None:
    """Raise AssertionError where ``|actual - desired| > atol + rtol * |desired|``.

    Parameters
    ----------
    actual : array_like
        Computed values: an MDArray, or a float64 or complex128 array.
    desired : array_like or Exact
        What they should be, as in `ulp_error`, but of the shape of `actual` or a single value.
        Nothing is rounded: ``0.1`` is a double, other than ``Fraction(1, 10)``.
    rtol, atol : float
        The relative and the absolute tolerance. `rtol` has no default: NumPy's is 1e-7.
    err_msg : str, optional
        Text put before the message.

    Raises
    ------
    AssertionError
        With the first offending index, both values and the error; or because the shapes differ.
    TypeError
        If `actual` is not an array of floats.
    ValueError
        If a tolerance is negative or not finite.

    See Also
    --------
    assert_close : tolerances in units of the precision.

    Notes
    -----
    Errors are exact: the comparison is one of integers, for complex values of moduli that are exact
    to 2**-256 units of 2**-1074. NaN equals NaN, and infinities equal themselves, as in NumPy.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr.testing import assert_allclose
    >>> third = mdqr.array(1, precision=mdqr.qd) / 3
    >>> assert_allclose(third * 3, 1, rtol=1e-63)
    """
    tolerances = _tolerance("rtol", rtol), _tolerance("atol", atol)
    precision = _precision_of(actual, None)
    value, reference = exact_value(actual), exact_value(desired)
    shape = value.real.shape
    if reference.real.shape not in ((), shape):
        raise AssertionError(
            f"{_lead(err_msg)}shapes differ: actual has {shape}, desired has {reference.real.shape}"
        )
    reference = Exact(*(np.broadcast_to(part, shape) for part in reference))
    columns = (part.ravel() for part in (*value[:2], *reference[:3]))
    flags = [not _close(row, *tolerances) for row in zip(*columns, strict=True)]
    wrong = np.array(flags, dtype=np.bool_).reshape(shape)
    special = value.special | reference.special
    wrong[special] = (ulp_error(actual, reference, precision=precision) > 0)[special]
    if not wrong.any():
        return
    index = _first(wrong)
    raise AssertionError(
        f"{_lead(err_msg)}{wrong.sum()} of {wrong.size} values differ by more than rtol={rtol:g}, "
        f"atol={atol:g}.\nFirst at index {index}:\n"
        f"  actual = {_text(value, index, precision)}\n"
        f"  desired = {_text(reference, index, precision)}"
    )


def _tolerance(name: str, value: float) -> Fraction:
    if not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a number from 0; got {value!r}")
    return Fraction(value)


def _close(row: tuple[Any, ...], rtol: Fraction, atol: Fraction) -> bool:
    """Compare ``a + ib`` with ``(c + id) / denominator``, all in units of 2**-1074."""
    a, b, c, d, denominator = row
    difference, size = _modulus(a * denominator - c, b * denominator - d), _modulus(c, d)
    return bool(difference <= atol * ((denominator << SCALE) << _FINER) + rtol * size)


def _modulus(x: int, y: int) -> int:
    """Return ``|x + iy|`` in units of 2**-256."""
    if not y:
        return abs(x) << _FINER
    return isqrt((x * x + y * y) << 2 * _FINER)
