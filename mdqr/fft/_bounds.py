"""Bounds of the errors of transforms, in units of eps.

A root has an error of eps / 2, a complex product one of 4 eps, a product of matrices with r terms
one of ``sqrt(2) (r + 8)`` eps of the sum of the moduli of its terms (the page Contracts). With F
the matrix of a step of length r, whose entries have modulus 1, the error of the step is at most
``d |F| |x|`` in each entry, ``d = sqrt(2) (r + 8) + 1/2``, so that its norm is at most
``sqrt(r) d norm(F x)``, as ``norm(|F|) = r`` and ``norm(F x) = sqrt(r) norm(x)``. Steps before and
after multiply norms by ``norm(F)``: relative errors add up.

A convolution of p numbers x by a chirp multiplies a spectrum U of length L by the chirp's, V:
the norm of the error is at most ``norm(x)`` times the sum of ``(2 b + 9) max|V|``, b the bound of
norms for L, of two transforms and two products; ``(c + 1/2) (2 p - 1)`` of V, c the bound of each
entry for L relative to the sum of moduli; and ``5 sqrt(p)`` of the last product.

Terms of second order are smaller by n eps; columns are scaled to a largest entry near 1, so that
what underflows is below 2**-1000 of it. One percent covers both.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

from mdqr._stability import experimental
from mdqr.fft._plan import DENSE, convolved_length, factors

_ROOT, _PRODUCT = 0.5, 4.0
_REST = 1.01


@experimental
def error_bound(n: int) -> float:
    """Return the bound of the errors of a transform of length n, in units of eps.

    Parameters
    ----------
    n : int
        The length, at least 1.

    Returns
    -------
    float
        A number c with ``norm(error) <= c * eps * norm(y)`` for the exact transform y along one
        axis, in the 2-norm; with ``norm="ortho"``, and where n divides the result, 4 more. Each
        entry that is smaller than ``2**-1022 / eps`` may have an error of ``2**-1074`` besides.

    Raises
    ------
    ValueError
        If n is below 1.

    Notes
    -----
    The bound of steps of small lengths, as products of matrices, and of convolutions for prime
    factors above 192. Of transforms along several axes, bounds add up. Errors found are some
    hundreds of times smaller.

    Examples
    --------
    >>> import mdqr
    >>> round(mdqr.fft.error_bound(4096))
    427
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}")
    return _REST * _norm(n)


def _dense(r: int) -> float:
    return sqrt(2) * (r + 8) + _ROOT


def _between(n: int) -> float:
    """Return the bound of the products with roots between the steps."""
    return (len(factors(n)) - 1) * (_PRODUCT + _ROOT) if n > 1 else 0.0


def _norm(n: int) -> float:
    steps = (sqrt(r) * _dense(r) if r <= DENSE else _convolved(r) / sqrt(r) for r in factors(n))
    return _between(n) + sum(steps)


def _entries(n: int) -> float:
    return _REST * (_between(n) + sum(map(_dense, factors(n))))


@lru_cache(maxsize=64)
def _convolved(p: int) -> float:
    """Return the bound of a convolution, relative to the norm of the p numbers."""
    length = convolved_length(p)
    chirp = np.exp(1j * np.pi * (np.arange(p, dtype=object) ** 2 % (2 * p)).astype(float) / p)
    filter_ = np.concatenate([chirp, np.zeros(length - 2 * p + 1), chirp[:0:-1]])
    largest = 1.001 * float(abs(np.fft.fft(filter_)).max())
    rest = _entries(length) + _ROOT
    two = 2 * _norm(length) + 2 * _PRODUCT + _ROOT
    return two * largest + rest * (2 * p - 1) + (_PRODUCT + _ROOT) * sqrt(p)
