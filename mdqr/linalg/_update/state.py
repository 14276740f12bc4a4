"""A factorisation that is being updated, and the extension of Q by further columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Block
from mdqr._limbs import planes
from mdqr.linalg._factor.householder import diagonal
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared import scaling
from mdqr.linalg._shared.checks import Checks, Complaint, fetch
from mdqr.linalg._update.engine import Engine, Planes, adjoint_multiply, joined, set_identity
from mdqr.linalg._update.floats import Floats

# Twice is enough unless the first pass left nothing but rounding errors, and that the second shows.
_MOST_PASSES = 4
_BLIND_PASSES = 3
# A pass is the last if new directions keep so much of their length: rounding errors along Q grow by
# no more than its reciprocal.
_KEPT = 0.25
# What is left of a column is nothing below so many eps of its length.
_NOTHING = 64.0
# Squares above it have all their digits.
_SMALL = 2.0**-900
# Sums of few terms err by a few eps all the same.
_FEW = 8

_Norm = Callable[[Engine, Block], Block]


class Unchecked(Checks):
    """No conditions: what is lost is noted elsewhere, and gives infinities or NaN here."""

    def _add(self, flags: Block, good: bool, *complaints: Complaint) -> None:
        """Do nothing."""


@dataclass
class Loss:
    """What an extension tells of the information that is left; float64 of the batch shape.

    `share` is the smallest part, between 0 and 1, of a new direction outside of the old ones, and
    `noise` what rounding errors may make of nothing.
    """

    share: Block
    noise: Block | None


@dataclass
class State:
    """Q and R as arrays of an engine that may be overwritten.

    `r` is ``(..., rows, n + extra)``; the extra columns, such as ``Q^H b``, are transformed along.
    With q ``(..., m, m)`` r has m rows, with q ``(..., m, n)`` n, without q at most n. Where
    `turned` is true the diagonal of a complex r need not be real.
    """

    engine: Engine
    q: Block | None
    r: Block
    n: int
    dropped: list[Block] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    turned: bool = False

    @property
    def m(self) -> int:
        """Number of rows of the matrix; without Q only of those that R has."""
        return int(self.r.shape[-2] if self.q is None else self.q.shape[-2])

    @property
    def count(self) -> int:
        """Number of rows of R that are not zero."""
        return min(int(self.r.shape[-2]), self.n)

    @property
    def full(self) -> bool:
        """Whether Q is square."""
        return self.q is not None and self.q.shape[-1] == self.q.shape[-2]

    def drop(self, rows: int) -> None:
        """Keep the first rows of R and columns of Q; note what extra columns lose."""
        if self.r.shape[-1] > self.n and self.r.shape[-2] > rows:
            self.dropped.append(self.r[..., rows:, self.n :])
        self.r = self.r[..., :rows, :]
        if self.q is not None:
            self.q = self.q[..., :rows]

    def extend(self, q: Block | None, rows: Block) -> None:
        """Append columns to Q and rows to R."""
        if self.q is not None and q is not None:
            self.q = joined(self.engine, [self.q, q], -1)
        self.r = joined(self.engine, [self.r, rows], -2)


def outside(
    engine: Engine, q: Block, u: Block, w: Block, *, look: bool = True
) -> tuple[Block, Block, Block]:
    """Split ``u = Q w' + Qu Ru`` with [Q Qu] orthonormal.

    Block Gram-Schmidt with Householder factorisations inside of the block; from the second pass on
    it is the orthonormal basis that is cleaned, so that columns of every length come out right. A
    pass is repeated if it left too little (J. W. Daniel, W. B. Gragg, L. Kaufman and G. W. Stewart
    1976).

    Parameters
    ----------
    engine : Engine
        The arithmetic.
    q : Block
        ``(..., m, n)``, orthonormal.
    u : Block
        ``(..., m, p)``, p <= m - n.
    w : Block
        ``Q^H u``.
    look : bool, optional
        Read after each pass whether another is needed. Otherwise there are three.

    Returns
    -------
    tuple
        ``w'``, ``Qu`` and ``Ru``.
    """
    size = column_norms(engine, u)
    basis, r = _cleaned(engine, q, u, w)
    triangle = r
    for _ in range((_MOST_PASSES if look else _BLIND_PASSES) - 1):
        if look and not _worn(engine, triangle, size):
            break
        basis = _directed(engine, basis, triangle, size)
        more = adjoint_multiply(engine, q, basis)
        basis, triangle = _cleaned(engine, q, basis, more)
        size = engine.backend.xp.ones_like(size)
        w, r = engine.multiply(more, r, c=w), engine.multiply(triangle, r)
    return w, basis, r


def _worn(engine: Engine, triangle: Block, size: Block) -> bool:
    """Return whether directions of lengths `size` lost so much that Q shows in what is left.

    `triangle` is R of what is left; rounding errors relative to `size` are multiplied by its
    inverse. A device is waited for.
    """
    if not triangle.shape[-1]:
        return False
    safe = engine.backend.xp.where(size > 0, size, 1.0)
    share = float_share(engine, triangle, safe)
    (found,) = fetch(share * int(triangle.shape[-1]) ** 0.5 < _KEPT)
    return bool(found.any())


def _directed(engine: Engine, basis: Block, triangle: Block, size: Block) -> Block:
    """Give columns of which nothing was left a direction, by less than a rounding error.

    Otherwise they could be columns of the identity that lie in the span of Q, pass after pass.
    """
    xp = engine.backend.xp
    m, p = int(basis.shape[-2]), int(basis.shape[-1])
    lost = diagonal_magnitudes(engine, triangle) <= _NOTHING * engine.eps * size
    noise = xp.cos(xp.arange(1.0, m * p + 1).reshape(m, p)) * (engine.eps / (4.0 * m**0.5))
    noise = xp.where(lost[..., None, :], noise, 0.0)
    native = noise.astype(np.complex128) if engine.is_complex else noise
    return engine.add(basis, engine.from_block(from_native(xp, native, engine.is_complex)))


def _cleaned(engine: Engine, q: Block, u: Block, w: Block) -> tuple[Block, Block]:
    """Factor ``u - q w``; return the orthonormal basis and R."""
    p = int(u.shape[-1])
    rest = engine.multiply(q, w, c=u, subtract=True)
    return engine.factor(rest).form_q(p), rest[..., :p, :]


def leading(engine: Engine, x: Block) -> Block:
    """Return the real parts of first limbs."""
    block = engine.to_block(x)
    return block[0, 0] if engine.is_complex else block[0]


def magnitudes(engine: Engine, x: Block) -> Block:
    """Return float64 moduli, of first limbs."""
    xp = engine.backend.xp
    block = engine.to_block(x)
    return xp.hypot(block[0, 0], block[1, 0]) if engine.is_complex else abs(block[0])


def diagonal_magnitudes(engine: Engine, x: Block) -> Block:
    """Return the `magnitudes` on the diagonals."""
    if isinstance(engine, Planes):
        parts = [diagonal(part[0]) for part in (x if engine.is_complex else x[None])]
    else:
        block = engine.to_block(diagonal(x))
        parts = [part[0] for part in (block if engine.is_complex else block[None])]
    return engine.backend.xp.hypot(*parts) if engine.is_complex else abs(parts[0])


def rounding(engine: Engine, n: int) -> float:
    """Return what rounding errors may make of nothing in a sum of `n` terms of size one."""
    return (n + _FEW) * engine.eps


def unit_columns(engine: Engine, q: Block, first: int, count: int) -> Block:
    """Return columns `first` and later of the identity with as many rows as `q`."""
    unit = engine.zeros(q, int(q.shape[-2]), count)
    set_identity(engine, unit[..., first : first + count, :])
    return unit


def smallest_share(engine: Engine, triangle: Block) -> Block:
    """Return at most the smallest singular value, and nearly that: float64.

    Computed from the leading limbs after a scaling by powers of two, so that no small value is
    lost; zero where the diagonal has a zero.
    """
    xp, field = engine.backend.xp, engine.is_complex
    block = engine.to_block(triangle)
    first = block[:, :1] if field else block[:1]
    rows = scaling.exponents(scaling.magnitude_bits(first, field), -1)
    scaled = to_native(xp, xp.ldexp(first, -rows[..., :, None]), field)
    return _share(engine, scaled, rows, spectral_bound)


def float_share(engine: Engine, triangle: Block, size: Block) -> Block:
    """Return ``1 / norm_F(triangle^-1)`` with columns divided by `size`, all within range."""
    xp = engine.backend.xp
    native = to_native(xp, engine.to_block(triangle), engine.is_complex)
    rows = xp.zeros(native.shape[:-1], dtype=xp.int64)
    with np.errstate(all="ignore"):
        return _share(engine, native / size[..., None, :], rows, _frobenius)


def _share(engine: Engine, scaled: Block, rows: Block, norm: _Norm) -> Block:
    """Return 1 over the norm of the inverse of ``diag(2**rows) scaled``."""
    xp, p = engine.backend.xp, int(scaled.shape[-1])
    one = xp.broadcast_to(xp.eye(p, dtype=scaled.dtype), scaled.shape)
    entries = abs(diagonal(scaled))
    sound = (entries > 0).all(axis=-1) & xp.isfinite(abs(scaled)).all(axis=(-2, -1))
    if p == 1:
        return xp.where(sound, xp.ldexp(entries[..., 0], rows[..., 0]), 0.0)
    inverse = _inverse(engine, xp.where(sound[..., None, None], scaled, one), one)
    low = -scaling.largest(-rows, -1, 0)
    shrink = xp.ldexp(xp.ones(rows.shape), low[..., None] - rows)
    with np.errstate(all="ignore"):
        total = norm(engine, inverse * shrink[..., None, :])
        # An inverse beyond the largest double may have NaN.
        return xp.where(sound & (total >= 0), xp.ldexp(1.0 / total, low), 0.0)


def _inverse(engine: Engine, triangle: Block, one: Block) -> Block:
    """Return the inverses of upper triangles of floats without zeros on the diagonals."""
    xp, field = engine.backend.xp, engine.is_complex
    if isinstance(engine, Floats):
        return engine.inverse(triangle)
    # No LAPACK: its threads and those of the kernels would wait for each other's.
    options: dict[str, Any] = {"limbs": 1, "is_complex": field, "checks": Unchecked()}
    blocks = [from_native(xp, x, field) for x in (triangle, one)]
    system = Triangle(engine.backend, blocks[0], function="share", **options)
    return to_native(xp, system.solve(blocks[1]), field)


def _frobenius(_: Engine, x: Block) -> Block:
    return planes.namespace(x).sqrt((abs(x) ** 2).sum(axis=(-2, -1)))


def spectral_bound(engine: Engine, x: Block) -> Block:
    """Return at least the largest singular value of floats, and at most ``p**(1/32)`` times that.

    The Frobenius norm of the eighth power of ``x^H x``, by three squarings.
    """
    xp, field = engine.backend.xp, engine.is_complex
    size = scaling.largest(scaling.largest(abs(x), -1, 0.0), -1, 0.0)
    safe = xp.where(size > 0, size, 1.0)
    power = from_native(xp, x / safe[..., None, None], field)
    factors = []
    for i in range(4):
        left = power if i else power.swapaxes(-1, -2)
        power = engine.backend.matmul(left, power, limbs=1, is_complex=field, conj_a=not i)
        total = _frobenius(engine, to_native(xp, power, field))
        factors.append(total)
        power = power / xp.where(total > 0, total, 1.0)[..., None, None]
    bound = xp.ones_like(size)
    for total in reversed(factors):
        bound = total * xp.sqrt(bound)
    return safe * xp.sqrt(bound)


def column_norms(engine: Engine, x: Block) -> Block:
    """Return the float64 norms of columns of any size."""
    if isinstance(x, np.ndarray) and not isinstance(engine, Planes):
        parts = (x.real, x.imag) if engine.is_complex else (x,)
        squares = sum(np.einsum("...ij,...ij->...j", y, y, dtype=np.float64) for y in parts)
        # Where no square left the range, and none came near its end.
        if ((squares > _SMALL) & (squares < 1.0 / _SMALL)).all():
            return np.sqrt(squares)
    xp = engine.backend.xp
    if x.dtype.char in "fF":
        parts = (x.real, x.imag) if engine.is_complex else (x,)
        # Their squares are within the range of 64 bits.
        return xp.sqrt(sum(xp.square(y, dtype=np.float64).sum(axis=-2) for y in parts))
    size = magnitudes(engine, x)
    # Floats come unscaled, and their squares would leave the range.
    _, bits = xp.frexp(scaling.largest(size, -2, 0.0))
    scaled = xp.ldexp(size, -bits[..., None, :])
    return xp.ldexp(xp.sqrt((scaled**2).sum(axis=-2)), bits)
