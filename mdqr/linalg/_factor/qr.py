"""QR factorisation."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._errors import shown
from mdqr._io.format import summary
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import Places, PrecisionLike, QRMode, SolveMethod
from mdqr.linalg._factor.backward_error import FactorInfo, Given, product_errors
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._factor.refine import factor as refine
from mdqr.linalg._factor.refine import gram
from mdqr.linalg._factor.scaled import (
    Scaled,
    pivoted_factors,
    scaled_factors,
)
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks, of_batch
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import (
    Inputs,
    as_integer,
    gather,
    matrix_shape,
    memory_guard,
)

_MODES = ("reduced", "complete", "r", "raw")
_CHOICES = ", ".join(map(repr, _MODES))
_METHODS = ("auto", "householder", "refine")
_MOST_ROUNDS = 12  # of factorisations in float64, for conditions beyond it


class _QAndR(NamedTuple):
    Q: MDArray
    R: MDArray


class QRResult(WithInfo, _QAndR):
    """Q and R of a factorisation ``a = Q R``.

    Attributes
    ----------
    Q : MDArray
        Orthonormal columns: ``(..., m, k)`` with ``k = min(m, n)``, or ``(..., m, m)``.
    R : MDArray
        Upper triangular, ``(..., k, n)`` or ``(..., m, n)``, with a real diagonal that is not
        negative.
    info : FactorInfo
        Proven bounds of ``a - Q R`` and ``Q^H Q - I``; its `method` is "householder" or "refine".
    """

    info: FactorInfo

    def __repr__(self) -> str:
        return summary(self)


QRResult.__module__ = "mdqr.linalg"


class _QRAndP(NamedTuple):
    Q: MDArray
    R: MDArray
    P: Places


class QRPResult(WithInfo, _QRAndP):
    """Q, R and P of a factorisation with column pivoting, ``a[:, P] = Q R``.

    Attributes
    ----------
    Q : MDArray
        The same as for `QRResult`.
    R : MDArray
        The same as for `QRResult`; its diagonal does not increase, except by a factor
        ``1 - 2**-10``.
    P : numpy.ndarray or cupy.ndarray
        The columns of `a` in the order in which they were factored: int64 ``(..., n)``.
    info : FactorInfo
        Proven bounds of ``a[:, P] - Q R`` and ``Q^H Q - I``.
    """

    info: FactorInfo


QRPResult.__module__ = "mdqr.linalg"


def tile_of(function: str, tile: Any) -> int | None:
    """Return the width of tiles that the caller asks for.

    Raises
    ------
    ValueError
        If it is neither a positive integer nor None.
    """
    width = None if tile is None else as_integer(tile)
    if tile is not None and (width is None or width < 1):
        raise ValueError(f"{function}: tile must be a positive integer or None; got {shown(tile)}")
    return width


def require_factor(
    checks: Checks, function: str, name: str, block: Block, is_complex: bool
) -> None:
    """Demand that no factor of a finite matrix overflowed."""
    advice = "; scale the columns of a down"
    checks.require_in_range(function, name, block, is_complex, advice)


class _Options(TypedDict, total=False):
    method: SolveMethod
    tile: int | None
    check: bool
    precision: PrecisionLike | None
    progress: Progress


@overload
def qr(
    a: Any,
    /,
    mode: Literal["reduced", "complete"] = "reduced",
    *,
    pivoting: Literal[False] = False,
    **options: Unpack[_Options],
) -> QRResult: ...


@overload
def qr(
    a: Any, /, mode: Literal["r"], *, pivoting: Literal[False] = False, **options: Unpack[_Options]
) -> MDArray: ...


@overload
def qr(
    a: Any,
    /,
    mode: Literal["raw"],
    *,
    pivoting: Literal[False] = False,
    **options: Unpack[_Options],
) -> tuple[MDArray, MDArray]: ...


@overload
def qr(
    a: Any,
    /,
    mode: Literal["reduced", "complete"] = "reduced",
    *,
    pivoting: Literal[True],
    **options: Unpack[_Options],
) -> QRPResult: ...


@overload
def qr(
    a: Any, /, mode: Literal["r"], *, pivoting: Literal[True], **options: Unpack[_Options]
) -> tuple[MDArray, Places]: ...


@overload
def qr(
    a: Any, /, mode: Literal["raw"], *, pivoting: Literal[True], **options: Unpack[_Options]
) -> tuple[MDArray, MDArray, Places]: ...


@takes_hints
def qr(
    a: Any,
    /,
    mode: QRMode = "reduced",
    *,
    pivoting: bool = False,
    method: SolveMethod = "auto",
    tile: int | None = None,
    check: bool = True,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> QRResult | QRPResult | MDArray | tuple[Any, ...]:
    """Factor ``a = Q R`` with orthonormal Q and upper triangular R.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``, real or complex. Zero and dependent columns are allowed.
    mode : {"reduced", "complete", "r", "raw"}, optional
        "reduced": Q ``(..., m, k)`` and R ``(..., k, n)`` with ``k = min(m, n)``; "complete":
        Q ``(..., m, m)`` and R ``(..., m, n)``; "r": R ``(..., k, n)`` alone; "raw": the
        reflectors as `numpy.linalg.qr` returns them, ``(..., n, m)`` and ``(..., k)``.
    pivoting : bool, optional
        Factor the column with the largest remainder next, ``a[:, P] = Q R``, and return P too;
        as `scipy.linalg.qr`.
    method : {"auto", "householder", "refine"}, optional
        "householder": tiled blocked Householder reflections. "refine": products only, from factors
        in float64; in modes other than "raw", without pivoting. LinAlgError is raised where it
        cannot show the bounds below, as where the condition is beyond ``eps**-0.5`` from od on and
        some ``2**-50 / eps`` below, or columns have rows graded as far, and in precision d.
        "auto": "refine" for large matrices on a GPU, if a fixed table selects it and no
        `tile` is given; "householder" for all others, and without a warning where a factorisation
        in float64 does not converge, above condition numbers of about 1e10, or memory is short, of
        which "refine" takes three times as much. Precision d uses LAPACK.
    tile : int, optional
        Number of columns of a tile, with pivoting the largest; by default from a static table. The
        last bits depend on it.
    check : bool, optional
        Raise if something is not finite; on a device, that waits for the factors once, at the end
        (pivots, and large products, are waited for in any case). Otherwise NaN and infinities go
        through, but not through "refine".
    precision : Precision or str, optional
        The precision of the factors; by default the precision of `a`.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)`` after each tile, stage "factor", or sweep, stage
        "refine", whose number is not known before the last: `total` is None. True for a bar.

    Returns
    -------
    QRResult, QRPResult, MDArray or tuple
        ``(Q, R)``; R in mode "r"; ``(h, tau)`` in mode "raw". Except in mode "raw" the diagonal
        of R is real and not negative, and R is zero below it to the bit. With `pivoting`
        ``(Q, R, P)``, ``(R, P)`` or ``(h, tau, P)``, P int64 ``(..., n)``.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If `a` has fewer than two dimensions, or an option has an unknown value, or "refine" is
        asked for reflectors or pivots.
    numpy.linalg.LinAlgError
        If `check` is true and `a` or a factor is not finite, or `method` is "refine" and fails for
        a matrix.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    qr_factor : Q kept implicit, for many products with Q.
    certify : The errors of given factors.
    lowrank : Stops pivoting at the numerical rank.
    matrix_rank : The rank by singular values.

    Notes
    -----
    For every column j, ``norm(a_j - Q r_j) <= 20 n eps norm(a_j)``, and
    ``norm(I - Q^H Q) <= 20 n eps`` in the Frobenius norm; what "refine" proves has the columns of Q
    instead of n where they are more. Columns are scaled by powers of two, so
    that no intermediate value over- or underflows. The algorithm is the blocked Householder method
    in compact WY form with recursive panels (Bischof and Van Loan 1987, Schreiber and Van Loan
    1989, Elmroth and Gustavson 2000). Precision d is factored by LAPACK, with pivoting as dd.

    "refine" finds R alone as the Cholesky factor of a Gram matrix with more digits than R has, to
    condition numbers of about 1e6; in hd, of which it has as many, to about 30, and for tall
    matrices, if entries have more than about 400 bits below the largest of their column. Else it
    corrects Q and R of float64 in sweeps, each of which doubles their digits, by products alone:
    ``E = a - Q R`` and ``F = I - Q^H Q``, measured beyond the precision, and ``R^-1``, which is
    refined too, give the change of both to first order. Where R is too near to singular for
    float64, ``a R^-1`` is factored first, and so on. The bounds above are proven of the last sweep,
    from the norms of what it found and its rounding errors. The bits depend on the LAPACK or
    cuSOLVER that it starts from.

    With pivoting ``R[k, k] >= (1 - 2**-10) norm(R[k:, j])`` for all later columns j, at any
    condition, down to ``2**-1040`` of a column: lengths are measured in float64, but of what the
    work leaves, again after each drop by ``2**-12`` (Drmac and Bujanovic 2008). Small diagonal
    entries indicate missing rank, usually within a small factor; for matrices such as Kahan's they
    may exceed the singular values by ``2**k``, and `matrix_rank` decides. Columns whose lengths
    agree to ``2**-13`` keep their order, so that P is the same with any BLAS except for lengths
    that differ by just that.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[3.0, 1.0], [4.0, 2.0]], precision=mdqr.qd)
    >>> Q, R = mdqr.linalg.qr(a)
    >>> R[0, 0].to_strings().item(), R[1, 0].to_strings().item()
    ('5.0', '0.0')
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(qr, locals())
    _check_options(mode, method, pivoting)
    width = tile_of("qr", tile)
    inputs = gather(a, precision=precision, trimmed=False)
    m, n = matrix_shape("qr", "a", inputs.shape(0))
    rows = m if mode == "complete" else min(m, n)
    checks = Checks() if check else None
    keep_q = mode in ("reduced", "complete")
    with memory_guard(
        "qr", inputs, m * n + (m + n) * rows, 'take mode="r" or qr_factor, fewer columns'
    ):
        order, batch, field = None, inputs.shape(0)[:-2], inputs.is_complex
        if method == "refine" and min(inputs.blocks[0].shape) > 0:
            return _refined(a, inputs, mode, width, checks, progress, auto=False)
        may_refine = method == "auto" and mode != "raw" and not pivoting and tile is None
        kept = rows if keep_q else 0
        if may_refine and tuning.refined_qr_is_faster(inputs.backend, m, n, kept, kind=inputs.kind):
            return _refined(a, inputs, mode, width, checks, progress, auto=True)
        if pivoting:
            if checks is not None:
                checks.require_finite("qr", "a", inputs.blocks[0], field)
            one_batch = inputs._replace(blocks=[flat(inputs.blocks[0], field)])
            scaled, found = pivoted_factors(one_batch, tile=width, keep_q=keep_q, report=progress)
            order = found.order.reshape(*batch, n)
        else:
            scaled = scaled_factors(inputs, width, checks, "qr", progress, keep_q=keep_q)
        if mode == "raw":
            return _raw(inputs, scaled, checks, *([] if order is None else [order]))
        r, q = scaled.signed_r(rows), scaled.signed_q(rows) if keep_q else None
        if pivoting:
            r = _with_batch(r, batch, field)
            q = None if q is None else _with_batch(q, batch, field)
        return _wrapped(a, inputs, q, r, checks, order=order)


