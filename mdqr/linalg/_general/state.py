"""How matrices are scaled, and from bases of what was scaled to eigenvectors of length 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.lu import permuted
from mdqr.linalg._general.certificate import Certified, vector_bounds
from mdqr.linalg._general.newton import Basis
from mdqr.linalg._general.results import EigInfo
from mdqr.linalg._general.vectors import Vectors, mirror, normalised, vectors_of
from mdqr.linalg._shared.operands import precision_for

_MOST_PASSES = 100
_MOST_POWER = 400
# Norms that do not become less than that part of what they were are left.
_WORTH = 0.9
# Shorter rows and columns count as that part of the longest one.
_SHORTEST = 2.0**-8
# Passes end when logarithms of factors change by less.
_SMALL = 0.1


class State(NamedTuple):
    """How matrices were scaled: ``2**-powers[i] a[i, j] 2**powers[j]``, complex blocks."""

    backend: Backend
    kind: Kind
    is_real: bool
    powers: np.ndarray

    def concluded(
        self, known: Certified, found: Basis, rounding: float
    ) -> tuple[Vectors, EigInfo, Certified]:
        """Return eigenvectors, what is known of them and of values, values as real as proven."""
        n, eps = int(found.x.shape[-1]), precision_for(self.kind.limbs).eps
        lengths = _lengths(found.x, self.powers, -2)
        within = vector_bounds(known, found, lengths, (n + 64) * eps + rounding)
        both = vectors_of(self.backend, known.basis, self.kind)
        with np.errstate(over="ignore"):
            condition = _lengths(both.right, self.powers, -2)
            condition = condition * _lengths(both.left, -self.powers, -1)
        if self.is_real:
            known = mirror(self.backend, known, both, self.kind)
        radii, counts = (np.stack(part) for part in zip(*known.disks, strict=True))
        return both, EigInfo(radii, counts, condition, within), known

    def finished(self, x: Block, powers: np.ndarray, order: np.ndarray, values: Block) -> Block:
        """Return columns times ``2**powers``, in an order, of length 1."""
        x = self.backend.ldexp(x, np.broadcast_to(powers[:, :, None], x.shape[2:]), is_complex=True)
        x = permuted(x.swapaxes(-1, -2), order).swapaxes(-1, -2)
        real = (values[1, 0] == 0) & self.is_real
        return normalised(self.backend, x, self.kind, real)


def near_one(backend: Backend, a: Block) -> tuple[Block, np.ndarray]:
    """Return complex matrices ``(batch, n, n)`` over powers of two, at most 1; and the powers."""
    top = scaling.exponents_of(scaling.largest(scaling.magnitude_bits(a, True), (-2, -1), 0))
    shape = a.shape[2:]
    return backend.ldexp(a, np.broadcast_to(-top[:, None, None], shape), is_complex=True), top


@np.errstate(all="ignore")
def balancing_powers(sizes: np.ndarray) -> np.ndarray:
    """Return int64 d ``(batch, n)`` for which ``2**-d[i] a[i, j] 2**d[j]`` is balanced.

    `sizes` are moduli of entries, at most about 1. Norms have the diagonal, so that rounding errors
    of vectors grow by little where little would be won (R. James, J. Langou and B. R. Lowery, On
    matrix balancing and eigenvector computation, 2014); rows are not permuted.
    """
    n = sizes.shape[-1]
    squares = sizes * sizes
    logs = np.zeros(sizes.shape[:-1])
    for _ in range(_MOST_PASSES):
        moved, least = 0.0, _SHORTEST**2 * squares.sum(axis=-1).max(axis=-1)
        for i in range(n):
            column, row = (
                np.maximum(part.sum(axis=-1), least) for part in (squares[:, :, i], squares[:, i])
            )
            step = 0.25 * (np.log2(row) - np.log2(column))
            step = np.where(np.isfinite(step) & (abs(logs[:, i] + step) <= _MOST_POWER), step, 0.0)
            logs[:, i] += step
            moved = max(moved, float(abs(step).max(initial=0.0)))
            factor = np.exp2(2 * step)[:, None]
            # The diagonal stays, but for rounding.
            squares[:, :, i] *= factor
            squares[:, i, :] /= factor
        if moved < _SMALL:
            break
    powers = np.rint(logs).astype(np.int64)
    after = sizes * np.exp2(powers[:, None, :] - powers[:, :, None])
    worth = (after * after).sum(axis=(-2, -1)) < _WORTH**2 * (sizes * sizes).sum(axis=(-2, -1))
    return np.where(worth[:, None], powers, 0)


@np.errstate(all="ignore")
def _lengths(x: Block, powers: np.ndarray, axis: int) -> np.ndarray:
    """Return lengths of columns (axis -2) or rows (-1), whose entries are scaled by powers."""
    factors = np.ldexp(1.0, powers)
    factors = factors[:, :, None] if axis == -2 else factors[:, None, :]
    sizes = abs(to_native(np, x, True)) * factors
    return np.nan_to_num(np.sqrt((sizes * sizes).sum(axis=axis)), nan=np.inf, posinf=np.inf)
