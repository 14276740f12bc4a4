"""R alone, as the Cholesky factor of a Gram matrix of more digits than R has.

In double- and quad-doubles R is kept in twice the limbs, too. Of octo-doubles it is corrected from
a factor of the Gram matrix rounded to octo-doubles, in sums of the bits that the square of the
condition needs. Of hexa-doubles both are rounded to the limbs of R: that square is lost, which
bounds of its entries count. Of entries with few bits it has no errors in the limbs of R, and
residuals are formed in parts that have none either: then nothing is lost, and no more limbs are
needed.

With ``S = R^-H (A^H A - R^H R) R^-1``, ``P = A R^-1`` has ``P^H P = I + S``. If L is the upper
Cholesky factor of ``I + S``, ``A = Q (L R)`` with a Q that is orthonormal, so that
``norm(a_j - Q r_j) <= norm(L - I) norm(r_j)``, and ``norm(L - I) <= norm(S)`` where that is at most
1/4, in the Frobenius norm.
"""

from __future__ import annotations

from math import ceil, inf, log2
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter
from mdqr.linalg._factor.refine import cholesky
from mdqr.linalg._factor.refine.cholesky import Sweeps, roundings
from mdqr.linalg._factor.refine.products import (
    bits_of_entries,
    block_of,
    eps_of,
    exact_product,
    formed,
    held,
    times,
)
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._shared import tuning

BOUND = 20.0  # in n eps
# Limbs of a Gram matrix beyond which just so many bits as R needs take less time.
_MOST_LIMBS = 8
# Bits are multiples of this: others need other plans.
_STEP = 32
_U = 2.0**-53
_UP = 1.0 + 2.0**-20  # for roundings of the bounds themselves
_MOST_SWEEPS = 40
# What a sweep has to leave: with less, factors by reflections take less time.
_GAIN = 2.0**-12
# Further sweeps are not worth their time.
_ENOUGH = 2.0
# So many times as many rows as columns without wider numbers: bounds rarely serve others.
_TALL = 8
# With fewer limbs products of short entries do not fit these.
_SHORT = 4
# The most of ``norm(S)``; the bound above ends there.
_MOST_LEFT = 0.25


class Factor(NamedTuple):
    """R, and a bound of S for R before its rounding to eps, with eps added."""

    r: Block
    left: float


