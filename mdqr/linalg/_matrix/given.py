"""The operand of functions of one matrix: scaled by a similarity, and the errors of its entries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs, to_native
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._precision import PRECISIONS
from mdqr._typing import Floats, PrecisionLike
from mdqr.linalg._general.subspaces.balancing import balancing_powers
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import Errors, check_data_error, operand_errors
from mdqr.linalg._shared.operands import Inputs, data_precision, entry_unit, gather, square_order
from mdqr.linalg._spectral.disks import SLACK

# What is kept for bounds of errors: nothing, for those by norms, or for those that are followed.
Keep = Literal["", "norms", "errors"]

# Powers beyond this are not taken: limbs would underflow.
_MOST = 100


class Given(NamedTuple):
    """Matrices ``(batch, n, n)`` ``2**(d[j] - d[i]) a[i, j]`` of two limbs or more.

    `powers` are d, in host memory, None where all are zero; `errors` belong to the entries of a;
    `keep` names the factors that bounds need.
    """

    inputs: Inputs
    matrix: MDArray
    powers: np.ndarray | None
    errors: Errors
    keep: Keep = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the operand."""
        return self.inputs.shape(0)

    def answer(self, x: MDArray, checks: Checks, function: str) -> MDArray:
        """Return the function of a, given the function of the scaled matrices."""
        block = x._block
        if self.powers is not None:
            moves = self.powers[:, :, None] - self.powers[:, None, :]
            backend = self.inputs.backend
            block = backend.ldexp(block, backend.xp.asarray(moves), is_complex=x.is_complex)
        front = block.shape[: planes.lead(x.is_complex)]
        block = block.reshape(*front, *self.shape)
        checks.require_in_range(function, "the result", block, x.is_complex)
        checks.settle()
        return self.inputs.wrap(block, x.is_complex)

    def spread(self, error: np.ndarray, value: MDArray, *, is_rounded: bool) -> Floats:
        """Return bounds of the entries of the answer from bounds for the scaled matrices.

        These are of the norm of the error ``(batch,)``, or of entries. The result includes
        underflow, and a last rounding if there is one.
        """
        n = self.shape[-1]
        entries = error
        if error.ndim == 1:
            entries = np.broadcast_to(error[:, None, None], (*error.shape, n, n))
        if self.powers is not None:
            entries = np.ldexp(entries, self.powers[:, :, None] - self.powers[:, None, :])
        sizes = native_abs(host_block(value._block), value.is_complex)
        with np.errstate(all="ignore"):
            found = entries.reshape(self.shape) + 2.0**-1070
            if is_rounded:
                found = found + 2 * value.precision.eps * sizes
            return np.asarray(np.where(np.isnan(found), np.inf, SLACK * found))

    def entry_errors(self) -> np.ndarray:
        """Return bounds of the errors of the entries of the scaled matrices."""
        sizes = native_abs(host_block(self.matrix._block), self.matrix.is_complex)
        powers: Any = 0
        if self.powers is not None:
            powers = self.powers[:, None, :] - self.powers[:, :, None]
        errors = Errors(*(self._flat(x) for x in self.errors))
        with np.errstate(all="ignore"):
            return np.asarray(SLACK * errors.of(np, sizes * SLACK, powers))

    def data_errors(self) -> np.ndarray:
        """Return Frobenius norms of the errors of the scaled matrices, rounded up."""
        return frobenius(self.entry_errors())

    def _flat(self, x: Any) -> Any:
        if isinstance(x, float):
            return x
        return np.broadcast_to(host_block(x), self.shape).reshape(-1, *self.shape[-2:])


def given_matrix(
    function: str, a: Any, precision: PrecisionLike | None, data_error: Mapping[str, Any] | None
) -> Given:
    """Convert, check and balance the operand.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is not square, or an entry is not finite.
    """
    check_data_error(function, data_error, ("a",))
    inputs, checks = gather(a, precision=precision), Checks()
    n = square_order(function, "a", inputs.shape(0))
    field, shape = inputs.is_complex, inputs.shape(0)
    checks.require_finite(function, "a", inputs.blocks[0], field)
    unit = entry_unit(a, data_precision(a, inputs.work))
    errors = operand_errors(function, data_error, "a", shape, unit, inputs, checks)
    checks.settle()
    work = max(inputs.work, PRECISIONS[1])
    block = planes.widen(inputs.blocks[0], field, work.limbs)
    block = block.reshape(*block.shape[: planes.lead(field)], math.prod(shape[:-2]), n, n)
    powers = balancing(host_block(planes.first_limbs(block, field, 1)), field) if n else None
    if powers is not None:
        moves = powers[:, None, :] - powers[:, :, None]
        block = inputs.backend.ldexp(block, inputs.backend.xp.asarray(moves), is_complex=field)
    return Given(inputs, MDArray._wrap(block, work, field), powers, errors)


@np.errstate(all="ignore")
def balancing(first: np.ndarray, is_complex: bool) -> np.ndarray | None:
    """Return powers of two for a similarity; None where none is worth it.

    They are the smallest multiples, of those that balance, that make the largest entry at most 1 or
    twice the one of the balanced matrix: errors of entries grow by the differences of powers.
    """
    sizes = np.log2(native_abs(first, is_complex))
    powers = balancing_powers(np.where(sizes < np.inf, sizes, 1024.0))
    if not powers.any():
        return None
    far = np.maximum(abs(powers).max(axis=-1, keepdims=True) / _MOST, 1.0)
    powers = np.rint(powers / far).astype(np.int64)
    found, least = powers, np.maximum(_norm(sizes, powers) + 1, 0.0)
    for k in range(1, 8):
        part = np.rint(powers / 2.0**k).astype(np.int64)
        found = np.where((_norm(sizes, part) <= least)[:, None], part, found)
    return found if found.any() else None


def _norm(sizes: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return logarithms of the largest entries of scaled matrices, to base 2."""
    return np.asarray((sizes + powers[:, None, :] - powers[:, :, None]).max(axis=(-2, -1)))


def first_limbs(x: MDArray) -> np.ndarray:
    """Return first limbs in host memory, float64 or complex128."""
    first = planes.first_limbs(x._block, x.is_complex, 1)
    return to_native(np, host_block(first), x.is_complex)


def frobenius(x: np.ndarray) -> np.ndarray:
    """Return Frobenius norms, rounded up."""
    moduli = np.abs(x)
    return np.asarray(SLACK * np.hypot.reduce(np.hypot.reduce(moduli, axis=-1), axis=-1))