def _check_options(mode: str, method: str, pivoting: bool) -> None:
    """Raise ValueError for an unknown option, or for two that exclude each other."""
    if mode not in _MODES:
        raise ValueError(f"qr: mode must be one of {_CHOICES}; got {shown(mode)}")
    if method not in _METHODS:
        raise ValueError(
            f'qr: method must be "auto", "householder" or "refine"; got {shown(method)}'
        )
    if method == "refine" and (mode == "raw" or pivoting):
        asked = "pivots" if pivoting else 'mode="raw", reflectors'
        raise ValueError(f'qr: method="refine" has no {asked}; take method="householder"')


def _wrapped(
    given: Any,
    inputs: Inputs,
    q: Block | None,
    r: Block,
    checks: Checks | None,
    method: Any = "householder",
    order: Block | None = None,
) -> Any:
    """Return what `qr` returns, if R is finite or nobody asks."""
    if checks is not None:
        require_factor(checks, "qr", "R", r, inputs.is_complex)
        checks.settle()
    wrapped = inputs.wrap(r)
    if q is None:
        return wrapped if order is None else (wrapped, order)
    factor, a = inputs.wrap(q), Given.of(given, inputs)
    info = FactorInfo(
        inputs.precision,
        lambda: product_errors(a.matrix(columns=order), factor, wrapped, factor, unit=a.unit),
        method=method,
    )
    if order is None:
        return QRResult(factor, wrapped)._described(info)
    return QRPResult(factor, wrapped, order)._described(info)


