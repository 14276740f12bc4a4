"""Proven backward errors of factorisations, measured beyond their precision when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import (
    Inputs,
    data_precision,
    entry_unit,
    gather,
    precision_for,
    square_of,
)

# More than float64 rounds off in moduli, their products and norms of them.
_SLACK = 1.0 + 2.0**-30
# What underflow takes from entries of products of matrices of at most 1, and from powers of two.
_LEAST, _SUBNORMAL = 2.0**-1040, 2.0**-1070


class FactorErrors(NamedTuple):
    """Bounds of Frobenius norms, float64 ``(...)``; NaN where something is not known.

    In order: of the matrix less the product of its factors, of the loss of orthogonality, of the
    matrix, and of the errors of its entries.
    """

    error: np.ndarray
    orthogonality: np.ndarray
    size: np.ndarray
    data: np.ndarray


class FactorInfo(Info):
    """Proven bounds of the errors of factors; float64 ``(...)``, one for each matrix.

    They are measured in twice the limbs when the first one is read, of the matrix and the factors
    as they are then: neither is copied before.

    Attributes
    ----------
    error_bound : numpy.ndarray
        Bound of the Frobenius norm of the matrix, its rows or columns in the order of the pivots,
        less the product of the factors. NaN where the matrix is not known, as after updates.
    orthogonality : numpy.ndarray
        Bound of the Frobenius norm of ``Q^H Q - I``, the larger one if two factors have orthonormal
        columns or rows; NaN if none has, or Q is not kept.
    digits : numpy.ndarray
        Correct decimal digits of the product of the factors relative to the norm of the matrix.
    data_error_bound : numpy.ndarray
        As `error_bound`, for every matrix whose entries are within their errors.
    data_digits : numpy.ndarray
        As `digits`, for all such matrices.
    condition : float or numpy.ndarray
        1: the product of the factors changes by as much as the matrix.
    """

    _more = ("orthogonality",)

    def __init__(
        self,
        precision: Precision | None,
        made: Callable[[], FactorErrors],
        *,
        method: str | None = None,
        is_known: bool = True,
    ) -> None:
        found = cache(made)
        super().__init__(
            precision,
            lambda: found().size,
            (lambda: found().error) if is_known else None,
            (lambda: (found().error + found().data) * _SLACK) if is_known else None,
            condition=1.0,
            method=method,
        )
        self._lazy["orthogonality"] = lambda: found().orthogonality

    @cached_property
    def orthogonality(self) -> np.ndarray:
        """See the attributes of the class."""
        return np.asarray(self._made("orthogonality"))


FactorInfo.__module__ = "mdqr.linalg"


class Given(NamedTuple):
    """The matrix that was factored, and the relative error of its entries."""

    block: Block
    work: Precision
    is_complex: bool
    unit: float

    @classmethod
    def of(cls, a: Any, inputs: Inputs) -> Given:
        """Take the first operand, which came as `a`."""
        unit = entry_unit(a, data_precision(a, inputs.work))
        return cls(inputs.blocks[0], inputs.work, inputs.is_complex, unit)

    def matrix(self, rows: Block | None = None, columns: Block | None = None) -> MDArray:
        """Return the matrix, with its rows or columns ``(..., n)`` in another order."""
        block, field = self.block, self.is_complex
        if rows is not None:
            block = _reordered(block, rows[..., :, None], field, -2)
        if columns is not None:
            block = _reordered(block, columns[..., None, :], field, -1)
        return MDArray._wrap(planes.widen(block, field, self.work.limbs), self.work, field)


def _reordered(block: Block, order: Block, is_complex: bool, axis: int) -> Block:
    order = order.reshape((1,) * planes.lead(is_complex) + order.shape)
    return planes.namespace(block).take_along_axis(block, order, axis)


def product_errors(a: Any, left: Any, right: Any, *orthonormal: Any, unit: float) -> FactorErrors:
    """Bound the errors of ``a = left right`` and of matrices with orthonormal columns.

    Parameters
    ----------
    a, left, right : array_like
        Matrices of one batch shape.
    *orthonormal : array_like
        Matrices with orthonormal columns.
    unit : float
        The relative error of the entries of `a`.
    """
    inputs = _in_two_limbs(gather(a, left, right, precision=None))
    with np.errstate(all="ignore"):
        error, size = fetch(*_product_error(inputs))
        return _all_errors(error, size, orthonormal, unit)


def triple_errors(a: Any, u: Any, s: Any, vh: Any, *, unit: float) -> FactorErrors:
    """Bound the errors of ``a = (u * s) vh``, u and ``vh^H`` with orthonormal columns."""
    inputs = _in_two_limbs(gather(a, u, s, vh, precision=None))
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    of_a, of_u, of_s, of_v = inputs.blocks
    # With singular values of at most 1 the last limbs of products are in range.
    power = scaling.top_exponents(of_s, field, -1)
    shift = -power[..., None, None]
    near = backend.ldexp(of_s[..., None, :], shift, is_complex=field)
    values = near * _identity(backend, kind, inputs.shape(2))
    rounded = backend.matmul(of_u, values, kind=kind)
    rest = backend.residual([(-1, rounded)], planes.negate(of_u, field), values, kind=kind)
    of_a = backend.ldexp(of_a, shift, is_complex=field)
    xp = backend.xp
    halves = xp.concatenate([rounded, rest], axis=-1), xp.concatenate([of_v, of_v], axis=-2)
    with np.errstate(all="ignore"):
        error, size = _product_error(inputs._replace(blocks=[of_a, *halves]))
        error = xp.where(error > 0, _SLACK * xp.ldexp(error, power) + _SUBNORMAL, 0.0)
        error, size = fetch(error, xp.ldexp(size, power) / _SLACK)
        return _all_errors(error, size, (u, vh.mT.conj()), unit)


def _all_errors(
    error: np.ndarray, size: np.ndarray, orthonormal: tuple[Any, ...], unit: float
) -> FactorErrors:
    lost = [orthogonality(x) for x in orthonormal] or [np.full(error.shape, np.nan)]
    data = unit * size * _SLACK**3 + _SUBNORMAL
    return FactorErrors(np.where(np.isnan(error), np.inf, error), np.max(lost, axis=0), size, data)


def orthogonality(q: Any) -> np.ndarray:
    """Bound the Frobenius norms of ``I - Q^H Q``."""
    inputs = _in_two_limbs(gather(q, precision=None))
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    (block,), (m, n) = inputs.blocks, inputs.shape(0)[-2:]
    if not block.size:
        return np.zeros(inputs.shape(0)[:-2])
    with np.errstate(all="ignore"):
        one = Kind(1, field).identity(backend.xp, (*inputs.shape(0)[:-2], n, n))
        transposed = block.swapaxes(-1, -2)
        found = backend.residual([(1, one)], transposed, block, kind=kind, conj_a=True)
        size = native_abs(block, field)
        of_found = _bound(found, size.swapaxes(-1, -2) @ size + 1.0, kind, m)
        (norms,) = fetch(_norms(of_found))
        return np.where(np.isnan(norms), np.inf, norms)


def _in_two_limbs(inputs: Inputs) -> Inputs:
    """Return operands whose work has two limbs at least: residuals then have four."""
    return inputs._replace(work=precision_for(max(inputs.work.limbs, 2)))


def _identity(backend: Backend, kind: Kind, shape: tuple[int, ...]) -> Block:
    """Return ones on the diagonals of matrices, whose rows have `shape`, and zeros elsewhere."""
    return Kind(1, False).identity(backend.xp, (*shape, shape[-1]))[0]


def _product_error(inputs: Inputs) -> tuple[Block, Block]:
    """Bound the Frobenius norms of ``a - x y`` from above, and of a from below.

    Powers of two scale matrices to entries of at most 1, and products as a.
    """
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    a, x, y = inputs.blocks
    xp, axes = backend.xp, (-2, -1)
    if not a.size:
        zeros = xp.zeros(inputs.shape(0)[:-2])
        return zeros, zeros
    of_a, of_x, of_y = (scaling.top_exponents(b, field, keepdims=True) for b in (a, x, y))
    zero = [(scaling.magnitude_bits(block, field) == 0).all(axis=axes) for block in (a, x, y)]
    top = xp.maximum(of_a, of_x + of_y)
    a, x, y = (
        backend.ldexp(block, power, is_complex=field)
        for block, power in ((a, -top), (x, -of_x), (y, of_x - top))
    )
    found = backend.residual([(1, a)], x, y, kind=kind)
    of_a, of_x, of_y = (native_abs(block, field) for block in (a, x, y))
    error = _norms(_bound(found, of_x @ of_y + of_a, kind, int(x.shape[-1])))
    top = top[..., 0, 0]
    error = _SLACK * xp.ldexp(error, top) + _SUBNORMAL
    error = xp.where(zero[0] & (zero[1] | zero[2]), 0.0, error)
    return error, xp.ldexp(scaling.norms(of_a, axes), top) / _SLACK


def _bound(found: Block, terms: Block, kind: Kind, k: int) -> Block:
    """Return upper bounds of the moduli of exact residuals of k products.

    A part is off by ``eps`` of itself and ``(k + 8) eps**2 terms``, a complex one of the products
    by up to four times that. Twice as much allows for a factor that is held as a rounded product
    and its residual, in `triple_errors`: what both lack is ``(k + 8) eps**2`` of it.
    """
    eps = precision_for(kind.limbs).eps
    more = (8 * k + 64) * square_of(eps) * terms
    return (native_abs(found, kind.is_complex) * (1 + 2 * eps) + more) * _SLACK + _LEAST


def _norms(sizes: Block) -> Block:
    """Return the Frobenius norms of matrices that are not negative, rounded up."""
    return _SLACK * scaling.norms(sizes, (-2, -1))
