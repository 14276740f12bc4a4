"""LU factorisation with partial pivoting, by recursion over columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import order_of
from mdqr._backend.protocol import Backend
from mdqr._docstrings import documented
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import Places, PrecisionLike, Transposition
from mdqr.linalg._factor.backward_error import (
    FactorErrors,
    FactorInfo,
    Given,
    product_errors,
)
from mdqr.linalg._factor.refine import lu as refine
from mdqr.linalg._factor.refine.lu import error_of
from mdqr.linalg._factor.solution_bounds import (
    Errors,
    Factor,
    factor_eps,
    solution_info,
    turned,
)
from mdqr.linalg._factor.substitution import letter_of, solve_triangular
from mdqr.linalg._factor.triangular import Triangle, substitute
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks, fetch, of_batch
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.linalg._shared.operands import (
    Inputs,
    broadcast_batch,
    gather,
    matrix_shape,
    memory_guard,
    pair_of,
    precision_for,
    right_hand_side,
    square_order,
)

# Columns that are eliminated one by one; more are halved, so that most work is in products.
_PANEL = 16


class _LUAndPivots(NamedTuple):
    lu: MDArray
    piv: Places


class LUFactors(WithInfo, _LUAndPivots):
    """L and U of a matrix whose rows were interchanged.

    Attributes
    ----------
    lu : MDArray
        U in the upper triangle, and L, whose unit diagonal is not held, below it: ``(..., m, n)``.
    piv : numpy.ndarray or cupy.ndarray
        Row i was interchanged with row ``piv[..., i]``, for i = 0, 1, ...: int64 ``(..., k)``,
        ``k = min(m, n)``.
    info : FactorInfo
        Proven bounds of ``P A - L U``.
    """

    info: FactorInfo


LUFactors.__module__ = "mdqr.linalg"


@dataclass(frozen=True)
class Pivoted:
    """``P A 2**powers = L U``: L and U in one block, for matrices of one batch dimension.

    Columns were multiplied by powers of two, which changes neither L nor P. Row i was interchanged
    with row ``swaps[:, i]``.
    """

    backend: Backend
    kind: Kind
    lu: Block
    swaps: Block
    powers: Block

    def order(self, rows: int) -> Block:
        """Return the rows of A in the order that P brings them to, int64 ``(batch, rows)``."""
        return permutation(self.backend.xp, self.swaps, rows)

    def singular(self) -> Block:
        """Return whether a diagonal entry of U is zero, bool ``(batch,)``."""
        bits = scaling.magnitude_bits(diagonal(self.lu), self.kind.is_complex)
        return (bits == 0).any(axis=-1)


def factor(backend: Backend, a: Block, kind: Kind, report: Reporter | None = None) -> Pivoted:
    """Factor finite matrices ``(batch, m, n)``."""
    scaled, powers = backend.balance_columns(a, None, is_complex=kind.is_complex)
    refined = _refined(backend, scaled, kind)
    if refined is not None:
        if report is not None:
            report("factor", int(a.shape[-1]), int(a.shape[-1]))
        return Pivoted(backend, kind, refined.lu, refined.swaps, powers)
    lu = planes.widen(scaled, kind.is_complex, kind.limbs)
    m, n = lu.shape[-2:]
    swaps = backend.xp.zeros((lu.shape[-3], min(m, n)), dtype=np.int64)
    found = Pivoted(backend, kind, lu, swaps, powers)
    _eliminate(found, 0, min(m, n), report)
    if n > m:
        _update(found, 0, m, n)
    return found


def _refined(backend: Backend, a: Block, kind: Kind) -> refine.Factored | None:
    """Return factors of a batch of one matrix by correction of float64 factors, or None."""
    batch, m, n = a.shape[-3:]
    if batch != 1 or m != n or not tuning.refined_factors_are_faster(backend, n, kind=kind):
        return None
    bound = error_of(n) * precision_for(kind.limbs).eps
    found = refine.factor(backend, a[..., 0, :, :], kind, bound)
    if found is None:
        return None
    return refine.Factored(found.lu[..., None, :, :], found.swaps[None])


def _eliminate(known: Pivoted, first: int, last: int, report: Reporter | None) -> None:
    """Eliminate below the diagonal in columns from `first` to `last`; update no others."""
    if last - first > _PANEL:
        middle = first + (last - first + _PANEL) // (2 * _PANEL) * _PANEL
        _eliminate(known, first, middle, report)
        _update(known, first, middle, last)
        _eliminate(known, middle, last, report)
        return
    if last > first:
        known.backend.lu_panel(known.lu, known.swaps, first, last, kind=known.kind)
    if report is not None:
        report("factor", last, int(known.swaps.shape[-1]))


def _update(known: Pivoted, first: int, middle: int, last: int) -> None:
    """Apply what columns from `first` to `middle` eliminate to those from `middle` to `last`."""
    backend, lu, kind = known.backend, known.lu, known.kind
    top = lu[..., first:middle, middle:last]
    top[...] = substitute(
        backend, lu[..., first:middle, first:middle], top, kind=kind, lower=True, unit_diagonal=True
    )
    if middle < lu.shape[-2]:
        rest, left = lu[..., middle:, middle:last], lu[..., middle:, first:middle]
        rest[...] = exact.matmul(backend, left, top, c=rest, subtract=True, kind=kind)


def solved(known: Pivoted, b: Block) -> Block:
    """Return the solutions of ``A x = b``, ``(batch, n, k)``, unscaled and unchecked."""
    backend, kind = known.backend, known.kind
    y = permuted(b, known.order(int(b.shape[-2])))
    y = substitute(backend, known.lu, y, kind=kind, lower=True, unit_diagonal=True)
    y = substitute(backend, known.lu, y, kind=kind, lower=False)
    return backend.ldexp(y, known.powers[..., :, None], is_complex=kind.is_complex)


def permutation(xp: Any, swaps: Block, rows: int) -> Block:
    """Return the order of `rows` after interchanges ``(batch, k)``, int64 ``(batch, rows)``."""
    (host,) = fetch(swaps)
    if host.shape[0] == 1:
        # Of one matrix, without an array for every interchange.
        order = order_of(host[0], rows)[None]
    else:
        order = np.tile(np.arange(rows), (host.shape[0], 1))
        batch = np.arange(host.shape[0])
        for i in range(host.shape[1]):
            place, top = host[:, i], order[:, i].copy()
            order[:, i] = order[batch, place]
            order[batch, place] = top
    return xp.asarray(order.tolist(), dtype=np.int64).reshape(order.shape)


def permuted(block: Block, order: Block) -> Block:
    """Return matrices ``(batch, m, n)`` with their rows in an order ``(batch, m)``."""
    xp = planes.namespace(block)
    return block[..., xp.arange(block.shape[-3])[:, None], order, :]


def flat(block: Block, is_complex: bool) -> Block:
    """Return matrices with one batch dimension."""
    front = planes.lead(is_complex)
    count = math.prod(block.shape[front:-2])
    return block.reshape(*block.shape[:front], count, *block.shape[-2:])


@takes_hints
def lu_factor(
    a: Any, /, *, precision: PrecisionLike | None = None, progress: Progress = None
) -> LUFactors:
    """Factor matrices, ``P A = L U``, with interchanges of rows; as `scipy.linalg.lu_factor`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    precision : Precision or str, optional
        The precision of the factors; by default the precision of `a`.
    progress : callable or bool, optional
        Called as ``progress("factor", done, total)`` with numbers of columns; True for a bar.

    Returns
    -------
    LUFactors
        The fields `lu` and `piv`.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If `a` has less than two dimensions.
    numpy.linalg.LinAlgError
        If an entry is not finite, or one of U is beyond the largest double.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    solve : One solution, refined, with error bounds.

    Notes
    -----
    ``abs(P A - L U) <= (k + 8 log2(k) + 56) eps abs(L) abs(U)`` in every entry (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, chapter 9, with the bound of `matmul`), up to
    what is below the smallest doubles. Columns are halved until few remain, so that most work is
    in products (S. Toledo, Locality of reference in LU decomposition with partial pivoting, 1997).
    A zero on the diagonal of U is there for singular matrices; rounding errors hide most of these.
    On a GPU a square matrix of order 384 or more gets the factors and pivots of float64, corrected
    by exact products until every entry is within that bound, large ones by blocks. Where one is
    not, columns are eliminated as elsewhere.

    Examples
    --------
    >>> import mdqr
    >>> lu, piv = mdqr.linalg.lu_factor(mdqr.array([[1.0, 2.0], [4.0, 5.0]], precision=mdqr.qd))
    >>> lu.to_numpy().tolist(), piv.tolist()
    ([[4.0, 5.0], [0.25, 0.75]], [1, 1])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(lu_factor, locals())
    inputs, checks = gather(a, precision=precision), Checks()
    (block,), kind, backend = inputs.blocks, inputs.kind, inputs.backend
    m, n = matrix_shape("lu_factor", "a", inputs.shape(0))
    with memory_guard("lu_factor", inputs, 2 * m * n, "take fewer rows or columns"):
        checks.require_finite("lu_factor", "a", block, kind.is_complex)
        found = factor(backend, flat(block, kind.is_complex), kind, progress)
        upper = backend.xp.tri(n, m, dtype=bool).T
        powers = backend.xp.where(upper, -found.powers[:, None, :], 0)
        lu = backend.ldexp(found.lu, powers, is_complex=kind.is_complex)
        batch = inputs.shape(0)[:-2]
        lu = lu.reshape(kind.planes((*batch, m, n)))
        checks.require_in_range("lu_factor", "U", lu, kind.is_complex)
        checks.settle()
    factors, swaps, given = inputs.wrap(lu), found.swaps, Given.of(a, inputs)

    def errors() -> FactorErrors:
        rows = permutation(backend.xp, swaps, m).reshape(*batch, m)
        return product_errors(given.matrix(rows=rows), *_triangles(factors), unit=given.unit)

    result = LUFactors(factors, swaps.reshape(*batch, min(m, n)))
    return result._described(FactorInfo(inputs.precision, errors))


