"""Cholesky factors by recursion over rows, and solutions by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NoReturn, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._docstrings import documented
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.backward_error import FactorErrors, FactorInfo, Given, product_errors
from mdqr.linalg._factor.refine import cholesky as refine
from mdqr.linalg._factor.refine import shared
from mdqr.linalg._factor.solution_bounds import (
    Errors,
    Factor,
    factor_eps,
    solution_info,
    turned,
)
from mdqr.linalg._factor.substitution import solve_triangular
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks, fetch, first_true, of_batch, raise_nonfinite
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import (
    Inputs,
    gather,
    memory_guard,
    pair_of,
    precision_for,
    right_hand_side,
    square_order,
)

_ADVICE = "lu_factor and solve take such matrices"
# Rows that are found one by one; more are halved, so that most work is in products.
_PANEL = 16
# Of products that are symmetric, so many rows are computed with what lies below the diagonal.
_STRIP = 128


@overload
def cholesky(
    a: Any,
    /,
    *,
    upper: bool = False,
    return_info: Literal[False] = False,
    precision: PrecisionLike | None = None,
    devices: Sequence[str] | None = None,
) -> MDArray: ...


@overload
def cholesky(
    a: Any,
    /,
    *,
    upper: bool = False,
    return_info: Literal[True],
    precision: PrecisionLike | None = None,
    devices: Sequence[str] | None = None,
) -> tuple[MDArray, FactorInfo]: ...


@takes_hints
def cholesky(
    a: Any,
    /,
    *,
    upper: bool = False,
    return_info: bool = False,
    precision: PrecisionLike | None = None,
    devices: Sequence[str] | None = None,
) -> MDArray | tuple[MDArray, FactorInfo]:
    """Return Cholesky factors of Hermitian positive definite matrices; as `numpy.linalg.cholesky`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``. Only the lower triangle is read, with `upper` the upper one; the
        imaginary parts of the diagonal are taken for 0.
    upper : bool, optional
        Whether to return the upper triangular C with ``A = C^H C``, instead of the lower
        triangular L with ``A = L L^H``.
    return_info : bool, optional
        Whether to return a proven bound of ``A - C^H C``, too.
    precision : Precision or str, optional
        The precision of the factors; by default the precision of `a`.
    devices : sequence of str, optional
        GPUs that share in the factor of one matrix, as ``["cuda:0", "cuda:1"]``. Each has some
        block columns alone, so that all of them may hold what one could not: `a` may then be in
        host memory. The factor is where `a` is, and within its bound; only sums of float64 products
        may change its last digits with the devices.

    Returns
    -------
    MDArray
        Triangles ``(..., n, n)`` with a positive diagonal, and zeros in the other triangle.
    FactorInfo
        The bound of the error; only with `return_info`.

    Raises
    ------
    TypeError
        If `devices` is not a sequence of names.
    ValueError
        If `a` is not square; with `devices`, if it is a batch or of precision d, or one of them
        does not exist, or these are GPUs and "cpu".
    ImportError
        If a GPU of `devices` needs CuPy, which cannot be imported.
    numpy.linalg.LinAlgError
        If an entry of the triangle is not finite, or a matrix is not positive definite to working
        precision; with the first leading minor that is not positive. With `devices`, also if the
        bound below cannot be shown, as for conditions beyond about 1e30.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    cho_solve : Solutions by these factors.

    Notes
    -----
    ``abs(A - C^H C) <= (1.5 n + 160) eps abs(C^H) abs(C)`` in every entry (N. J. Higham, Accuracy
    and Stability of Numerical Algorithms, chapter 10, with the bound of `matmul`), up to what is
    below the smallest doubles. Rows are halved until few remain, so that products take most of the
    time. Rows and columns are scaled by powers of two before, which changes no bit. A matrix within
    ``n eps`` of the diagonal of a singular one may count as either. On a GPU a matrix of order 384
    or more gets the factor of float64, corrected as in `lu_factor`; of large ones, and of all with
    `devices`, so do blocks on the diagonal, whose inverses lead to the rest of their rows.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.cholesky(mdqr.array([[4.0, 2.0], [2.0, 10.0]], precision=mdqr.qd)).to_numpy()
    array([[2., 0.],
           [1., 3.]])
    """
    inputs = gather(a, precision=precision)
    n = square_order("cholesky", "a", inputs.shape(0))
    with memory_guard("cholesky", inputs, 4 * n * n, "take fewer rows"):
        if devices is None:
            c = checked_factor("cholesky", "a", inputs, upper=upper, advice=_ADVICE)
        else:
            c = shared.factor("cholesky", inputs, devices, upper=upper, by_rows=_by_rows(inputs))
        c = inputs.wrap(c)
    if not return_info:
        return c
    given = Given.of(a, inputs._replace(blocks=[_hermitian(inputs, upper)]))
    left, right = (c.mT.conj(), c) if upper else (c, c.mT.conj())
    errors = partial(_errors, given, left, right)
    return c, FactorInfo(inputs.precision, errors)


def _by_rows(inputs: Inputs) -> Callable[[Backend, Block, int], Block]:
    """Return the function that factors blocks on the diagonal that sweeps do not."""
    kind = inputs.kind

    def found(backend: Backend, a: Block, first: int) -> Block:
        c = factor(backend, a, kind)
        (is_positive,) = fetch(diagonal(_real(c, kind.is_complex))[0] > 0.0)
        if not is_positive.all():
            column = first + int(is_positive.argmin())
            _raise_for_minor("cholesky: the matrix", inputs, column, _ADVICE)
        return c

    return found


def _hermitian(inputs: Inputs, upper: bool) -> Block:
    """Return the matrices of which one triangle was read."""
    xp, field, (block,) = inputs.backend.xp, inputs.is_complex, inputs.blocks
    part, rest = (
        (xp.triu(block), xp.triu(block, 1)) if upper else (xp.tril(block), xp.tril(block, -1))
    )
    if field:
        for limb in part[1]:
            diagonal(limb)[...] = 0.0
    rest = rest.swapaxes(-1, -2)
    return part + (planes.conjugate(rest) if field else rest)


def _errors(given: Given, left: MDArray, right: MDArray) -> FactorErrors:
    return product_errors(given.matrix(), left, right, unit=given.unit)


def checked_factor(
    function: str, name: str, inputs: Inputs, *, upper: bool, advice: str, index: int = 0
) -> Block:
    """Return the factor of one of the operands, as `cholesky` does."""
    block, kind, backend = inputs.blocks[index], inputs.kind, inputs.backend
    checks, field = Checks(), inputs.is_complex

    def raise_for_entries() -> NoReturn:
        raise_nonfinite(function, name, _read(block, upper), field)

    def raise_for_minor() -> NoReturn:
        *batch, column = first_true(~(diagonal(_real(c, field))[0] > 0.0))
        what = "the matrix" if function == "cholesky" else name
        _raise_for_minor(f"{function}: {what}{of_batch(tuple(batch))}", inputs, column, advice)

    flags: dict[str, Any] = {"is_complex": field, "upper": upper}
    key = "Cholesky", field, upper
    near, roots, is_finite = backend.recorded((*key, "scaled"), (block,), partial(_scaled, **flags))
    checks.require(is_finite, raise_for_entries)
    c = _refined(backend, near, kind)
    c = factor(backend, near, kind) if c is None else c
    # Where a minor is not positive, its diagonal entry is not, and what follows means nothing.
    operands = c, roots
    found, is_positive = backend.recorded((*key, "factor"), operands, partial(_unscaled, **flags))
    checks.require(is_positive, raise_for_minor)
    checks.settle()
    return found


def _raise_for_minor(what: str, inputs: Inputs, column: int, advice: str) -> NoReturn:
    raise np.linalg.LinAlgError(
        f"{what} is not positive definite to {inputs.work.bits} bits: its leading minor of order "
        f"{column + 1} is not positive; {advice}"
    )


def _read(block: Block, upper: bool) -> Block:
    """Return matrices with zeros in the triangle that is not read."""
    xp = planes.namespace(block)
    return (xp.triu if upper else xp.tril)(block)


def _real(x: Block, is_complex: bool) -> Block:
    return x[0] if is_complex else x


def _scaled(backend: Backend, block: Block, *, is_complex: bool, upper: bool) -> list[Block]:
    """Return upper triangles with a diagonal near 1, their powers, whether all is finite."""
    is_finite = scaling.finite(_read(block, upper), is_complex)
    block = block if upper else planes.adjoint(block, is_complex)
    sizes = abs(diagonal(_real(block, is_complex))[0])
    roots = -(scaling.exponents_of(sizes.view(np.int64)) >> 1)
    powers = roots[..., :, None] + roots[..., None, :]
    return [backend.ldexp(block, powers, is_complex=is_complex), roots, is_finite]


def _unscaled(
    backend: Backend, c: Block, roots: Block, *, is_complex: bool, upper: bool
) -> list[Block]:
    """Return factors of the given matrices, and whether all their diagonals are positive."""
    is_positive = is_all(diagonal(_real(c, is_complex))[0] > 0.0)
    c = backend.ldexp(c, -roots[..., None, :], is_complex=is_complex)
    return [c if upper else planes.adjoint(c, is_complex), is_positive]


@overload
def cho_solve(
    c_and_lower: Any,
    b: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    return_info: Literal[False] = False,
) -> MDArray: ...


@overload
def cho_solve(
    c_and_lower: Any,
    b: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    return_info: Literal[True],
) -> tuple[MDArray, Info]: ...


@takes_hints
@documented(solve_triangular)
def cho_solve(
    c_and_lower: Any,
    b: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Solve ``A x = b`` by a Cholesky factor of A; as `scipy.linalg.cho_solve`.

    ``(A + E) x = b`` with ``abs(E) <= (3.5 n + 192) eps abs(C^H) abs(C)`` (N. J. Higham,
    chapter 10), up to components of the solution below the smallest doubles, or that lose limbs
    there, as `lu_solve`. The solution is not refined: an
    ill-conditioned A costs digits without a warning; `return_info` counts them, and `solve`
    refines.

    Parameters
    ----------
    c_and_lower : tuple
        A factor ``(..., n, n)``, of which only one triangle is read, and whether that is the lower
        one: ``(cholesky(a), True)``.

    Returns
    -------
    MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.
    Info
        Proven bounds of the error of each component, only with `return_info`. They hold for the
        product of the factors as well as for every A, as stored, that `cholesky` factors like this
        in the precision of the factor. Nothing is known of A within errors of its entries:
        `data_error_bound` is NaN.

    Raises
    ------
    TypeError
        If `c_and_lower` is not a tuple of two.
    ValueError
        If the shapes do not fit.
    numpy.linalg.LinAlgError
        If a diagonal entry of the factor is zero, an operand is not finite, or the solution
        overflows.

    See Also
    --------
    solve : One solution, refined, with error bounds.

    >>> c = mdqr.linalg.cholesky(mdqr.array([[4.0, 2.0], [2.0, 10.0]], precision=mdqr.qd))
    >>> mdqr.linalg.cho_solve((c, True), [8.0, 22.0]).to_numpy().tolist()
    [1.0, 2.0]
    """
    c, lower = pair_of("cho_solve", "c_and_lower", c_and_lower)
    inputs, checks = gather(c, b, precision=precision), Checks()
    n = square_order("cho_solve", "c", inputs.shape(0))
    right, is_vector = right_hand_side("cho_solve", inputs.blocks[1], inputs.shape(1), n)
    triangle = Triangle(
        inputs.backend,
        inputs.blocks[0],
        kind=inputs.kind,
        lower=bool(lower),
        function="cho_solve",
        checks=checks,
    )
    checks.require_finite("cho_solve", "b", right, inputs.is_complex)
    # What lies between is near 1, as b then is: only the solution itself may underflow.
    first, last = "NC" if lower else "CN"
    near, powers = inputs.backend.balance_columns(right, None, is_complex=inputs.is_complex)
    known: dict[str, Any] = {"checks": checks, "entries": lambda: inputs.blocks[0]}
    undo = inputs.backend.xp.zeros(n, dtype=np.int64), powers
    x = triangle.solve(triangle.solve(near, first, **known), last, undo=undo, **known)
    checks.settle()
    solution = inputs.wrap(x[..., 0] if is_vector else x)
    if not return_info:
        return solution
    xp, field = inputs.backend.xp, inputs.is_complex
    part = Factor((xp.tril if lower else xp.triu)(inputs.blocks[0]), bool(lower))
    factors = [turned(part, letter, field) for letter in (first, last)]
    errors = Errors(refine.error_of(n) * factor_eps(inputs, c))
    return solution, solution_info(inputs, factors, right, x, errors, is_vector=is_vector)