def _refined(
    given: Any,
    inputs: Inputs,
    mode: str,
    tile: int | None,
    checks: Checks | None,
    report: Reporter | None,
    *,
    auto: bool,
) -> QRResult | MDArray:
    """Return factors by products, those of each matrix of a batch; see `qr`."""
    block, field, backend, kind = inputs.blocks[0], inputs.is_complex, inputs.backend, inputs.kind
    if kind.limbs == 1 and not auto:
        raise np.linalg.LinAlgError(
            'qr: method="refine" corrects factors of float64, and those of precision d are such: '
            'take method="householder"'
        )
    if checks is not None:
        checks.require_finite("qr", "a", block, field)
    m, n = block.shape[-2:]
    rows, batch = m if mode == "complete" else min(m, n), inputs.shape(0)[:-2]
    keep_q = mode != "r"
    if batch:
        sizes = (m, rows if keep_q else 0), (rows, n)
        q, r = (kind.empty(backend.xp, (*batch, *size)) for size in sizes)
    left: list[tuple[int, ...]] = []
    for item in np.ndindex(*batch):
        at = (..., *item, slice(None), slice(None))
        scaled, powers = backend.balance_columns(block[at], None, is_complex=field)
        found = _swept(backend, scaled, rows, kind, report, auto=auto, keep_q=keep_q)
        if found is None:
            if checks is not None:
                checks.settle()
            if not auto:
                raise np.linalg.LinAlgError(
                    f"qr: the matrix{of_batch(item)} is too near to singular, or its rows too far "
                    'graded, for method="refine": method="householder" takes any matrix'
                )
            left.append(item)
            part = inputs._replace(blocks=[block[at]])
            one = scaled_factors(part, tile, None, "qr", report, keep_q=keep_q)
            pair = one.signed_q(rows) if keep_q else None, one.signed_r(rows)
        else:
            pair = found[0], backend.ldexp(found[1], -powers, is_complex=field)
        if not batch:
            q, r = pair
            continue
        r[at] = pair[1]
        if keep_q:
            q[at] = pair[0]
    return _wrapped(given, inputs, q if keep_q else None, r, checks, _methods(batch, left))


