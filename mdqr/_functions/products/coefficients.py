"""Arithmetic of polynomials by their coefficients, the one of the highest power first."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._functions import comparison, elementwise, filled
from mdqr._functions.creation import asarray
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.ordering.sorting import sort
from mdqr._functions.polynomials import polyder
from mdqr._functions.sampled import convolve
from mdqr._functions.sequences import concatenate
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@with_precision
def poly(seq_of_zeros: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the polynomial with given roots, or the characteristic polynomial of a matrix.

    Parameters
    ----------
    seq_of_zeros : MDArray or array_like
        The roots, one axis, or a square matrix.

    Returns
    -------
    MDArray
        The coefficients, the one of the highest power first, which is 1; real where complex roots
        are conjugate to each other. Of n roots r: ``|error| <= 4 * n * eps * poly(-|r|)``, complex
        ``10 * n * eps``, to first order; of a matrix the roots are eigenvalues by
        `mdqr.linalg.eigvals`, whose errors are added.

    Raises
    ------
    ValueError
        If it is neither a vector nor a square matrix.

    Notes
    -----
    One root after the other is multiplied in. Coefficients that fit the precision, as of small
    integers, are exact.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.poly(mdqr.array([1, 2, 3], precision=mdqr.qd)).to_numpy()
    array([ 1., -6., 11., -6.])
    """
    roots = operand(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.size:
        from mdqr.linalg._general.eig import eigvals

        roots = eigvals(roots)
    if roots.ndim != 1:
        raise ValueError(f"poly needs roots along one axis or a square matrix; got {roots.shape}")
    is_real = not roots.is_complex or comparison.array_equal(
        sort(roots), sort(elementwise.conj(roots))
    )
    found = filled.ones(1, precision=roots.precision, dtype=roots.dtype, device=roots.device)
    for i in range(len(roots)):
        found = concatenate([found, 0 * found[:1]])
        found[1:] -= roots[i] * found[:-1]
    return found.real.copy() if is_real else found


@with_precision
def polyadd(a1: Any, a2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the sum of two polynomials.

    Parameters
    ----------
    a1, a2 : MDArray or array_like
        The coefficients, the one of the highest power first.

    Returns
    -------
    MDArray
        The coefficients, as many as the longer one has; each is one sum.

    Raises
    ------
    ValueError
        If an operand has more than one axis.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.polyadd(mdqr.array([1, 2], precision=mdqr.qd), [9, 5, 4]).to_numpy()
    array([9., 6., 6.])
    """
    x, y = _aligned("polyadd", a1, a2)
    return x + y


@with_precision
@documented(polyadd)
def polysub(a1: Any, a2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the difference of two polynomials.

    >>> mdqr.polysub(mdqr.array([1, 2], precision=mdqr.qd), [9, 5, 4]).to_numpy()
    array([-9., -4., -2.])
    """
    x, y = _aligned("polysub", a1, a2)
    return x - y


@with_precision
@documented(polyadd)
def polymul(a1: Any, a2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the product of two polynomials.

    Returns
    -------
    MDArray
        The coefficients without zeros in front, each with the error of `mdqr.convolve`.

    >>> mdqr.polymul(mdqr.array([1, 2], precision=mdqr.qd), [1, -2]).to_numpy()
    array([ 1.,  0., -4.])
    """
    x, y = _pair("polymul", a1, a2)
    return convolve(_trimmed(x), _trimmed(y))


@with_precision
def polydiv(
    u: Any, v: Any, /, *, precision: PrecisionLike | None = None
) -> tuple[MDArray, MDArray]:
    """Return the quotient and the remainder of two polynomials.

    Parameters
    ----------
    u, v : MDArray or array_like
        Coefficients of the dividend and of the divisor, the one of the highest power first.

    Returns
    -------
    tuple of MDArray
        The quotient q, and the remainder r without zeros in front. ``v * q + r`` is `u` up to
        ``4 * (n + 2) * eps * (|v| * |q| + |u|)`` in each coefficient, complex ``10 * (n + 2) *
        eps``, where q has n coefficients, to first order.

    Raises
    ------
    ValueError
        If an operand has more than one axis.
    ZeroDivisionError
        If the divisor is zero.

    Notes
    -----
    Long division. The remainder begins behind the coefficients that the division takes away, which
    are not computed; zeros of rounding errors in front of it are kept.

    Examples
    --------
    >>> import mdqr
    >>> q, r = mdqr.polydiv(mdqr.array([3, 5, 2], precision=mdqr.qd), [2, 1])
    >>> q.to_numpy(), r.to_numpy()
    (array([1.5 , 1.75]), array([0.25]))
    """
    dividend, divisor = map(_trimmed, _pair("polydiv", u, v))
    if not bool(divisor[0] != 0):
        raise ZeroDivisionError("polydiv: the divisor is zero")
    steps = max(len(dividend) - len(divisor) + 1, 0)
    rest = dividend.copy()
    quotient = zeros_like_of(rest, max(steps, 1))
    for i in range(steps):
        quotient[i] = rest[i] / divisor[0]
        rest[i + 1 : i + len(divisor)] -= quotient[i] * divisor[1:]
    rest = rest[steps:] if steps else rest
    return quotient, _trimmed(rest) if len(rest) else zeros_like_of(quotient, 1)


@with_precision
@documented(polyder)
def polyint(
    p: Any, /, m: int = 1, k: Any = None, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return the coefficients of an integral.

    Parameters
    ----------
    m : int, optional
        How often to integrate.
    k : array_like, optional
        The constants, one for each integration or one for all; zeros by default.

    Returns
    -------
    MDArray
        The coefficients; relative error at most ``2 * m * eps``.

    Raises
    ------
    ValueError
        If `p` does not have one axis, `m` is negative, or the number of constants is not m.

    >>> mdqr.polyint(mdqr.array([3, 0, -2], precision=mdqr.qd)).to_numpy()
    array([ 1.,  0., -2.,  0.])
    """
    given, order = operand(p), operator.index(m)
    if given.ndim != 1:
        raise ValueError(f"polyint needs the coefficients along one axis; got {given.shape}")
    if order < 0:
        raise ValueError(f"m must not be negative; got {m}")
    constants = asarray(0 if k is None else k, precision=given.precision, device=given.device)
    if constants.ndim > 1 or (constants.size not in (1, order) and k is not None):
        raise ValueError(f"polyint needs {order} constants; got shape {constants.shape}")
    constants = constants.reshape(-1)
    xp = planes.namespace(given._block)
    for i in range(order):
        powers = xp.arange(len(given), 0, -1, dtype=np.float64)
        last = constants[min(i, constants.size - 1)].reshape(1)
        given = concatenate([given / powers, last])
    return given.copy() if not order else given


def _pair(function: str, a1: Any, a2: Any) -> tuple[MDArray, MDArray]:
    ops = promote(a1, a2)
    x, y = (ops.wrap(block) for block in ops.full_blocks())
    if x.ndim > 1 or y.ndim > 1:
        raise ValueError(f"{function} needs vectors of coefficients; got {x.shape} and {y.shape}")
    return x.reshape(-1), y.reshape(-1)


def _aligned(function: str, a1: Any, a2: Any) -> list[MDArray]:
    """Return the coefficients with zeros in front of the shorter ones."""
    pair = _pair(function, a1, a2)
    size = max(map(len, pair))
    return [concatenate([zeros_like_of(x, size - len(x)), x]) for x in pair]


def _trimmed(x: MDArray) -> MDArray:
    """Return coefficients without zeros in front; one zero if all are zero."""
    (places,) = np.nonzero(host_block(x != 0))
    if not len(x):
        return zeros_like_of(x, 1)
    return x[places[0] :] if len(places) else x[-1:]


def zeros_like_of(x: MDArray, size: int) -> MDArray:
    """Return a vector of zeros of the precision and field of `x`, where it lives."""
    return filled.zeros(size, precision=x.precision, dtype=x.dtype, device=x.device)
