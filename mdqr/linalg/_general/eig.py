"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._general.certificate import certified, remainder
from mdqr.linalg._general.decomposition import decomposed
from mdqr.linalg._general.newton import inverse_step
from mdqr.linalg._general.pencil import reduced
from mdqr.linalg._general.results import EigInfo, EigResult
from mdqr.linalg._general.state import State, balanced
from mdqr.linalg._general.vectors import order_of, ordered
from mdqr.linalg._shared.checks import Checks, of_batch
from mdqr.linalg._shared.operands import (
    Inputs,
    broadcast_batch,
    gather,
    memory_guard,
    square_order,
)


class Solved(NamedTuple):
    """Blocks ``(batch, n)`` and ``(batch, n, n)`` of the work, on the host, and the bounds."""

    values: Block
    right: Block | None
    left: Block | None
    info: EigInfo


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    *,
    precision: Precision | str | None = None,
) -> EigResult | MDArray:
    """Return eigenvalues and eigenvectors of square matrices, and how near they are.

    As `numpy.linalg.eig`, with the options of `scipy.linalg.eig`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like, optional
        Matrices ``(..., n, n)``: eigenvalues are those of ``a v = w b v``.
    left, right : bool, optional
        Which eigenvectors are wanted.
    precision : Precision or str, optional
        The precision of the results; by default the highest of the operands.

    Returns
    -------
    EigResult or MDArray
        A tuple ``w, v``, with `left` ``w, vl, vr``, that has the field `info`; the eigenvalues
        alone where no vectors are wanted.

    Raises
    ------
    ValueError
        If a matrix is not square, or `b` is of another order.
    numpy.linalg.LinAlgError
        If an entry is not finite, an eigenvalue is beyond the largest double, or the QR algorithm
        does not converge.
    MemoryError
        If there is no memory for the vectors; with what was wanted.

    See Also
    --------
    eigh : Hermitian matrices.
    schur : A triangular matrix that is unitarily similar.

    Notes
    -----
    The entries count as exact. ``info.error_bound`` is proven, with all rounding errors: ``4 eps``
    of an eigenvalue itself while its condition, and what it is beside the norm, are small beside
    ``1 / eps``; no more than about ``n * info.condition * eps * norm(a)`` otherwise. The k
    eigenvalues of a Jordan block, or k that rounding does not tell apart, have bounds of about
    ``eps**(1/k)`` and ``info.counts`` of k; their vectors are nearly parallel. Where a condition is
    below ``eps**-0.5``, ``norm(a v - w v) <= 100 n eps norm(a)``. Of real matrices, eigenvalues are
    exactly real or conjugate where that is proven.

    Rows and columns are scaled by powers of two. Eigenvectors of LAPACK are refined by products,
    with errors squared in each step; eigenvalues that are too close together for that, and matrices
    for which LAPACK finds no independent vectors, take the QR algorithm in the precision of the
    work (docs/explanation/eigenvalues.md). Everything is done on the host. The limbs depend on
    LAPACK, thus on its version and its threads.

    Examples
    --------
    >>> import mdqr
    >>> found = mdqr.linalg.eig(mdqr.array([[0.0, 2.0], [1.0, 0.0]], precision=mdqr.qd))
    >>> found.eigenvalues[1].real.to_strings(digits=40).item()
    '1.414213562373095048801688724209698078570'
    >>> bool(found.info.error_bound.max() < 1e-62), found.info.counts.tolist()
    (True, [1, 1])
    >>> a = mdqr.array([[1.0, 1.0], [0.0, 2.0]], precision=mdqr.qd)
    >>> w, vl, vr = mdqr.linalg.eig(a, left=True)
    >>> w.to_numpy().real.tolist()
    [1.0, 2.0]
    """
    if not (left or right):
        return eigvals(a, b, precision=precision)
    inputs, device, found = _solved("eig", a, b, precision, left=left, vectors=True)
    batch, n = inputs.shape(0)[:-2], inputs.shape(0)[-1]
    vr, vl = (
        None if x is None else _wrapped(inputs, x, (*batch, n, n), device)
        for x in (found.right if right else None, found.left)
    )
    return EigResult(_wrapped(inputs, found.values, (*batch, n), device), vr, vl, found.info)


def eigvals(a: Any, b: Any = None, *, precision: Precision | str | None = None) -> MDArray:
    """Return eigenvalues of square matrices; as `scipy.linalg.eigvals`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like, optional
        Matrices ``(..., n, n)``: eigenvalues are those of ``a v = w b v``.
    precision : Precision or str, optional
        The precision of the results; by default the highest of the operands.

    Returns
    -------
    MDArray
        The eigenvalues, complex, ``(..., n)``: those of `eig`, whose result has their bounds.

    Raises
    ------
    ValueError
        As `eig`.
    numpy.linalg.LinAlgError
        As `eig`.
    MemoryError
        As `eig`.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[0.0, -4.0], [1.0, 0.0]], precision=mdqr.qd)
    >>> mdqr.linalg.eigvals(a).to_numpy().tolist()
    [2j, -2j]
    """
    inputs, device, found = _solved("eigvals", a, b, precision, left=False, vectors=False)
    return _wrapped(inputs, found.values, inputs.shape(0)[:-1], device)


def _wrapped(inputs: Inputs, x: Block, shape: tuple[int, ...], device: str) -> MDArray:
    limbs = planes.limb_count(x, True)
    return inputs.wrap(x.reshape(Kind(limbs, True).planes(shape)), True).to_device(device)


