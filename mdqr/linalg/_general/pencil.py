"""Pairs of matrices, ``a v = w b v``, as one matrix: ``b^-1 a``, or ``(a - s b)^-1 b``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor import lu
from mdqr.linalg._general.certificate import Remainder
from mdqr.linalg._general.newton import Basis, inverse_step
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import SLACK

# Where b has a larger condition, eigenvalues may be infinite; s is one of these, exact in a float.
_MOST_CONDITION = 2.0**26
_SHIFTS = (0.0, 0.40625, -0.65625, 1.34375, -1.71875)
_LEAST = 2.0**-1040


class Pair(NamedTuple):
    """``numerator v = mu denominator v``, complex ``(1, n, n)``, and ``matrix``, their quotient.

    Each entry of the denominator has an error of at most `error`. Eigenvalues are mu, or
    ``s + 1 / mu`` with a shift s, times ``2**power``.
    """

    backend: Backend
    kind: Kind
    numerator: Block
    denominator: Block
    error: np.ndarray
    matrix: Block
    shift: float | None
    power: int

    def basis(self, found: Basis) -> Basis:
        """Return the basis of the matrix, its Y near the inverse of ``denominator X``."""
        transposed = lu.factor(self.backend, self.denominator.swapaxes(-1, -2), self.kind)
        y = lu.solved(transposed, found.y.swapaxes(-1, -2)).swapaxes(-1, -2)
        y = inverse_step(self.backend, self.of_vectors(found.x), y, self.kind)
        return found._replace(y=y)

    def of_vectors(self, x: Block) -> Block:
        """Return the denominator times `x`."""
        return self.backend.matmul(self.denominator, x, kind=self.kind)

    @np.errstate(all="ignore")
    def remainder(self, found: Basis) -> Remainder:
        """Return ``A X - W M + (W - B X) M``, W what B X is rounded to."""
        backend, kind, x, m = self.backend, self.kind, found.x, found.m
        n, eps = int(x.shape[-1]), precision_for(kind.limbs).eps
        w = self.of_vectors(x)
        d = backend.residual([(1, w)], self.denominator, x, kind=kind)
        extra = backend.matmul(d, m, kind=kind)
        wide = np.concatenate([self.numerator, w], axis=-1)
        tall = np.concatenate([planes.negate(x, True), m], axis=-2)
        r = backend.residual([(1, extra)], wide, tall, kind=kind)
        of = [abs(to_native(np, each, True)) for each in (self.numerator, self.denominator, x, m)]
        of_a, of_b, of_x, of_m = of
        of_w, of_d, of_r, of_e = (abs(to_native(np, each, True)) for each in (w, d, r, extra))
        few = (8 * n + 64) * eps
        off = eps * of_d + few * eps * (of_b @ of_x + of_w) + self.error @ of_x + _LEAST
        lost = few * eps * (of_a @ of_x + of_w @ of_m + of_e) + eps * of_r + _LEAST
        lost += few * (of_d @ of_m) + off @ of_m
        return Remainder(r, lost * SLACK, w, (of_d + off) * SLACK)

    @np.errstate(all="ignore")
    def eigenvalues(
        self, values: Block, radii: np.ndarray, rounding: float
    ) -> tuple[Block, np.ndarray]:
        """Return eigenvalues of the pair for those of the matrix, and bounds of their errors.

        They are infinite where 0 is within the bound of mu.
        """
        backend, kind = self.backend, self.kind
        if self.shift is not None:
            size = abs(to_native(np, values, True)) / SLACK
            infinite = ~(size > radii)
            values = np.where(infinite, 0.0, values)
            values[0, 0] = np.where(infinite, 1.0, values[0, 0])
            values = backend.unary("reciprocal", values, kind=kind)
            moved = np.full(values.shape[2:], complex(self.shift))
            values = backend.binary("add", values, from_native(np, moved, True), kind=kind)
            eps = rounding + 16 * precision_for(kind.limbs).eps
            radii = radii / (size * (size - radii)) + eps * (abs(self.shift) + 1 / size)
            radii = np.where(infinite, np.inf, radii * SLACK)
            values = np.where(infinite, 0.0, values)
            values[0, 0] = np.where(infinite, np.inf, values[0, 0])
        powers = np.full(values.shape[2:], self.power, dtype=np.int64)
        values = backend.ldexp(values, powers, is_complex=True)
        return values, np.ldexp(radii, self.power) + 2.0**-1070


def reduced(backend: Backend, a: Block, b: Block, kind: Kind) -> Pair | None:
    """Return a pair with a denominator of small condition; None if all are singular."""
    (a, of_a), (b, of_b) = _near_one(backend, a), _near_one(backend, b)
    n, power, nothing = int(a.shape[-1]), int(of_a[0] - of_b[0]), np.zeros((a.shape[-1],) * 2)
    plain = [to_native(np, each, True)[0] for each in (a, b)]
    if _condition(plain[1]) <= _MOST_CONDITION:
        return _quotient(Pair(backend, kind, a, b, nothing, a, None, power))
    eps = precision_for(kind.limbs).eps
    # Where float64 tells no conditions, one shift may be as good as another.
    for shift in sorted(_SHIFTS, key=lambda s: _condition(plain[0] - s * plain[1])):
        times = planes.widen(np.full((1, n, n), shift), False, kind.limbs)[:, None]
        moved = backend.binary("multiply", b, planes.complexify(times), kind=kind)
        moved = backend.binary("subtract", a, moved, kind=kind)
        error = 16 * eps * (abs(plain[0]) + abs(shift) * abs(plain[1])) if shift else nothing
        found = _quotient(Pair(backend, kind, b, moved, error, b, shift, power))
        if found is not None:
            return found
    return None


def _quotient(pair: Pair) -> Pair | None:
    """Return the pair with its matrix; None if the denominator is singular."""
    factors = lu.factor(pair.backend, pair.denominator, pair.kind)
    if factors.singular().any():
        return None
    with np.errstate(all="ignore"):
        matrix = lu.solved(factors, pair.numerator)
    return pair._replace(matrix=matrix) if np.isfinite(matrix).all() else None


def _near_one(backend: Backend, a: Block) -> tuple[Block, np.ndarray]:
    """Return complex matrices ``(batch, n, n)`` over powers of two, at most 1; and the powers."""
    top = scaling.exponents_of(scaling.largest(scaling.magnitude_bits(a, True), (-2, -1), 0))
    shape = a.shape[2:]
    return backend.ldexp(a, np.broadcast_to(-top[:, None, None], shape), is_complex=True), top


def _condition(a: np.ndarray) -> float:
    """Return the condition of a matrix in float64; infinite where it is singular."""
    try:
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(np.linalg.cond(a), nan=np.inf, posinf=np.inf))
    except np.linalg.LinAlgError:
        return float("inf")
