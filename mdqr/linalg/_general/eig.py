"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._factor.lu import flat, permuted
from mdqr.linalg._general.balance import balancing_powers
from mdqr.linalg._general.certificate import certified, vector_bounds
from mdqr.linalg._general.decomposition import decomposed
from mdqr.linalg._general.newton import inverse_step
from mdqr.linalg._general.results import EigInfo, EigResult
from mdqr.linalg._general.vectors import (
    mirror,
    normalised,
    order_of,
    ordered,
    real_parts,
    vectors_of,
)
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import (
    Inputs,
    gather,
    memory_guard,
    precision_for,
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
    The entries count as exact. ``info.error_bound`` is proven, with all rounding errors: about a
    unit in the last place of an eigenvalue itself while ``n * info.condition * eps**2`` is less,
    relative to the norm; then that. An eigenvalue of a Jordan block of order k, or k within
    rounding, have bounds of about ``eps**(1/k)`` and ``info.counts`` of k; their vectors are nearly
    parallel. Of real matrices, eigenvalues are exactly real or conjugate where that is proven.

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
    >>> bool(found.info.error_bound.max() < 1e-63), found.info.counts.tolist()
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
    inputs, checks = gather(a, precision=precision), Checks()
    n = square_order(function, "a", inputs.shape(0))
    checks.require_finite(function, "a", inputs.blocks[0], inputs.is_complex)
    checks.settle()
    device = MDArray._wrap(inputs.blocks[0], inputs.work, inputs.is_complex).device
    inputs = inputs._replace(blocks=[host_block(block) for block in inputs.blocks])
    with memory_guard(function, inputs, 20 * n * n, "take fewer rows"):
        found = _of_one(inputs, flat(inputs.blocks[0], inputs.is_complex), left, vectors)
    values = found.values.reshape(*found.values.shape[:2], *inputs.shape(0)[:-2], 1, n)
    checks.require_in_range(function, "the eigenvalues", values, True)
    shape = inputs.shape(0)[:-1]
    info = EigInfo(**{key: value.reshape(shape) for key, value in vars(found.info).items()})
    return inputs, device, found._replace(info=info)


def _of_one(inputs: Inputs, a: Block, left: bool, vectors: bool) -> Solved:
    """Return the eigenvalues of matrices ``(batch, n, n)``."""
    backend, kind = inputs.backend, Kind(max(inputs.work.limbs, 2), True)
    is_real, n = not inputs.is_complex, int(a.shape[-1])
    a = planes.widen(planes.complexify(a) if is_real else a, True, kind.limbs)
    if not a[0].size:
        return _nothing(kind, a.shape[kind.lead :])
    top = scaling.exponents_of(scaling.largest(scaling.magnitude_bits(a, True), (-2, -1), 0))
    a = backend.ldexp(a, np.broadcast_to(-top[:, None, None], a.shape[2:]), is_complex=True)
    powers = balancing_powers(abs(to_native(np, a, True)))
    a = backend.ldexp(a, powers[:, None, :] - powers[:, :, None], is_complex=True)
    found = decomposed(backend, a, kind, is_real=is_real)
    rounding = inputs.precision.eps if inputs.precision.limbs < kind.limbs else 0.0
    known = certified(backend, a, found, kind, rounding)
    moduli = _lengths(found.x, powers, -2)
    within = vector_bounds(
        known, found, moduli, (n + 64) * precision_for(kind.limbs).eps + rounding
    )
    both = vectors_of(backend, known.basis, kind)
    with np.errstate(over="ignore"):
        condition = _lengths(both.right, powers, -2) * _lengths(both.left, -powers, -1)
    if is_real:
        known = mirror(backend, known, both, kind)
    order = order_of(known.values)
    values = ordered(known.values, order)
    values = backend.ldexp(values, np.broadcast_to(top[:, None], order.shape), is_complex=True)
    with np.errstate(over="ignore"):
        radii = np.ldexp(np.stack([each.radii for each in known.disks]), top[:, None]) + 2.0**-1070
    counts = np.stack([each.counts for each in known.disks])
    info = [np.take_along_axis(x, order, axis=-1) for x in (radii, counts, condition, within)]
    right = left_rows = None
    if vectors:
        right = _finished(backend, both.right, powers, order, values, kind, is_real)
    if left:
        y = inverse_step(backend, both.right, both.left, kind)
        y = planes.conjugate(y).swapaxes(-1, -2)
        left_rows = _finished(backend, y, -powers, order, values, kind, is_real)
    return Solved(values, right, left_rows, EigInfo(*info))


@np.errstate(all="ignore")
def _lengths(x: Block, powers: np.ndarray, axis: int) -> np.ndarray:
    """Return lengths of columns (axis -2) or rows (-1), whose entries are scaled by powers."""
    factors = np.ldexp(1.0, powers)
    sizes = abs(to_native(np, x, True)) * (
        factors[:, :, None] if axis == -2 else factors[:, None, :]
    )
    return np.nan_to_num(np.sqrt((sizes * sizes).sum(axis=axis)), nan=np.inf)


def _finished(
    backend: Any,
    x: Block,
    powers: np.ndarray,
    order: np.ndarray,
    values: Block,
    kind: Kind,
    is_real: bool,
) -> Block:
    """Return eigenvectors of the matrix that was scaled, in order, of length 1."""
    x = backend.ldexp(x, np.broadcast_to(powers[:, :, None], x.shape[2:]), is_complex=True)
    x = permuted(x.swapaxes(-1, -2), order).swapaxes(-1, -2)
    x = normalised(backend, x, kind)
    if is_real:
        real_parts(x, values)
    return x


def _nothing(kind: Kind, shape: tuple[int, ...]) -> Solved:
    """Return what matrices without entries have."""
    zeros = [np.zeros(shape[:-1]) for _ in range(3)]
    info = EigInfo(zeros[0], np.zeros(shape[:-1], np.int64), *zeros[1:])
    vectors = kind.zeros(np, shape)
    return Solved(kind.zeros(np, shape[:-1]), vectors, vectors, info)