def factor(
    backend: Backend, a: Block, *, kind: Kind, report: Reporter | None = None
) -> Block | None:
    """Return R of one matrix ``(m, n)``, m >= n, by sweeps of products.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, finite, with columns scaled near 1.
    kind : Kind
        That of R.
    report : callable, optional
        As in `mdqr.linalg._factor.refine.factor.factor`.

    Returns
    -------
    Block or None
        R with a positive diagonal, ``norm(a_j - Q r_j) <= 20 n eps norm(a_j)`` for an orthonormal
        Q; None where that cannot be shown, as beyond a condition of 1e6, or 30 in hd for entries
        of many bits.
    """
    (m, n), wide = map(int, a.shape[-2:]), wide_kind(kind)
    more: dict[str, Any] = {"conj_a": True, "shape": "gram"}
    turned = a.swapaxes(-1, -2)
    if kind.limbs >= _SHORT and m <= MOST_TERMS:
        found = exact_product(backend, turned, a, kind=kind, **more)
        if found is not None:
            known = factor_of(backend, found, kind=kind, is_exact=True, report=report)
            return None if known is None else known.r
    if wide == kind:
        if 2 * kind.limbs <= PRECISIONS[-1].limbs:
            return _of_few_bits(backend, a, kind, report)
        if not _TALL * n <= m <= MOST_TERMS:
            return None
        more["bits"] = bits_of_entries(kind)
    found = formed(backend, turned, a, kind=wide, **more)
    if found is None:
        return None
    runs = -(-m // MOST_TERMS)
    known = factor_of(backend, found, kind=kind, runs=runs, report=report)
    return None if known is None else known.r


def _of_few_bits(backend: Backend, a: Block, kind: Kind, report: Reporter | None) -> Block | None:
    """Return `factor` from a Gram matrix of the bits that the condition in float64 needs."""
    wide, low = Kind(2 * kind.limbs, kind.is_complex), Kind(1, kind.is_complex)
    (m, n), eps = map(int, a.shape[-2:]), eps_of(kind)
    runs = -(-m // MOST_TERMS)
    options: dict[str, Any] = {"conj_a": True, "shape": "gram"}
    with np.errstate(all="ignore"):
        first = held(backend, a, low)
        near = times(backend, first.swapaxes(-1, -2), first, kind=low, **options)
        condition = Sweeps.of(backend, block_of(near, low), low, runs).condition()
        del first, near
        # Beyond, that is what rounding made of it, and no bound would be shown.
        if not n * _U * condition**2 <= 1.0:
            return None
        # Then roundings of the Gram matrix and of E are below eps in S.
        bits = _STEP * ceil(log2(6.0 * roundings(runs) * condition**2 / eps) / _STEP)
        whole = formed(backend, a.swapaxes(-1, -2), a, kind=wide, bits=bits, **options)
        if whole is None:
            return None
        r, sweeps = _start(backend, whole, wide, runs, kind=kind, at_once=True)
        sweeps.take_bits(bits, runs)
        known = _finished(sweeps, r, kind, report)
    return None if known is None else known.r


def wide_kind(kind: Kind) -> Kind:
    """Return the kind of a Gram matrix of all its bits: twice the limbs where eight hold them."""
    return Kind(max(kind.limbs, min(2 * kind.limbs, _MOST_LIMBS)), kind.is_complex)


def factor_of(
    backend: Backend,
    gram: Block,
    *,
    kind: Kind,
    runs: int = 1,
    is_exact: bool = False,
    report: Reporter | None = None,
) -> Factor | None:
    """Return R from the upper part of the Gram matrix, formed in so many runs; see `factor`.

    A matrix of no more limbs than R has been formed in one run, of the bits of `bits_of_entries`,
    or has no errors.
    """
    n, eps, wide = int(gram.shape[-1]), eps_of(kind), kind if is_exact else wide_kind(kind)
    with np.errstate(all="ignore"):
        r, sweeps = _start(backend, gram, wide, runs, at_once=wide == kind)
        enough = _ENOUGH * eps
        if is_exact:
            sweeps.take_exactly()
            return _finished(sweeps, r, kind, report)
        if wide == kind:
            sweeps.count_entries()
            enough = n * eps
            if not sweeps.entries <= BOUND * n * eps:
                return None
        best, before = None, inf
        for done in range(1, _MOST_SWEEPS + 1):
            found = sweeps.changed(r)
            left = _UP * (sweeps.bound(found) + eps)
            is_last = not left <= _GAIN * before or left <= enough
            if left < before:
                best, before = r, left
            if report is not None:
                report("refine", done, done if is_last else None)
            if is_last:
                break
            (r,) = sweeps.corrected((r,), found.changes)
    if best is None or not before <= min(BOUND * n * eps, _MOST_LEFT):
        return None
    return _rounded(backend, best, before, kind)


def _finished(sweeps: Sweeps, r: Block, kind: Kind, report: Reporter | None) -> Factor | None:
    """Return R of a kind from one near it, and a Gram matrix that suffices for it.

    R with a change of float64 counts, before its rounding: that loses the square of the condition.
    """
    n, eps, before = sweeps.order, eps_of(kind), inf
    most = min(BOUND * n * eps, _MOST_LEFT)
    for done in range(1, _MOST_SWEEPS + 1):
        found = sweeps.changed(r)
        now = left = _UP * (sweeps.bound(found) + eps)
        if not left <= n * eps:
            (r,) = sweeps.corrected((r,), found.changes)
            left = _UP * (sweeps.bound_behind(found) + eps)
        is_last = not now <= _GAIN * before or left <= most
        if report is not None:
            report("refine", done, done if is_last else None)
        if is_last:
            break
        before = now
    return _rounded(sweeps.backend, r, left, kind) if left <= most else None


def _rounded(backend: Backend, r: Block, left: float, kind: Kind) -> Factor:
    if kind.is_complex:
        planes.diagonal(r)[1] = 0.0
    return Factor(backend.unary("renormalize", r, kind=kind), left)


def _start(
    backend: Backend, gram: Block, wide: Kind, runs: int, *, at_once: bool, kind: Kind | None = None
) -> tuple[Block, Sweeps]:
    """Return a factor of a large matrix or `at_once`, else of float64, and sweeps.

    It has the bits of `kind`, all unless given; of float64 for orthonormal columns, as the zeros
    of their Gram matrix have no digits to be right in.
    """
    n, first = int(gram.shape[-1]), wide if kind is None else kind
    if at_once or tuning.cholesky_block(backend, n, kind=wide) < n:
        rounded = planes.first_limbs(gram, wide.is_complex, first.limbs)
        c = cholesky.factor(backend, rounded, first, cholesky.error_of(n) * eps_of(first))
        if c is not None:
            c = planes.widen(c, wide.is_complex, wide.limbs)
            return c, Sweeps.near(backend, gram, c, wide, runs=runs)
    sweeps = Sweeps.of(backend, gram, wide, runs=runs)
    return sweeps.start()[0], sweeps
