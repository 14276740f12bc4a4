"""Pairs of matrices, ``a v = w b v``, as one matrix: ``b^-1 a``, or ``(a - s b)^-1 b``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._factor import lu
from mdqr.linalg._general.certificate import Certified, Remainder
from mdqr.linalg._general.subspaces.decomposition import decomposed
from mdqr.linalg._general.subspaces.newton import Basis, inverse_step
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._spectral.disks import SLACK

# Where b has a larger condition, eigenvalues may be infinite; s is one of these, exact in a float.
_MOST_CONDITION = 2.0**26
_SHIFTS = (0.0, 0.40625, -0.65625, 1.34375, -1.71875)
_LEAST = 2.0**-1040
# Powers of rows and columns lie within this, so that their squares are doubles.
_MOST_POWER = 500


class Pair(NamedTuple):
    """``numerator v = mu denominator v``, complex ``(1, n, n)``, and ``matrix``, their quotient.

    Each entry of the denominator has an error of at most `error`. Eigenvalues are mu, or
    ``s + 1 / mu`` with a shift s, times ``2**power``. Rows of both are multiplied by ``2**left``,
    columns by ``2**right``. `errors` bound those of data, of numerator and denominator.
    """

    backend: Backend
    kind: Kind
    numerator: Block
    denominator: Block
    error: np.ndarray
    matrix: Block
    shift: float | None
    power: int
    right: np.ndarray
    left: np.ndarray
    errors: tuple[np.ndarray, np.ndarray]

    def limbs(self, wanted: int) -> int:
        """Return those of the answer, or of the work where eigenvalues follow from values."""
        return wanted if self.shift is None else self.kind.limbs

    def basis(self, *, is_real: bool, report: Reporter | None) -> Basis:
        """Return the basis of the matrix, its Y near the inverse of ``denominator X``."""
        found = decomposed(self.backend, self.matrix, self.kind, is_real=is_real, report=report)
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
        of = [native_abs(each, True) for each in (self.numerator, self.denominator, x, m)]
        of_a, of_b, of_x, of_m = of
        of_w, of_d, of_r, of_e = (native_abs(each, True) for each in (w, d, r, extra))
        few = (8 * n + 64) * eps
        off = eps * of_d + few * eps * (of_b @ of_x + of_w) + self.error @ of_x + _LEAST
        lost = few * eps * (of_a @ of_x + of_w @ of_m + of_e) + eps * of_r + _LEAST
        lost += few * (of_d @ of_m) + off @ of_m
        return Remainder(r, lost * SLACK, w, (of_d + off) * SLACK)

    @np.errstate(all="ignore")
    def eigenvalues(self, values: Block, radii: np.ndarray, limbs: int) -> tuple[Block, np.ndarray]:
        """Return eigenvalues of the pair for those of the matrix, and bounds of their errors.

        They are infinite where 0 is within the bound of mu.
        """
        if self.shift is None:
            found, lost = values, np.zeros(radii.shape)
        else:
            infinite = ~np.isfinite(self.radii(values, radii))
            values = np.where(infinite, 0.0, values)
            values[0, 0] = np.where(infinite, 1.0, values[0, 0])
            found, lost = self._shifted(values, limbs)
            found = np.where(infinite, 0.0, found)
            found[0, 0] = np.where(infinite, np.inf, found[0, 0])
            radii = np.where(infinite, np.inf, radii)
        powers = np.full(values.shape[2:], self.power, dtype=np.int64)
        found = self.backend.ldexp(found, powers, is_complex=True)
        return found, self.radii(values, radii) + np.ldexp(lost, self.power)

    def _shifted(self, values: Block, limbs: int) -> tuple[Block, np.ndarray]:
        """Return ``s + 1 / mu`` to so many limbs, and its errors: ``w mu - s mu - 1`` over mu."""
        backend, kind, eps = self.backend, self.kind, precision_for(self.kind.limbs).eps
        shift = from_native(np, np.full(values.shape[2:], complex(self.shift or 0.0)), True)
        found = backend.unary("reciprocal", values, kind=kind)
        found = backend.binary("add", found, shift, kind=kind)
        found = planes.widen(planes.narrow(found, True, limbs), True, kind.limbs)
        one = np.zeros((*values.shape, 1, 1))
        one[0, 0] = 1.0
        moved = planes.widen(planes.negate(shift, True), True, kind.limbs)
        wide = np.stack([found, moved], axis=-1)[..., None, :]
        tall = np.stack([values, values], axis=-1)[..., None]
        rest = backend.residual([(1, one)], wide, tall, kind=kind)
        of_rest, size, of_found = (
            native_abs(each, True) for each in (rest[..., 0, 0], values, found)
        )
        lost = (1 + eps) * of_rest + 16 * square_of(eps) * (
            (of_found + abs(self.shift or 0)) * size + 1
        )
        return found, SLACK * (lost / size + _LEAST * (1 + 1 / size))

    @np.errstate(all="ignore")
    def radii(self, values: Block, radii: np.ndarray) -> np.ndarray:
        """Return how far eigenvalues move where mu moves by `radii`."""
        if self.shift is not None:
            size = native_abs(values, True) / SLACK
            moved = SLACK * radii / (size * (size - radii))
            radii = np.where(size > radii, moved, np.inf)
        return np.asarray(np.ldexp(radii, self.power)) + 2.0**-1070

    @np.errstate(all="ignore")
    def data_perturbation(self, inverse: np.ndarray, known: Certified) -> np.ndarray:
        """Return bounds of ``(I + K)^-1 (L - K M)``, K and L what ``(B X)^-1`` makes of errors."""
        of_x, of_m, of_values = (
            native_abs(each, True) for each in (known.start.x, known.start.m, known.values)
        )
        one = planes.diagonal(of_m)
        one[...] = np.maximum(one, of_values)
        of_a, of_b = self.errors
        k, change = inverse @ (of_b + _LEAST) @ of_x, inverse @ (of_a + _LEAST) @ of_x
        change = change + k @ (of_m + known.moduli)
        rows = k.sum(axis=-1)
        norm = SLACK * rows.max(axis=-1, initial=0.0)[:, None, None]
        most = change.max(axis=-2, initial=0.0)[:, None, :] / np.where(norm < 1, 1 - norm, 0.0)
        return np.asarray(SLACK * (change + rows[..., None] * most))


@np.errstate(over="ignore")
def reduced(
    backend: Backend, a: Block, b: Block, errors: tuple[Errors, Errors], kind: Kind
) -> Pair | None:
    """Return a pair with a denominator of small condition; None if all are singular."""
    given = [native_abs(each, True) for each in (a, b)]
    rows, columns = _powers(*given)
    moves = rows[:, :, None] + columns[:, None, :]
    (a, of_a), (b, of_b) = (_near_one(backend, each, moves) for each in (a, b))
    n, power, nothing = int(a.shape[-1]), int(of_a[0] - of_b[0]), np.zeros((a.shape[-1],) * 2)
    plain = [to_native(np, each, True)[0] for each in (a, b)]
    tops = (moves - top[:, None, None] for top in (of_a, of_b))
    of = [e.of(np, abs(each)[None], t) for e, each, t in zip(errors, plain, tops, strict=True)]
    start = Pair(backend, kind, a, b, nothing, a, None, power, columns, rows, (of[0], of[1]))
    if _condition(plain[1]) <= _MOST_CONDITION:
        return _quotient(start)
    eps = precision_for(kind.limbs).eps
    # Where float64 tells no conditions, one shift may be as good as another.
    for shift in sorted(_SHIFTS, key=lambda s: _condition(plain[0] - s * plain[1])):
        times = planes.widen(np.full((1, n, n), shift), False, kind.limbs)[:, None]
        moved = backend.binary("multiply", b, planes.complexify(times), kind=kind)
        moved = backend.binary("subtract", a, moved, kind=kind)
        error = 16 * eps * (abs(plain[0]) + abs(shift) * abs(plain[1])) if shift else nothing
        found = _quotient(
            start._replace(
                numerator=b,
                denominator=moved,
                error=error,
                matrix=b,
                shift=shift,
                errors=(of[1], of[0] + abs(shift) * of[1]),
            )
        )
        if found is not None:
            return found
    return None


def unknown(backend: Backend, a: Block, b: Block, kind: Kind) -> Pair:
    """Return a pair instead of one that no limbs resolve: its eigenvalues are infinite.

    The denominator has errors beyond all bounds.
    """
    one, n = kind.identity(np, a.shape[2:]), int(a.shape[-1])
    nothing, infinite = np.zeros((1, n), np.int64), np.full((n, n), np.inf)
    errors = infinite[None], infinite[None]
    return Pair(backend, kind, one, one, infinite, one, 0.0, 0, nothing, nothing, errors)


def _quotient(pair: Pair) -> Pair | None:
    """Return the pair with its matrix; None if the denominator is singular."""
    factors = lu.factor(pair.backend, pair.denominator, pair.kind)
    if factors.singular().any():
        return None
    with np.errstate(all="ignore"):
        matrix = lu.solved(factors, pair.numerator)
    return pair._replace(matrix=matrix) if np.isfinite(matrix).all() else None


@np.errstate(all="ignore")
def _powers(of_a: np.ndarray, of_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return powers of two of rows and columns ``(1, n)``, after which the largest are near 1.

    The eigenvalues of the pair are those of the pair that is scaled.
    """
    # Moduli may overflow, parts of entries do not.
    logs = [np.minimum(np.log2(each), 1024.0) for each in (of_a, of_b)]
    sizes = np.fmax(*(each - each.max(initial=-np.inf) for each in logs))
    sizes = np.where(np.isfinite(sizes), sizes, -np.inf)
    rows = np.zeros(sizes.shape[:-1])
    for _ in range(2):
        columns = -(sizes + rows[:, :, None]).max(axis=-2, initial=-np.inf)
        columns = np.where(np.isfinite(columns), columns, 0.0)
        rows = -(sizes + columns[:, None, :]).max(axis=-1, initial=-np.inf)
        rows = np.where(np.isfinite(rows), rows, 0.0)
    found = [np.rint(each - (each.max() + each.min()) / 2) for each in (rows, columns)]
    rows, columns = (np.clip(x, -_MOST_POWER, _MOST_POWER).astype(np.int64) for x in found)
    return rows, columns


def _near_one(backend: Backend, a: Block, moves: np.ndarray) -> tuple[Block, np.ndarray]:
    """Return complex matrices times ``2**(moves - top)``, at most 1, and the powers top."""
    exponents = scaling.exponents_or_absent(scaling.magnitude_bits(a, True))
    top = (exponents + moves).max(axis=(-2, -1), initial=scaling.ABSENT)
    top = np.where(top > scaling.ABSENT // 2, top, 0)
    return backend.ldexp(a, moves - top[:, None, None], is_complex=True), top


def _condition(a: np.ndarray) -> float:
    """Return the condition of a matrix in float64; infinite where it is singular."""
    try:
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(np.linalg.cond(a), nan=np.inf, posinf=np.inf))
    except np.linalg.LinAlgError:
        return float("inf")
