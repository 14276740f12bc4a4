"""What a change of the rows or columns loses: norms, distances from a span, digits, warnings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._errors import PrecisionWarning
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, Complaint, fetch
from mdqr.linalg._update.arithmetic.engine import Engine, Planes
from mdqr.linalg._update.arithmetic.floats import Floats
from mdqr.linalg._update.state import Loss, State

# Squares above it have all their digits.
_SMALL = 2.0**-900


# Sums of few terms err by a few eps all the same.
_FEW = 8


_Norm = Callable[[Engine, Block], Block]


class Unchecked(Checks):
    """No conditions: what is lost is noted elsewhere, and gives infinities or NaN here."""

    def _add(self, flags: Block, good: bool, *complaints: Complaint) -> None:
        """Do nothing."""


def rounding(engine: Engine, n: int) -> float:
    """Return what rounding errors may make of nothing in a sum of `n` terms of size one."""
    return (n + _FEW) * engine.eps


def leading(engine: Engine, x: Block) -> Block:
    """Return the real parts of first limbs."""
    block = engine.to_block(x)
    return block[0, 0] if engine.kind.is_complex else block[0]


def magnitudes(engine: Engine, x: Block) -> Block:
    """Return float64 moduli, of first limbs."""
    xp = engine.backend.xp
    block = engine.to_block(x)
    return xp.hypot(block[0, 0], block[1, 0]) if engine.kind.is_complex else abs(block[0])


def diagonal_magnitudes(engine: Engine, x: Block) -> Block:
    """Return the `magnitudes` on the diagonals."""
    if isinstance(engine, Planes):
        parts = [diagonal(part[0]) for part in (x if engine.kind.is_complex else x[None])]
    else:
        block = engine.to_block(diagonal(x))
        parts = [part[0] for part in (block if engine.kind.is_complex else block[None])]
    return engine.backend.xp.hypot(*parts) if engine.kind.is_complex else abs(parts[0])


def column_norms(engine: Engine, x: Block) -> Block:
    """Return the float64 norms of columns of any size."""
    if isinstance(x, np.ndarray) and not isinstance(engine, Planes):
        parts = (x.real, x.imag) if engine.kind.is_complex else (x,)
        squares = sum(np.einsum("...ij,...ij->...j", y, y, dtype=np.float64) for y in parts)
        # Where no square left the range, and none came near its end.
        if ((squares > _SMALL) & (squares < 1.0 / _SMALL)).all():
            return np.sqrt(squares)
    xp = engine.backend.xp
    if x.dtype.char in "fF":
        parts = (x.real, x.imag) if engine.kind.is_complex else (x,)
        # Their squares are within the range of 64 bits.
        return xp.sqrt(sum(xp.square(y, dtype=np.float64).sum(axis=-2) for y in parts))
    size = magnitudes(engine, x)
    # Floats come unscaled, and their squares would leave the range.
    _, bits = xp.frexp(scaling.largest(size, -2, 0.0))
    scaled = xp.ldexp(size, -bits[..., None, :])
    return xp.ldexp(xp.sqrt((scaled**2).sum(axis=-2)), bits)


def smallest_share(engine: Engine, triangle: Block) -> Block:
    """Return at most the smallest singular value, and nearly that: float64.

    Computed from the leading limbs after a scaling by powers of two, so that no small value is
    lost; zero where the diagonal has a zero.
    """
    xp, field = engine.backend.xp, engine.kind.is_complex
    block = engine.to_block(triangle)
    first = block[:, :1] if field else block[:1]
    rows = scaling.exponents(scaling.magnitude_bits(first, field), -1)
    scaled = to_native(xp, xp.ldexp(first, -rows[..., :, None]), field)
    return _share(engine, scaled, rows, spectral_bound)


def float_share(engine: Engine, triangle: Block, size: Block) -> Block:
    """Return ``1 / norm_F(triangle^-1)`` with columns divided by `size`, all within range."""
    xp = engine.backend.xp
    native = to_native(xp, engine.to_block(triangle), engine.kind.is_complex)
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
    xp, field = engine.backend.xp, engine.kind.is_complex
    if isinstance(engine, Floats):
        return engine.inverse(triangle)
    # No LAPACK: its threads and those of the kernels would wait for each other's.
    options: dict[str, Any] = {"kind": Kind(1, field), "checks": Unchecked()}
    blocks = [from_native(xp, x, field) for x in (triangle, one)]
    system = Triangle(engine.backend, blocks[0], function="share", **options)
    return to_native(xp, system.solve(blocks[1]), field)


def _frobenius(_: Engine, x: Block) -> Block:
    return planes.namespace(x).sqrt((abs(x) ** 2).sum(axis=(-2, -1)))


def spectral_bound(engine: Engine, x: Block) -> Block:
    """Return at least the largest singular value of floats, and at most ``p**(1/32)`` times that.

    The Frobenius norm of the eighth power of ``x^H x``, by three squarings.
    """
    xp, field = engine.backend.xp, engine.kind.is_complex
    size = scaling.largest(scaling.largest(abs(x), -1, 0.0), -1, 0.0)
    safe = xp.where(size > 0, size, 1.0)
    power = from_native(xp, x / safe[..., None, None], field)
    factors = []
    for i in range(4):
        left = power if i else power.swapaxes(-1, -2)
        power = engine.backend.matmul(left, power, kind=Kind(1, field), conj_a=not i)
        total = _frobenius(engine, to_native(xp, power, field))
        factors.append(total)
        power = power / xp.where(total > 0, total, 1.0)[..., None, None]
    bound = xp.ones_like(size)
    for total in reversed(factors):
        bound = total * xp.sqrt(bound)
    return safe * xp.sqrt(bound)


class Before(NamedTuple):
    """What R was before rows left: norms of the columns, and how many diagonal entries counted."""

    norms: Block
    rank: Block
    share: Block | None


def before(state: State, *, fresh: bool) -> Before:
    """Return what `note_rank` compares with."""
    norms = column_norms(state.engine, state.r[..., : state.n])
    return Before(norms, _rank(state, norms), _float_share(state, norms) if fresh else None)


def _rank(state: State, norms: Block) -> Block:
    """Return how many diagonal entries of R are above the rounding errors of columns so long."""
    r = state.r[..., : state.count, : state.n]
    entries = diagonal_magnitudes(state.engine, r)
    return (entries > rounding(state.engine, state.n) * norms[..., : state.count]).sum(axis=-1)


def _float_share(state: State, norms: Block) -> Block:
    """Return the smallest singular value of R with columns divided by `norms`, about."""
    xp = state.engine.backend.xp
    if state.count < state.n or not state.n:
        return xp.ones(norms.shape[:-1])
    size = xp.where(norms > 0, norms, 1.0)
    return float_share(state.engine, state.r[..., : state.n, : state.n], size)


def _column_share(state: State, norms: Block) -> Block:
    """Return how much is left of the column that lost most."""
    xp = state.engine.backend.xp
    after = column_norms(state.engine, state.r[..., : state.n])
    some = (norms > 0) & (after > 0)
    shares = xp.where(some, after / xp.where(some, norms, 1.0), 1.0)
    return -scaling.largest(-shares, -1, -1.0)


def note_rank(state: State, known: Before) -> None:
    """Estimate the loss of accuracy of a deletion of rows, once R is new.

    The loss is the smallest singular value of what the deleted rows have outside of Q, and all is
    lost if the rank of R is lower. If R was rank deficient before, whose diagonal does not show its
    rank, or fewer rows than columns stay, only columns that vanished are reported. After a
    refactorisation the smallest singular value of R is compared with the old one.
    """
    xp, noise = state.engine.backend.xp, rounding(state.engine, state.n)
    columns = _column_share(state, known.norms)
    if state.count < state.n:
        # What Q lost before it became square says nothing of rows that are fewer than columns.
        state.losses = [Loss(columns, xp.full(columns.shape, noise))]
        return
    regular = known.rank == state.n
    less = regular & (_rank(state, known.norms) < state.n)
    if known.share is not None:
        some = known.share > noise
        ratio = _float_share(state, known.norms) / xp.where(some, known.share, 1.0)
        share = xp.where(some, xp.minimum(ratio, columns), columns)
        state.losses.append(Loss(xp.maximum(share, 2.0 * noise), xp.full(share.shape, noise)))
    for loss in state.losses:
        loss.share = xp.where(less, 0.0, xp.where(regular, loss.share, columns))


def pairs(state: State) -> list[Block]:
    """Return the shares and noise of removals."""
    return [x for loss in state.losses if loss.noise is not None for x in (loss.share, loss.noise)]


def require_share(function: str, checks: Checks, state: State, limit: float | None = None) -> None:
    """Demand that new columns are independent, and that something is left of the rows."""
    for loss in state.losses:
        if loss.noise is None:
            _require_independence(function, checks, state, loss.share, limit)
        else:
            _require_rest(function, checks, state, loss.share > loss.noise)


def _require_independence(
    function: str, checks: Checks, state: State, share: Block, limit: float | None
) -> None:
    least = state.engine.eps if limit is None else limit

    def complain() -> NoReturn:
        raise np.linalg.LinAlgError(
            f"{function}: with u a column lies in the span of the others: the reciprocal "
            f"condition {float(fetch(share.min())[0]):.1e} is below rcond {least:.1e}"
        )

    checks.require(~(share < least).any(), complain)


def _require_rest(function: str, checks: Checks, state: State, holds: Block) -> None:
    def complain() -> NoReturn:
        raise np.linalg.LinAlgError(
            f"{function}: all digits are lost: without these rows the rank is at most "
            f"{max(state.n - 1, 0)} of {state.n} as far as R can tell, or they are larger by "
            "1 / eps than what stays; factor the remaining rows anew"
        )

    checks.require(holds.all(), complain)


def warn_of_loss(function: str, engine: Engine, lost: float, stacklevel: int) -> None:
    """Raise if all digits are lost, and warn if half of them are."""
    digits = digits_of(engine)
    if lost >= digits:
        raise np.linalg.LinAlgError(
            f"{function}: all digits are lost with these rows and those removed before; factor "
            "the remaining rows anew"
        )
    if lost >= digits / 2:
        warnings.warn(
            f"{function}: about {lost:.0f} of {digits:.0f} digits of R are lost, since little is "
            "left where these rows were; factor the remaining rows anew",
            PrecisionWarning,
            stacklevel=stacklevel,
        )


def digits_of(engine: Engine) -> float:
    """Return the number of digits of an arithmetic."""
    return -math.log10(engine.eps)


def lost_digits(state: State, values: tuple[np.ndarray, ...], before: float = 0.0) -> float:
    """Return the digits that removals lost, from pairs of shares and noise on the host.

    `before` digits were lost already: a removal magnifies these errors as it does its own.
    """
    worst = known = 10.0**before
    unit = rounding(state.engine, state.n)
    for share, noise in zip(values[::2], values[1::2], strict=True):
        ratio = np.max((noise / unit + known) / np.maximum(share, 1e-300), initial=known)
        worst = max(worst, float(ratio))
    return math.log10(worst)