def _triangles(lu: MDArray) -> tuple[MDArray, MDArray]:
    """Return L, with its unit diagonal, and U."""
    xp, field, k = planes.namespace(lu.limbs), lu.is_complex, min(lu.shape[-2:])
    lower, upper = xp.tril(lu.limbs[..., :k], -1), xp.triu(lu.limbs[..., :k, :])
    planes.set_unit_diagonal(lower, field)
    lower, upper = (MDArray._wrap(x, lu.precision, field) for x in (lower, upper))
    return lower, upper


@overload
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    /,
    trans: Transposition = 0,
    *,
    precision: PrecisionLike | None = None,
    return_info: Literal[False] = False,
) -> MDArray: ...


@overload
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    /,
    trans: Transposition = 0,
    *,
    precision: PrecisionLike | None = None,
    return_info: Literal[True],
) -> tuple[MDArray, Info]: ...


@takes_hints
@documented(solve_triangular)
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    /,
    trans: Transposition = 0,
    *,
    precision: PrecisionLike | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Solve ``op(A) x = b`` by what `lu_factor` returned; as `scipy.linalg.lu_solve`.

    ``(op(A) + E) x = b`` with ``abs(E) <= (3 n + 8 log2(n) + 88) eps P^T abs(L) abs(U)``
    (N. J. Higham, chapter 9), for transposes with the bound transposed, up to components of the
    solution below the smallest doubles, or that lose limbs there: N of ``2**-1074`` at most, for N
    limbs. What lies between is scaled by powers of two. The solution is not refined, since A is not
    known: an ill-conditioned A costs digits without a warning; `return_info` counts them, and
    `solve` refines.

    Parameters
    ----------
    lu_and_piv : LUFactors or tuple
        The factors of square matrices ``(..., n, n)``, and the interchanges.
    trans : {0, 1, 2, "N", "T", "C"}, optional
        Solve with A (0, "N"), its transpose (1, "T") or its conjugate transpose (2, "C").

    Returns
    -------
    MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.
    Info
        Proven bounds of the error of each component, only with `return_info`. They hold for the
        product of the factors as well as for every A, as stored, that `lu_factor` factors like this
        in the precision of `lu`. Nothing is known of A within errors of its entries:
        `data_error_bound` is NaN.

    Raises
    ------
    TypeError
        If `lu_and_piv` is not a tuple of two.
    ValueError
        If the shapes do not fit, `trans` is unknown, or `piv` names no row.
    numpy.linalg.LinAlgError
        If U is singular, an operand is not finite, or the solution overflows.

    See Also
    --------
    solve : One solution, refined, with error bounds.

    >>> factors = mdqr.linalg.lu_factor(mdqr.array([[1.0, 2.0], [4.0, 5.0]], precision=mdqr.qd))
    >>> mdqr.linalg.lu_solve(factors, [5.0, 14.0]).to_numpy().tolist()
    [1.0, 2.0]
    """
    letter = letter_of("lu_solve", trans)
    lu, piv = pair_of("lu_solve", "lu_and_piv", lu_and_piv)
    inputs, checks = gather(lu, b, precision=precision), Checks()
    kind, backend = inputs.kind, inputs.backend
    n = square_order("lu_solve", "lu", inputs.shape(0))
    right, is_vector = right_hand_side("lu_solve", inputs.blocks[1], inputs.shape(1), n)
    order = _order_of(piv, inputs.shape(0)[:-1], backend)
    checks.require_finite("lu_solve", "b", right, kind.is_complex)
    batch, (block, right) = broadcast_batch("lu_solve", [inputs.blocks[0], right], kind.is_complex)
    order = backend.xp.broadcast_to(order, (*batch, n))

    lower, upper = (
        Triangle(
            backend,
            block,
            kind=kind,
            lower=low,
            unit_diagonal=low,
            function="lu_solve",
            checks=checks,
            singular=_singular,
        )
        for low in (True, False)
    )
    # What lies between is near 1, as b then is: only the solution itself may underflow.
    near, powers = backend.balance_columns(right, None, is_complex=kind.is_complex)
    known: dict[str, Any] = {"checks": checks, "entries": lambda: block}
    last = known | {"undo": (backend.xp.zeros(n, dtype=np.int64), powers)}
    if letter == "N":
        x = upper.solve(lower.solve(_permuted(near, order, kind), **known), **last)
    else:
        y = lower.solve(upper.solve(near, letter, **known), letter, **last)
        x = _permuted(y, order.argsort(axis=-1), kind)
    checks.settle()
    solution = inputs.wrap(x[..., 0] if is_vector else x)
    if not return_info:
        return solution
    given = (_permuted(right, order, kind), x) if letter == "N" else (right, y)
    factors = _parts(block, letter, kind)
    errors = Errors(_stated(n, inputs, lu))
    back = None if letter == "N" else order.argsort(axis=-1)
    info = solution_info(inputs, factors, *given, errors, order=back, is_vector=is_vector)
    return solution, info


def _parts(lu: Block, letter: str, kind: Kind) -> list[Factor]:
    """Return L, with its unit diagonal, and U, of square matrices, or both turned, U first."""
    xp = planes.namespace(lu)
    lower = xp.tril(lu, -1)
    planes.set_unit_diagonal(lower, kind.is_complex)
    factors = [Factor(lower, lower=True), Factor(xp.triu(lu), lower=False)]
    if letter == "N":
        return factors
    return [turned(each, letter, kind.is_complex) for each in reversed(factors)]


def _stated(n: int, inputs: Inputs, lu: Any) -> float:
    """Return the multiple of ``abs(L) abs(U)`` that bounds the errors of `lu_factor`."""
    return error_of(n) * factor_eps(inputs, lu)


def _singular(function: str, column: int, place: tuple[int, ...]) -> str:
    where = f"row and column {column}{of_batch(place)}"
    return f"{function}: the matrix is singular: U has a zero in {where}"


def _permuted(x: Block, order: Block, kind: Kind) -> Block:
    """Return matrices ``(..., n, k)`` with their rows in an order ``(..., n)``."""
    found = permuted(
        flat(x, kind.is_complex), order.reshape(math.prod(order.shape[:-1]), order.shape[-1])
    )
    return found.reshape(x.shape)


def _order_of(piv: Any, shape: tuple[int, ...], backend: Backend) -> Block:
    """Return the order of rows after the interchanges that a caller gave."""
    xp = backend.xp
    swaps = xp.asarray(piv)
    if swaps.shape != shape or swaps.dtype.kind not in "iu":
        raise ValueError(
            f"lu_solve: piv must hold integers, one for each row of lu: shape {shape}; "
            f"got {swaps.dtype} {swaps.shape}"
        )
    swaps = swaps.astype(np.int64).reshape(math.prod(shape[:-1]), shape[-1])
    (host,) = fetch(swaps)
    if ((host < 0) | (host >= shape[-1])).any():
        raise ValueError(f"lu_solve: piv names rows from 0 to {shape[-1] - 1}; got others")
    return permutation(xp, swaps, shape[-1]).reshape(shape)
