"""Functions of matrices that users give by their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._functions.sequences import stack
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.answers import Found, answered, of_two
from mdqr.linalg._matrix.given import Given, first_limbs, frobenius
from mdqr.linalg._matrix.parlett.samples import Samples
from mdqr.linalg._matrix.parlett.triangular import function_of
from mdqr.linalg._spectral.disks import SLACK

# Norms of changes that stand for rounding errors, in units of the last place of the norm of the
# matrix and the square root of its order, and a factor of what they do. Schur forms have about 2.
_ROUNDING = 4.0
_SAFETY = 2.0
# The number of changes that are tried.
_TRIES = 4
# By so much, times the order, the largest change may exceed the ones that were tried.
_BEYOND = 6.0
# Imaginary parts of functions of real matrices, in units of the last place, that count as rounding.
_IMAGINARY = 1024.0


@experimental
@of_two
def funm(
    a: Any,
    func: Callable[[MDArray], Any],
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return a function of matrices, given as one of numbers; as `scipy.linalg.funm`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    func : callable
        Takes a complex `MDArray` ``(k,)`` and returns the values, an `MDArray` of its shape with
        the digits of its precision. It must be analytic at eigenvalues that are equal or close.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `a`.
    data_error : dict, optional
        Bounds of the errors of entries, ``{"a_atol": ..., "a_rtol": ...}``, as in `lstsq`; by
        default half a unit in the last place of the precision in which they were given.
    return_info : bool, optional
        True to return the information on the errors, too.

    Returns
    -------
    MDArray or tuple
        The functions ``(..., n, n)``; real if `a` is and imaginary parts are within rounding
        errors. With `return_info` ``(x, info)``, an `Info` whose bounds are estimated, by further
        calls of `func` when they are read.

    Raises
    ------
    TypeError
        If `data_error` is not a dict, or `func` returns no `MDArray`.
    ValueError
        If errors of the data are negative or not finite, or `func` returns another shape.
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, or `func` is not analytic next to eigenvalues
        that are close together, not finite, or has fewer digits than its argument.
    MemoryError
        If memory cannot be allocated; the message gives the requested size.

    See Also
    --------
    expm, logm, sqrtm, fractional_matrix_power : Functions with proven bounds.

    Notes
    -----
    Schur form, whose eigenvalues are put into clusters (P. I. Davies and N. J. Higham, A
    Schur-Parlett algorithm for computing matrix functions, 2003). Each has a Taylor
    series; its coefficients are Fourier transforms of values on a circle (J. N. Lyness and C. B.
    Moler 1967), so derivatives are not needed. Clusters are split where the circle is near a
    singularity. The rest is Parlett's recurrence. On the host.

    The error is estimated by the value in the next precision, in the highest one by changes of the
    matrix of the size of rounding errors. It cannot show errors of `func` itself.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[1, 1], [0, 1]], precision=mdqr.qd)
    >>> x, info = mdqr.linalg.funm(a, lambda z: z**3 + mdqr.exp(z - 1), return_info=True)
    >>> x.to_numpy().round(12).tolist(), bool(info.error_bound.max() < 1e-60)
    ([[2.0, 4.0], [0.0, 2.0]], True)
    """
    evaluate, missing = partial(_found, func), "has no value"
    return answered(
        "funm",
        a,
        precision,
        data_error,
        return_info,
        evaluate,
        missing,
        "Schur-Parlett",
        is_tight=True,
        bound_kind="estimated",
    )


def _found(func: Callable[[MDArray], Any], given: Given) -> Found:
    matrix = given.matrix.to_device("cpu")
    value, dropped = _values(func, matrix)
    errors = _Errors(func, matrix, value, dropped)
    return Found(value.to_device(given.matrix.device), errors.bounds)


def _values(func: Callable[[MDArray], Any], matrix: MDArray) -> tuple[MDArray, np.ndarray]:
    """Return functions of matrices ``(batch, n, n)``, and the largest part that was left out."""
    precision, real = matrix.precision, not matrix.is_complex
    samples, backend = Samples(func, precision), for_block(matrix._block)
    if not matrix.size:
        return matrix, np.zeros(len(matrix))
    found = [function_of(backend, each, samples) for each in matrix.astype(dtype=complex)]
    for each in found:
        if not np.isfinite(first_limbs(each)).all():
            raise np.linalg.LinAlgError("funm: func is not finite at an eigenvalue, or near one")
    value = stack(found)
    whole = first_limbs(value)
    n, dropped = matrix.shape[-1], abs(whole.imag).max(axis=(-2, -1))
    if real and (dropped <= _IMAGINARY * n * precision.eps * abs(whole).max(axis=(-2, -1))).all():
        return value.real.copy(), dropped
    return value, 0 * dropped


class _Errors:
    """Estimates of the errors of entries."""

    def __init__(
        self, func: Callable[[MDArray], Any], matrix: MDArray, value: MDArray, dropped: np.ndarray
    ) -> None:
        self._func, self._matrix, self._value, self._dropped = func, matrix, value, dropped
        self._own = cache(self._rounding)

    @np.errstate(all="ignore")
    def bounds(self, of_a: np.ndarray) -> np.ndarray:
        """Return estimates of errors of entries ``(batch, n, n)``, for errors of entries of a."""
        found, n = self._own(), of_a.shape[-1]
        if not of_a.any():
            return found
        # Of so small changes only that of first order is seen.
        sizes, least = frobenius(of_a), self._matrix.precision.eps**0.5 * self._norm()
        up = np.where(sizes > 0, np.maximum(least / np.where(sizes > 0, sizes, 1.0), 1.0), 0.0)
        change = self._change(of_a * up[:, None, None])
        up = up[:, None, None]
        change = np.where(up > 0, change / np.where(up > 0, up, 1.0), 0.0)
        return np.asarray(found + _BEYOND * n * change)

    def _norm(self) -> np.ndarray:
        return frobenius(first_limbs(self._matrix))

    def _rounding(self) -> np.ndarray:
        """Return estimates of rounding errors of the value."""
        precision, n = self._matrix.precision, self._matrix.shape[-1]
        if (higher := precision.next) > precision:
            try:
                better, dropped = _values(self._func, self._matrix.astype(higher))
            except np.linalg.LinAlgError:  # func has no more digits than these
                return np.full(self._matrix.shape, np.inf)
            apart = abs(first_limbs(better - self._value.astype(higher)))
            apart = apart + dropped[:, None, None]
            size = higher.eps * frobenius(first_limbs(self._value))
            return np.asarray(2 * SLACK * apart + (n * size)[:, None, None])
        entries = _ROUNDING / max(1, n) ** 0.5 * precision.eps * self._norm()
        change = self._change(np.broadcast_to(entries[:, None, None], self._matrix.shape))
        change = frobenius(change)
        found = _SAFETY * (change + n * precision.eps * frobenius(first_limbs(self._value)))
        found = SLACK * (found + self._dropped)
        return np.broadcast_to(found[:, None, None], self._matrix.shape)

    def _change(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest changes of entries by changes of the matrix of these sizes."""
        rng, found = np.random.default_rng(1), np.zeros(sizes.shape)
        for _ in range(_TRIES):
            signs = rng.choice([-1.0, 1.0], sizes.shape)
            if self._matrix.is_complex:
                signs = signs * np.exp(2j * np.pi * rng.random(sizes.shape))
            try:
                moved, _ = _values(self._func, self._matrix + signs * sizes)
            except np.linalg.LinAlgError:
                return np.full(sizes.shape, np.inf)
            found = np.maximum(found, abs(first_limbs(moved - self._value)))
        return found
