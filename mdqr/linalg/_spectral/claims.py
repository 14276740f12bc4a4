"""The bounds of `info` of `eigh` and `svd`, for the results as they were returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.operands import Inputs, precision_for, precision_with
from mdqr.linalg._spectral import residual_bounds as pencil
from mdqr.linalg._spectral import singular_bounds as singular
from mdqr.linalg._spectral.definite_pair import near_one
from mdqr.linalg._spectral.disks import SLACK
from mdqr.linalg._spectral.info import Proven, SpectralInfo
from mdqr.linalg._spectral.residual_bounds import (
    LOST,
    Bounds,
    Remainders,
    changed,
    lost_by_scaling,
)
from mdqr.linalg._spectral.singular_bounds import Triples

# Powers of two take no more from a bound.
_LEAST = 2.0**-1070
_MORE = 2.0**-990
# From so many units of its last place on, the bound of a singular value is sought in more limbs.
_LOOSE = 8.0


class Held(NamedTuple):
    """Matrices, their errors, and results: nothing of it is a view of what users have.

    Matrices are ``(batch, m, n)``, errors broadcast to the shape of the operands ``(..., m, n)``,
    of which with `triangle` "L" or "U" one triangle was read. `rounding` is that of the vectors.
    """

    kind: Kind
    shape: tuple[int, ...]
    matrices: list[Block]
    errors: list[Errors]
    triangle: str
    values: Block
    vectors: list[Block]
    rounding: float


def held(
    inputs: Inputs,
    matrices: list[Block],
    errors: list[Errors],
    values: Block,
    *vectors: Block,
    triangle: str = "",
) -> Held:
    """Return copies of operands and results."""
    few = inputs.precision.limbs < inputs.work.limbs
    rounded = planes.narrow(values, False, inputs.precision.limbs) if few else values
    return Held(
        inputs.kind,
        inputs.shape(0),
        [flat(x, inputs.is_complex).copy() for x in matrices],
        errors,
        triangle,
        rounded.copy(),
        [x.copy() for x in vectors],
        2 * inputs.precision.eps if few else 0.0,
    )


def _entry_errors(given: Held, index: int) -> np.ndarray:
    """Return upper bounds of the errors of the entries of one matrix, ``(batch, m, n)``."""
    matrix = host_block(given.matrices[index])
    sizes = native_abs(matrix, given.kind.is_complex)
    atol, rtol = (
        np.broadcast_to(x if isinstance(x, float) else host_block(x), given.shape)
        for x in given.errors[index]
    )
    found = (atol.reshape(sizes.shape) + rtol.reshape(sizes.shape) * sizes) * SLACK
    if given.triangle:
        read, strict = (np.tril, -1) if given.triangle == "L" else (np.triu, 1)
        found = read(found) + read(found, strict).swapaxes(-1, -2)
    return found


def info_of(inputs: Inputs, given: Held, made: Any, part: slice, shape: tuple[int, ...]) -> Any:
    """Return the info of values ``shape`` of which only a part was returned."""

    def proven() -> Proven:
        found = made(given)
        return Proven(*(x[..., part].reshape(shape) for x in found))

    def sizes() -> np.ndarray:
        return np.asarray(abs(host_block(given.values)[0])[..., part].reshape(shape))

    return SpectralInfo(inputs.precision, sizes, proven)


def _near_one(backend: Backend, a: Block, field: bool) -> tuple[Any, Any]:
    """Return matrices with entries near 1, and the powers of two that were taken, ``(batch,)``."""
    top = scaling.top_exponents(a, field)
    return backend.ldexp(a, -top[:, None, None], is_complex=field), top


class _Scaled(NamedTuple):
    """One or two Hermitian matrices with entries near 1, what that lost, and errors of the data.

    Moduli are ``(batch, n, n)``; `powers` as in `NearOne`, 0 of one matrix.
    """

    matrices: list[Block]
    lost: list[np.ndarray]
    errors: list[np.ndarray]
    powers: np.ndarray
    top: np.ndarray


def _scaled_operands(backend: Backend, given: Held) -> _Scaled:
    field, blocks = given.kind.is_complex, [host_block(x) for x in given.matrices]
    errors = [_entry_errors(given, i) for i in range(len(blocks))]
    if len(blocks) == 1:
        # Of vectors of length 1 the bounds of underflow cover what is lost.
        a, top = _near_one(backend, blocks[0], field)
        none = np.zeros((1, 1, 1))
        powers = np.zeros(a.shape[-3:-1], np.int64)
        return _Scaled(
            [a], [none], [scaling.scaled_bound(errors[0], -top[:, None, None], LOST)], powers, top
        )
    near = near_one(backend, blocks[0], blocks[1], field)
    found, moves = [near.a, near.b], [near.both - near.top[:, None, None], near.both]
    lost = [
        lost_by_scaling(backend, given, scaled, moved, field)
        for given, scaled, moved in zip(blocks, found, moves, strict=True)
    ]
    errors = [scaling.scaled_bound(e, moved, LOST) for e, moved in zip(errors, moves, strict=True)]
    return _Scaled(found, lost, errors, near.powers, near.top)


@np.errstate(all="ignore")
def of_hermitian(given: Held, again: Any) -> Proven:
    """Return what is proven of all eigenvalues of one or two matrices, and their vectors.

    ``again(matrices, is_complex, limbs)`` returns their values and vectors in so many limbs.
    """
    kind, field = given.kind, given.kind.is_complex
    w, x = host_block(given.values), host_block(given.vectors[0])
    backend = for_block(w)
    near = _scaled_operands(backend, given)
    back, (a, b) = near.top[:, None], (*near.matrices, None)[:2]
    w = backend.ldexp(w, -back)
    x = backend.ldexp(x, -near.powers[:, :, None], is_complex=field)
    found = pencil.remainders(backend, a, b, x, w, kind)
    apart, sizes, of_x = pencil.distances(backend, w, kind), abs(w[0]), pencil.known(x, kind).sizes
    stored = pencil.bounds(apart, _perturbed(found, of_x, sizes, near.lost), sizes)
    errors = [e + lost for e, lost in zip(near.errors, near.lost, strict=True)]
    within = pencil.bounds(apart, _perturbed(found, of_x, sizes, errors), sizes).values
    e = errors[0]
    if b is None:
        within = np.minimum(within, stored.values + _norm(e))
    size_a = native_abs(a, field)
    size_b = np.eye(a.shape[-1])[None] if b is None else native_abs(b, field)
    own = np.diagonal(changed(of_x, size_b), axis1=-2, axis2=-1)
    condition = np.diagonal(changed(of_x, size_a), axis1=-2, axis2=-1)
    condition = np.where(sizes > 0, condition / sizes, np.inf)
    condition = condition if b is None else condition + own
    vectors = np.sqrt(2.0) * stored.sines + stored.lengths + given.rounding * np.sqrt(own)
    zero = _zero(host_block(given.matrices[0]), field)

    def in_more(chosen: np.ndarray, limbs: int) -> tuple[Block, np.ndarray]:
        more, parts = Kind(limbs, field), [y[..., chosen, :, :] for y in near.matrices]
        far, x, _ = again(parts, field, limbs)
        left = pencil.remainders(backend, parts[0], (*parts, None)[1], x, far, more)
        lost = [y if len(y) == 1 else y[chosen] for y in near.lost]
        left = _perturbed(left, pencil.known(x, more).sizes, abs(far[0]), lost)
        apart = pencil.distances(backend, far, more)
        return far, pencil.bounds(apart, left, abs(far[0])).values

    values = _sharper(backend, w, stored.values, kind.limbs, in_more)
    values = np.where(zero, 0.0, _scaled(values, back))
    within = np.where(zero & (_norm(e) <= _MORE), 0.0, _scaled(within, back))
    return Proven(values, _usable(vectors, stored), within, condition)


def _zero(a: Block, field: bool) -> np.ndarray:
    """Return which matrices have no entry but zeros: their values are exact; ``(batch, 1)``."""
    return ~scaling.magnitude_bits(a, field).any(axis=(-2, -1))[:, None]


def _perturbed(
    found: Remainders, x: np.ndarray, sizes: np.ndarray, errors: list[np.ndarray]
) -> Remainders:
    """Return remainders of vectors and values of such moduli with such errors of the matrices."""
    if not any(e.any() for e in errors):
        return found
    moved, *rest = (changed(x, e) * SLACK for e in errors)
    for of_b in rest:
        found = Remainders(found.z + of_b * sizes[:, None, :], found.g + of_b + _MORE)
    return Remainders(found.z + moved + _MORE, found.g)


def _norm(e: np.ndarray) -> np.ndarray:
    """Return upper bounds ``(batch, 1)`` of the 2-norms of matrices of such moduli."""
    rows, columns = (e.sum(axis=axis).max(axis=-1, initial=0.0) for axis in (-1, -2))
    # Squares of small entries would underflow.
    frobenius = np.hypot.reduce(np.hypot.reduce(e, axis=-1), axis=-1)
    found = np.minimum(np.sqrt(rows) * np.sqrt(columns), frobenius)
    return np.asarray(found * SLACK + _MORE)[:, None]


def _usable(vectors: np.ndarray, stored: Bounds) -> np.ndarray:
    """Return bounds of vectors; infinite where the sine of the angle may be 1."""
    return np.where(stored.sines < 1.0, vectors * SLACK, np.inf)


def _scaled(found: np.ndarray, powers: np.ndarray) -> np.ndarray:
    return np.ldexp(found + _MORE, powers) * SLACK + _LEAST


@np.errstate(all="ignore")
def of_singular(given: Held, again: Any) -> Proven:
    """Return what is proven of singular values and their vectors.

    ``again(a, limbs)`` decomposes matrices ``(batch, m, n)``, m >= n, in so many limbs.
    """
    kind, field = given.kind, given.kind.is_complex
    a, e = host_block(given.matrices[0]), _entry_errors(given, 0)
    u, v = (host_block(x) for x in given.vectors)
    if a.shape[-2] < a.shape[-1]:
        a, e, u, v = planes.adjoint(a, kind.is_complex), e.swapaxes(-1, -2), v, u
    backend = for_block(a)
    a, top = _near_one(backend, a, field)
    e = scaling.scaled_bound(e, -top[:, None, None], LOST)
    s = planes.widen(backend.ldexp(host_block(given.values), -top[:, None]), False, kind.limbs)
    found = singular.sides(backend, Triples(a, u, s, v), kind)
    stored = singular.of_values(backend, s, found, kind)
    of_u, of_v = (pencil.known(x, kind).sizes for x in (u, v))
    # Both signs of (u, v) and (u, -v): the four parts of what errors of A make of the remainders.
    moved = of_u.swapaxes(-1, -2) @ e @ of_v
    moved = (moved + moved.swapaxes(-1, -2)) * (SLACK / 2)
    more = Remainders(found.both.z + np.tile(moved, (1, 2, 2)) + _MORE, found.both.g)
    outside = found.outside + np.where(found.outside > 0, _norm(e)[:, 0], 0.0)
    within = singular.of_values(backend, s, found._replace(both=more, outside=outside), kind)

    def in_more(chosen: np.ndarray, limbs: int) -> tuple[Block, np.ndarray]:
        more = Kind(limbs, field)
        triples = again(a[..., chosen, :, :], limbs)
        rest = singular.sides(backend, triples, more)
        return triples.s, singular.of_values(backend, triples.s, rest, more).values

    values = _sharper(backend, s, stored.values, kind.limbs, in_more)
    data = np.minimum(within.values, values + _norm(e))
    vectors = 2 * stored.sines + 1.5 * stored.lengths + given.rounding
    sizes, back = s[0], top[:, None]
    of_a = of_u.swapaxes(-1, -2) @ native_abs(a, field) @ of_v
    own = np.diagonal(of_a, axis1=-2, axis2=-1)
    own = np.where(sizes > 0, own / sizes, np.inf)
    zero = _zero(a, field)
    values = np.where(zero, 0.0, _scaled(values, back))
    data = np.where(zero & (_norm(e) <= _MORE), 0.0, _scaled(data, back))
    return Proven(values, _usable(vectors, stored), data, own)


# Values and bounds, blocks and float64 ``(batch, n)``, of chosen matrices in so many limbs.
Again = Callable[[np.ndarray, int], tuple[Block, np.ndarray]]


@np.errstate(all="ignore")
def _sharper(
    backend: Backend, values: Block, bounds: np.ndarray, limbs: int, again: Again
) -> np.ndarray:
    """Return the smaller bounds that more limbs show, where they are loose.

    Values may be far more accurate than vectors show whose errors are those of the largest value.
    """
    eps, sizes = precision_for(limbs).eps, abs(values[0])
    loose = (bounds > _LOOSE * eps * sizes) & (sizes > 0)
    chosen = np.flatnonzero(loose.any(axis=-1))
    if not chosen.size or limbs == PRECISIONS[-1].limbs:
        return bounds
    ratio = (sizes / sizes.max(axis=-1, keepdims=True))[loose]
    enough = float(ratio.min()) * eps
    limbs = precision_with(enough, least=limbs + 1).limbs
    try:
        found, proven = again(chosen, limbs)
    except np.linalg.LinAlgError:
        return bounds
    few, kind = planes.widen(values[:, chosen], False, limbs), Kind(limbs, False)
    off = abs(backend.binary("subtract", found, few, kind=kind)[0])
    bounds = bounds.copy()
    bounds[chosen] = np.minimum(bounds[chosen], (off + proven) * SLACK)
    return bounds