def _solved(
    function: str, a: Any, b: Any, precision: Precision | str | None, *, left: bool, vectors: bool
) -> tuple[Inputs, str, Solved]:
    """Return the operands in host memory, where they were, and the eigenvalues."""
    inputs, checks = gather(*([a] if b is None else [a, b]), precision=precision), Checks()
    n = square_order(function, "a", inputs.shape(0))
    for block, name in zip(inputs.blocks, "ab", strict=False):
        checks.require_finite(function, name, block, inputs.is_complex)
    checks.settle()
    device = MDArray._wrap(inputs.blocks[0], inputs.work, inputs.is_complex).device
    inputs = inputs._replace(blocks=[host_block(block) for block in inputs.blocks])
    if b is not None:
        if square_order(function, "b", inputs.shape(1)) != n:
            raise ValueError(
                f"{function}: a and b must be of one order; got shapes {inputs.shape(0)} and "
                f"{inputs.shape(1)}"
            )
        _, blocks = broadcast_batch(function, inputs.blocks, inputs.is_complex)
        inputs = inputs._replace(blocks=blocks)
    with memory_guard(function, inputs, 20 * n * n, "take fewer rows"):
        kind = Kind(max(inputs.work.limbs, 2), True)
        given = [_complex(flat(block, inputs.is_complex), inputs, kind) for block in inputs.blocks]
        rounding = inputs.precision.eps if inputs.precision.limbs < kind.limbs else 0.0
        if not given[0][0].size:
            found = _nothing(kind, given[0].shape[kind.lead :])
        elif b is None:
            found = _of_one(inputs, given[0], kind, rounding, left, vectors)
        else:
            found = _of_two(function, inputs, given, kind, rounding, left, vectors)
    values = found.values.reshape(*found.values.shape[:2], *inputs.shape(0)[:-2], 1, n)
    if b is None:
        checks.require_in_range(function, "the eigenvalues", values, True)
    shape = inputs.shape(0)[:-1]
    info = EigInfo(**{key: value.reshape(shape) for key, value in vars(found.info).items()})
    return inputs, device, found._replace(info=info)


def _complex(block: Block, inputs: Inputs, kind: Kind) -> Block:
    return planes.widen(block if inputs.is_complex else planes.complexify(block), True, kind.limbs)


def _of_one(
    inputs: Inputs, a: Block, kind: Kind, rounding: float, left: bool, vectors: bool
) -> Solved:
    """Return the eigenvalues of matrices ``(batch, n, n)``."""
    backend, is_real = inputs.backend, not inputs.is_complex
    a, powers, top = balanced(backend, a)
    found = decomposed(backend, a, kind, is_real=is_real)
    known = certified(backend, remainder(backend, a, found, kind), found, kind, rounding)
    state = State(backend, kind, is_real, powers)
    both, info, known = state.concluded(known, found, rounding)
    order = order_of(known.values)
    values = ordered(known.values, order)
    values = backend.ldexp(values, np.broadcast_to(top[:, None], order.shape), is_complex=True)
    with np.errstate(over="ignore"):
        radii = np.ldexp(info.error_bound, top[:, None]) + 2.0**-1070
    info = EigInfo(radii, info.counts, info.condition, info.vector_bound)._reordered(order)
    right = state.finished(both.right, powers, order, values) if vectors else None
    rows = None
    if left:
        y = inverse_step(backend, both.right, both.left, kind)
        rows = state.finished(planes.conjugate(y).swapaxes(-1, -2), -powers, order, values)
    return Solved(values, right, rows, info)


def _of_two(
    function: str,
    inputs: Inputs,
    given: list[Block],
    kind: Kind,
    rounding: float,
    left: bool,
    vectors: bool,
) -> Solved:
    """Return the eigenvalues of pairs of matrices ``(batch, n, n)``, one after the other."""
    backend, is_real = inputs.backend, not inputs.is_complex
    powers = np.zeros((1, given[0].shape[-1]), np.int64)
    state, found = State(backend, kind, is_real, powers), []
    for i in range(given[0].shape[2]):
        a, b = (x[..., i : i + 1, :, :] for x in given)
        pair = reduced(backend, a, b, kind)
        if pair is None:
            raise np.linalg.LinAlgError(
                f"{function}: a - s b{of_batch((i,) if given[0].shape[2] > 1 else ())} is singular "
                "for every s that was tried: no eigenvalues are determined"
            )
        basis = pair.basis(decomposed(backend, pair.matrix, kind, is_real=is_real))
        known = certified(backend, pair.remainder(basis), basis, kind, rounding)
        both, info, known = state.concluded(known, basis, rounding)
        values, radii = pair.eigenvalues(known.values, info.error_bound, rounding)
        order = order_of(values)
        values = ordered(values, order)
        info = EigInfo(radii, info.counts, info.condition, info.vector_bound)._reordered(order)
        right = state.finished(both.right, powers, order, values) if vectors else None
        rows = None
        if left:
            y = inverse_step(backend, pair.of_vectors(both.right), both.left, kind)
            rows = state.finished(planes.conjugate(y).swapaxes(-1, -2), powers, order, values)
        found.append(Solved(values, right, rows, info))
    values, right, rows = (
        None if found[0][k] is None else np.concatenate([each[k] for each in found], axis=2)
        for k in range(3)
    )
    rest = zip(*(vars(each.info).values() for each in found), strict=True)
    return Solved(values, right, rows, EigInfo(*map(np.concatenate, rest)))


def _nothing(kind: Kind, shape: tuple[int, ...]) -> Solved:
    """Return what matrices without entries have."""
    zeros = [np.zeros(shape[:-1]) for _ in range(3)]
    info = EigInfo(zeros[0], np.zeros(shape[:-1], np.int64), *zeros[1:])
    vectors = kind.zeros(np, shape)
    return Solved(kind.zeros(np, shape[:-1]), vectors, vectors, info)