def _refined(backend: Backend, a: Block, kind: Kind) -> Block | None:
    """Return the factor of one matrix by correction of the float64 factor, or None."""
    n, batch = int(a.shape[-1]), planes.value_shape(a, kind.is_complex)[:-2]
    if batch or not tuning.refined_factors_are_faster(backend, n, kind=kind):
        return None
    return refine.factor(backend, a, kind, refine.error_of(n) * precision_for(kind.limbs).eps)


def factor(backend: Backend, a: Block, kind: Kind) -> Block:
    """Return the upper triangular C with ``C^H C = a``; NaN where `a` is not positive definite.

    Of `a` the upper triangle is read.
    """
    limbs, is_complex = kind
    rest = planes.widen(a, is_complex, limbs).copy()
    c = backend.xp.zeros_like(rest)
    _reduce(backend, rest, c, 0, int(a.shape[-1]), kind)
    return c


def _reduce(backend: Backend, rest: Block, c: Block, first: int, last: int, kind: Kind) -> None:
    """Find rows `first` to `last` of `c` from what is `rest` of them, by halves."""
    if last - first > _PANEL:
        middle = first + (last - first + _PANEL) // (2 * _PANEL) * _PANEL
        _reduce(backend, rest, c, first, middle, kind)
        done = c[..., first:middle, :]
        for start in range(middle, last, _STRIP):
            rows = slice(start, min(start + _STRIP, last))
            part = rest[..., rows, start:]
            left = done[..., rows].swapaxes(-1, -2)
            part[...] = backend.matmul(
                left, done[..., start:], conj_a=True, c=part, subtract=True, kind=kind
            )
        _reduce(backend, rest, c, middle, last, kind)
    elif last > first:
        rows = slice(first, last)
        c[..., rows, first:] = backend.cholesky_panel(rest[..., rows, first:], kind=kind)