def _swept(
    backend: Backend,
    scaled: Block,
    columns: int,
    kind: Kind,
    report: Reporter | None,
    *,
    auto: bool,
    keep_q: bool,
) -> tuple[Block | None, Block] | None:
    """Return refined Q, or None without it, and R; None if no bounds are proven.

    Sweeps take three times the memory of reflections.
    """
    rounds = 1 if auto else _MOST_ROUNDS
    try:
        if not keep_q and scaled.shape[-2] >= scaled.shape[-1]:
            r = gram.factor(backend, scaled, kind=kind, report=report)
            if r is not None:
                return None, r
        found = refine.factor(
            backend, scaled, columns=columns, kind=kind, rounds=rounds, report=report
        )
        return None if found is None else (found.q, found.r)
    except MemoryError:
        if not auto:
            raise
    return None


def _methods(batch: tuple[int, ...], left: list[tuple[int, ...]]) -> Any:
    """Return "refine", or "householder" for the matrices `left` to that; one word if all agree."""
    if len(left) in (0, math.prod(batch)):
        return "householder" if left else "refine"
    words = np.full(batch, "refine", dtype="U11")
    for item in left:
        words[item] = "householder"
    return words


def _with_batch(block: Block, batch: tuple[int, ...], is_complex: bool) -> Block:
    return block.reshape(*block.shape[: 1 + is_complex], *batch, *block.shape[-2:])


def _raw(inputs: Inputs, scaled: Scaled, checks: Checks | None, *order: Block) -> tuple[Any, ...]:
    """Return the reflectors of the matrix as it was before scaling, in NumPy's layout."""
    factors, xp = scaled.factors, scaled.factors.backend.xp
    batch, field = inputs.shape(0)[:-2], inputs.is_complex
    h = scaled.unscaled_r(factors.rows)
    xp.copyto(h, factors.h, where=xp.tri(*h.shape[-2:], k=-1, dtype=bool))
    h, tau = _with_batch(h, batch, field), _with_batch(factors.tau[..., None, :], batch, field)
    if checks is not None:
        require_factor(checks, "qr", "h", h, field)
        checks.settle()
    return inputs.wrap(h.swapaxes(-1, -2)), inputs.wrap(tau[..., 0, :]), *order
