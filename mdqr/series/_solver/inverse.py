"""Inverses of Jacobians, and linear equations by them: few limbs and more steps, or all limbs."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._errors import PrecisionWarning
from mdqr._functions.matrices import eye
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision, precision_of_limbs
from mdqr.linalg import lstsq, qr, solve_triangular
from mdqr.linalg._shared.caller import INV
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._solve.solve import inverse_for
from mdqr.series._errors import SingularJacobianError

# A condition times eps above this is that of a singular Jacobian.
_SINGULAR = 2.0**-6
# Larger matrices are inverted in as few limbs as make steps converge by this factor.
MOST_SMALL, _CONTRACTION = 64, 2.0**-10


class Inverse(NamedTuple):
    """A left inverse ``(..., n, m)``, perhaps in fewer limbs, and the steps that it takes.

    `condition` is the product of its Frobenius norm and that of the matrix, the worst of a batch.
    """

    block: Block
    limbs: int
    steps: int
    condition: float

    def times(self, rest: Block, kind: Kind) -> Block:
        """Return ``inverse @ rest`` as it is, in all limbs of `kind`."""
        low = Kind(self.limbs, kind.is_complex)
        some = planes.first_limbs(rest, kind.is_complex, self.limbs)
        found = for_block(rest).matmul(self.block, some, kind=low)
        return planes.widen(found, kind.is_complex, kind.limbs)

    def solve(self, jacobian: Block, rest: Block, kind: Kind) -> Block:
        """Return x ``(..., n, p)`` with ``jacobian @ x = rest``, by steps of refinement."""
        backend = for_block(rest)
        x = self.times(rest, kind)
        step = x
        for _ in range(self.steps):
            rest = backend.matmul(jacobian, step, c=rest, subtract=True, kind=kind)
            step = self.times(rest, kind)
            x = backend.binary("add", x, step, kind=kind)
        return x


def left_inverse(jacobian: Block, kind: Kind) -> Inverse:
    """Return inverses, or left inverses, of Jacobians ``(..., m, n)``.

    Raises
    ------
    SingularJacobianError
        If one has not full column rank, as far as the precision tells.
    """
    m, n = jacobian.shape[-2:]
    if m == n > MOST_SMALL:
        for precision in PRECISIONS:
            if precision.limbs <= kind.limbs:
                found = _approximate(jacobian, kind, precision)
                if found is not None:
                    return found
    return _precise(jacobian, kind)


def _precise(jacobian: Block, kind: Kind) -> Inverse:
    precision = precision_of_limbs(kind.limbs)
    matrix = MDArray._wrap(jacobian, precision, kind.is_complex)
    try:
        found = _inverted(matrix)
    except np.linalg.LinAlgError:
        raise singular(matrix) from None
    condition = _condition(jacobian, found, kind)
    if not condition * precision.eps < _SINGULAR:
        raise singular(matrix)
    return Inverse(found, kind.limbs, 1, condition)


def _approximate(jacobian: Block, kind: Kind, precision: Precision) -> Inverse | None:
    """Return inverses in a lower precision if steps by them converge."""
    field, backend = kind.is_complex, for_block(jacobian)
    low = Kind(precision.limbs, field)
    matrix = MDArray._wrap(planes.narrow(jacobian, field, low.limbs), precision, field)
    q, r = qr(matrix)
    if not all(map(np.isfinite, _extremes(r))) or not min(_extremes(r)):
        return None
    found = solve_triangular(r, q.mT.conj())._block
    wide = Kind(precision_for(min(2 * low.limbs, kind.limbs)).limbs, field)
    some = planes.narrow(jacobian, field, wide.limbs)
    one = wide.identity(backend.xp, planes.value_shape(some, field))
    rest = backend.matmul(found, some, c=one, subtract=True, kind=wide)
    norms = [native_abs(x, field).sum(axis=-1).max(axis=-1) for x in (rest, found, some)]
    # What rounds in the product by the inverse, besides.
    factor = norms[0] + 8 * math.sqrt(jacobian.shape[-1]) * precision.eps * norms[1] * norms[2]
    worst = float(factor.max())
    if not worst <= _CONTRACTION:
        return None
    eps = precision_of_limbs(kind.limbs).eps
    steps = math.ceil(math.log(eps) / math.log(worst))
    return Inverse(found, low.limbs, steps, _condition(jacobian, found, kind))


def _extremes(r: MDArray) -> tuple[float, float]:
    """Return the least and the largest modulus on the diagonals."""
    diagonal = abs(r.to_device("cpu").to_numpy()).diagonal(axis1=-2, axis2=-1)
    return float(diagonal.min()), float(diagonal.max())


def _inverted(matrix: MDArray) -> Block:
    m, n = matrix.shape[-2:]
    if not n:
        return matrix.mT._block
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        if m == n:
            found: Block = inverse_for(INV, matrix)._block
            return found
        one = eye(m, precision=matrix.precision, device=matrix.device)
        return lstsq(matrix, one, max_condition=math.inf).x._block


def _condition(jacobian: Block, inverse: Block, kind: Kind) -> float:
    first = _norms(native_abs(jacobian, kind.is_complex))
    second = _norms(native_abs(inverse, kind.is_complex))
    with np.errstate(over="ignore", invalid="ignore"):
        return float((first * second).max())


def _norms(size: Block) -> Block:
    """Return Frobenius norms of matrices of any size."""
    return scaling.norms(size, (-2, -1))


def singular(matrix: MDArray) -> SingularJacobianError:
    """Return the error with the least rank of a batch."""
    n, least = matrix.shape[-1], matrix.shape[-1] * matrix.precision.eps / _SINGULAR
    flat = matrix.to_device("cpu").reshape(-1, *matrix.shape[-2:])
    # No digits are told of matrices that are not finite.
    finite = np.isfinite(flat.to_numpy()).all(axis=(-2, -1))
    ratio = np.zeros((len(flat), n))
    if finite.any():
        diagonal = abs(qr(flat[np.flatnonzero(finite)], "r").to_numpy())
        diagonal = diagonal.diagonal(axis1=-2, axis2=-1)
        top = diagonal.max(axis=-1, keepdims=True)
        ratio[finite] = diagonal / np.maximum(top, np.finfo(float).tiny)
    ranks = (ratio > least).sum(axis=-1)
    worst = int(ranks.argmin())
    place = tuple(map(int, np.unravel_index(worst, matrix.shape[:-2])))
    sigma, rank = float(ratio[worst].min()), min(int(ranks[worst]), n - 1)
    return SingularJacobianError(rank, sigma, n, place)
