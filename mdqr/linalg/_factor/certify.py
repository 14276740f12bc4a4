"""The errors of given factors, measured beyond their own precision."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._errors import advised
from mdqr._limbs import planes as _limbs
from mdqr._limbs import scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._typing import Floats, PrecisionLike
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.linalg._shared.operands import Inputs, gather, matrix_shape

# Far above the quotient of a product and its largest terms, far below half of all exponents.
_SPARE = 200


class _Figures(NamedTuple):
    normwise: float | Floats
    columnwise: float | Floats
    rowwise: float | Floats
    orthogonality: float | Floats


class Certificate(WithInfo, _Figures):
    """Errors of a factorisation in multiples of eps: floats, or arrays of the batch shape.

    Attributes
    ----------
    normwise : float
        ``norm(a - Q R) / norm(a)`` in the Frobenius norm.
    columnwise : float
        The largest ``norm(a_j - Q r_j) / norm(a_j)`` over the columns.
    rowwise : float
        The largest quotient of the norms of the rows.
    orthogonality : float
        ``norm(I - Q^H Q)`` in the Frobenius norm.
    info : Info
        The precision whose eps the errors are multiples of.
    """

    info: Info


Certificate.__module__ = "mdqr.linalg"


@advised
def certify(a: Any, Q: Any, R: Any, /, *, precision: PrecisionLike | None = None) -> Certificate:
    """Measure how well ``a = Q R`` holds and how orthonormal Q is.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    Q : array_like
        ``(..., m, k)``.
    R : array_like
        ``(..., k, n)``.
    precision : Precision or str, optional
        Whose eps the errors are multiples of; by default the highest of the operands.

    Returns
    -------
    Certificate
        ``(normwise, columnwise, rowwise, orthogonality)`` in multiples of eps.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    numpy.linalg.LinAlgError
        If an operand is not finite.

    Notes
    -----
    The differences are computed as if in twice the precision and rounded once, so each figure is
    accurate to 1/8 and to 12 digits. A zero row or column counts 0 if its error is exactly zero,
    else infinity, as what is beyond the largest double. Householder QR keeps normwise, columnwise
    and orthogonality below ``20 n``; rowwise is not promised.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.vander([1.0, 2.0, 3.0, 4.0], 3, precision=mdqr.qd)
    >>> errors = mdqr.linalg.certify(a, *mdqr.linalg.qr(a))
    >>> max(errors.columnwise, errors.orthogonality) <= 20 * 3
    True
    """
    inputs = gather(a, Q, R, precision=precision)
    shapes = [
        (*inputs.shape(i)[:-2], *matrix_shape("certify", name, inputs.shape(i)))
        for i, name in enumerate("aQR")
    ]
    (m, n), (rows, k), (inner, columns) = (shape[-2:] for shape in shapes)
    batches = {shape[:-2] for shape in shapes}
    if (m, n) != (rows, columns) or k != inner or len(batches) > 1:
        raise ValueError(
            f"certify: a {shapes[0]}, Q {shapes[1]} and R {shapes[2]} do not fit; "
            "Q must be (..., m, k) and R (..., k, n)"
        )
    checks = Checks()
    for name, block in zip("aQR", inputs.blocks, strict=True):
        checks.require_finite("certify", name, block, inputs.is_complex)
    eps = inputs.precision.eps
    figures = checks.settle(*_factor_errors(inputs), _orthogonality(inputs))
    with np.errstate(over="ignore"):
        found = [np.asarray(figure / eps) for figure in figures]
    numbers = (figure if figure.ndim else float(figure) for figure in found)
    return Certificate(*numbers)._described(Info(inputs.precision))


def _factor_errors(inputs: Inputs) -> tuple[Block, Block, Block]:
    """Return the relative normwise, columnwise and rowwise errors."""
    backend, field = inputs.backend, inputs.is_complex
    a, q, r = inputs.blocks
    xp, axes = backend.xp, ((-2, -1), -2, -1)
    of_a, of_q = (scaling.exponents_or_absent(scaling.magnitude_bits(x, field)) for x in (a, q))
    overall, sizes, rows = (_top(of_a, axis) for axis in axes)
    # Zeros have any size: that of the matrix.
    overall = xp.where(overall == scaling.ABSENT, 0, overall)
    sizes, rows = (xp.where(x == scaling.ABSENT, overall, x) for x in (sizes, rows))
    size = _wild(xp, q, field)
    product = scaling.column_exponents(r, field)[..., None, :]
    product = product + scaling.top_exponents(q, field, keepdims=True)
    columns = xp.maximum(sizes, product - _SPARE)
    # Rows that are small beside others are moved up, as far as they reach: so are their errors.
    near = xp.maximum(_top(of_a - columns, -1), _top(of_q - size, -1))
    lift = xp.maximum(rows - overall, near - _SPARE)
    difference = backend.residual(
        [(1, backend.ldexp(a, -columns - lift, is_complex=field))],
        backend.ldexp(q, -size - lift, is_complex=field),
        backend.ldexp(r, size - columns, is_complex=field),
        kind=inputs.kind,
    )
    unit = columns + lift
    with np.errstate(all="ignore"):
        columnwise = _quotients(backend, a, difference, -sizes, unit - sizes, -2, field)
        rowwise = _quotients(backend, a, difference, -rows, unit - rows, -1, field)
        normwise = _quotients(backend, a, difference, -overall, unit - overall, (-2, -1), field)
    return normwise, scaling.largest(columnwise, -1, 0.0), scaling.largest(rowwise, -1, 0.0)


def _top(exponents: Block, axis: int | tuple[int, int]) -> Block:
    return scaling.largest(exponents, axis, scaling.ABSENT, keepdims=True)


def _wild(xp: ModuleType, block: Block, is_complex: bool) -> Block:
    """Return the exponents whose squares come near the ends of the range, else 0."""
    exponents = scaling.top_exponents(block, is_complex, keepdims=True)
    return xp.where(abs(exponents) > _SPARE, exponents, 0)


def _quotients(
    backend: Backend,
    a: Block,
    difference: Block,
    scale_a: Block,
    scale_difference: Block,
    axis: int | tuple[int, int],
    is_complex: bool,
) -> Block:
    """Return norms of `difference` over norms of `a`, both scaled by powers of two."""
    xp = backend.xp
    error = _norms(xp.ldexp(_first(difference, is_complex), scale_difference), axis)
    size = _norms(xp.ldexp(_first(a, is_complex), scale_a), axis)
    return xp.where(error == 0, 0.0, error / size)


def _first(block: Block, is_complex: bool) -> Block:
    """Return the leading limbs, real and imaginary ones along the first axis."""
    return block[:, 0] if is_complex else block[:1]


def _norms(planes: Block, axis: int | tuple[int, int]) -> Block:
    """Return the float64 2-norms over `axis` of leading limbs."""
    xp = _limbs.namespace(planes)
    # Contiguous: sums have the bits of one order of the memory.
    parts = scaling.norms(xp.ascontiguousarray(planes), axis)
    return xp.hypot(*parts) if len(parts) > 1 else parts[0]


def _orthogonality(inputs: Inputs) -> Block:
    """Return the Frobenius norms of ``I - Q^H Q``."""
    backend, field = inputs.backend, inputs.is_complex
    size = backend.xp.maximum(_wild(backend.xp, inputs.blocks[1], field), 0)
    q = backend.ldexp(inputs.blocks[1], -size, is_complex=field)
    k = q.shape[-1]
    one = Kind(1, field).identity(backend.xp, (*inputs.shape(1)[:-2], k, k))
    difference = backend.residual(
        [(1, backend.ldexp(one, -2 * size, is_complex=field))],
        q.swapaxes(-1, -2),
        q,
        kind=inputs.kind,
        conj_a=True,
    )
    with np.errstate(over="ignore"):
        return _norms(backend.xp.ldexp(_first(difference, field), 2 * size), (-2, -1))
