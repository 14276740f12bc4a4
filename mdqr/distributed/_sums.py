"""A further pass: what each chunk adds to a few sums, given R and x."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block, place_on_device_of
from mdqr._limbs.planes import Block, Kind
from mdqr.distributed._rows import Chunk, Form
from mdqr.distributed._tree import Fault, check_of, first_fault, loaded, split_weights
from mdqr.linalg._shared import pairs
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.pairs import Pair

# Of scaled problems, near 1: far below all errors that are counted, far above what underflows.
FLOOR = 2.0**-1000


class Errors(NamedTuple):
    """Bounds of the errors of entries: ``atol + rtol abs(a)``, of a a number for each column."""

    a_atol: np.ndarray
    a_rtol: np.ndarray
    b_atol: np.ndarray
    b_rtol: np.ndarray


class Point(NamedTuple):
    """The input of a pass: x as a pair (its low part is None for zeros), ``R^-1 V``, and powers.

    Columns of a are multiplied by ``2**-powers``, columns of b by ``2**-unit``; x and R belong to
    that.
    """

    x: Pair
    probes: Block
    powers: Block
    unit: Block
    errors: Errors


class Moduli(NamedTuple):
    """Sums of moduli over rows, float64, with weights W where these are given; ``r = b - A x``.

    2-norms of `terms` ``abs(b) + abs(A) abs(x)``, and `size` ``abs(A)^T W abs(r)``; the same with
    errors of the data dA, db: norms of `moved` ``dA abs(x) + db`` and of the `columns` of dA, and
    `turned` ``dA^T W abs(r)``. Sums of squares of errors would underflow.
    """

    terms: np.ndarray
    size: np.ndarray
    moved: np.ndarray
    columns: np.ndarray
    turned: np.ndarray

    def joined(self, other: Moduli) -> Moduli:
        """Return the sums over the rows of both."""
        return Moduli(
            np.hypot(self.terms, other.terms),
            self.size + other.size,
            np.hypot(self.moved, other.moved),
            np.hypot(self.columns, other.columns),
            self.turned + other.turned,
        )


class Sums(NamedTuple):
    """Sums over rows, with weights W where these are given, of ``r = b - A x``.

    `gradient` is ``A^H W r``, `image` is ``A^H W A`` times the probes, if any, `squares` are the
    sums of squares of r and their exponents. `longest` is the number of rows of the largest chunk,
    `parts` counts chunks.
    """

    gradient: Pair
    image: Block
    squares: tuple[Block, Block]
    moduli: Moduli
    rows: int
    longest: int
    parts: int
    check: int


class ChunkSums:
    """The sums of a chunk, with the arguments that all chunks share."""

    kind = Sums

    def __init__(self, function: str, form: Form) -> None:
        self.function, self.form = function, form

    def __call__(self, index: int, item: Any, at: Point) -> Sums | Fault:
        """Return the sums of one chunk."""
        chunk = loaded(self.function, index, item, self.form, sides=True, known=True)
        return chunk if isinstance(chunk, Fault) else sums_of(chunk, at, self.form)

    def again(self, found: Sums, index: int, item: Any, at: Point) -> Sums:
        """Return sums that were found before: those of other rows have another `check`."""
        return found


def _there(block: Block, like: Block) -> Block:
    return place_on_device_of(block, like) if isinstance(block, np.ndarray) else block


@np.errstate(all="ignore")
def sums_of(chunk: Chunk, at: Point, form: Form) -> Sums:
    """Return the sums of the rows of a chunk."""
    backend, kind, field = for_block(chunk.a), form.kind, form.is_complex
    x, probes, powers, unit = (
        Pair(*(_there(part, chunk.a) for part in at.x)),
        *(_there(block, chunk.a) for block in (at.probes, at.powers, at.unit)),
    )
    shift, weight = 0, None
    if chunk.weights is not None:
        shift, weight = split_weights(chunk.weights)
        shift = shift[:, None]
    a = backend.ldexp(chunk.a, shift - powers[None, :], is_complex=field)
    b = backend.ldexp(chunk.b, shift - unit[None, :], is_complex=field)
    r = pairs.less_product(backend, kind, b, a, x)
    wide = r
    if weight is not None:
        wide = pairs.times_rows(backend, kind, weight, r)
    gradient = pairs.negated(pairs.less_product(backend, kind, None, a, wide, adjoint=True), kind)
    image = probes
    if probes.shape[-1]:
        image = backend.matmul(a, probes, kind=kind)
        if weight is not None:
            factor = (planes.complexify(weight) if field else weight)[..., None]
            image = backend.binary("multiply", factor, image, kind=kind)
        image = backend.matmul(a.swapaxes(-1, -2), image, conj_a=field, kind=kind)
    near = None if weight is None else weight[0]
    moduli = _moduli(chunk, at, a, r.high, b, near, (powers, unit, shift), field)
    return Sums(
        Pair(*map(host_block, gradient)),
        host_block(image),
        _squares(backend, kind, r.high, wide.high),
        moduli,
        rows=int(a.shape[-2]),
        longest=int(a.shape[-2]),
        parts=1,
        check=check_of(chunk, form),
    )


def _squares(backend: Backend, kind: Kind, r: Block, weighted: Block) -> tuple[Block, Block]:
    """Return the real parts of the column sums of ``conj(r) weighted``, and exponents.

    They are in units of ``4**exponents``.
    """
    field, real = kind.is_complex, kind.real
    exponents = scaling.column_exponents(r, field)
    left, right = (
        backend.ldexp(x, -exponents[None, :], is_complex=field).swapaxes(-1, -2)
        for x in (r, weighted)
    )
    if field:
        left, right = (backend.xp.concatenate([x[0], x[1]], axis=-1) for x in (left, right))
    products = backend.binary("multiply", left, right, kind=real)
    found = _summed(backend, products, real)
    return host_block(found), host_block(exponents)


def _summed(backend: Backend, x: Block, kind: Kind) -> Block:
    """Return sums along the last axis, in two steps of short sums that a device forms at once."""
    width = max(1, math.isqrt(x.shape[-1]))
    whole = x.shape[-1] // width * width
    parts = x[..., :whole].reshape(*x.shape[:-1], whole // width, width)
    sums = backend.reduce("sum", parts, kind=kind)
    return backend.reduce("sum", backend.xp.concatenate([sums, x[..., whole:]], axis=-1), kind=kind)


def _moduli(
    chunk: Chunk,
    at: Point,
    a: Block,
    r: Block,
    b: Block,
    weight: Block | None,
    shifts: tuple[Block, Block, Block],
    field: bool,
) -> Moduli:
    """Return the sums of moduli, and those that errors of the data make."""
    powers, unit, shift = shifts
    xp = planes.namespace(r)
    a_size, b_size, r_size = (native_abs(x, field) for x in (a, b, r))
    x_size = xp.asarray(native_abs(at.x.high, field))
    w = xp.ones((a_size.shape[0], 1)) if weight is None else weight[:, None]
    e = Errors(*map(xp.asarray, at.errors))
    db = xp.ldexp(e.b_atol, shift - unit[None, :]) + e.b_rtol * b_size
    root, weighted, k = xp.sqrt(w), w * r_size, x_size.shape[-1]
    size, relative = a_size.T @ weighted, e.a_rtol[:, None]
    if at.errors.a_atol.any():
        # Absolute errors in the units of the scaled problem.
        da = xp.ldexp(e.a_atol, shift - powers[None, :]) + e.a_rtol * a_size
        ax, moved, turned = a_size @ x_size, da @ x_size, da.T @ weighted
        columns = scaling.norms(root * da, 0)
    else:
        # Multiples of the moduli of a, which fill no other memory.
        both = a_size @ xp.concatenate([x_size, relative * x_size], axis=-1)
        ax, moved, turned = both[:, :k], both[:, k:], relative * size
        columns = e.a_rtol * scaling.norms(a_size if weight is None else root * a_size, 0)
    lost = FLOOR if any(bound.any() for bound in at.errors) else 0.0
    terms, moved = (scaling.norms(root * x, 0) for x in (b_size + ax, moved + db + lost))
    return Moduli(*fetch(terms, size, moved, columns, turned))


class AddSums:
    """Adds the sums of some chunks."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __call__(self, parts: list[Sums | Fault]) -> Sums | Fault:
        """Return the sums of all parts, in their order."""
        fault = first_fault(parts)
        if fault is not None:
            return fault
        found = [part for part in parts if isinstance(part, Sums)]
        total = found[0]
        for other in found[1:]:
            total = self._added(total, other)
        return total

    def _added(self, x: Sums, y: Sums) -> Sums:
        backend, kind = for_block(x.image), self.kind
        return Sums(
            pairs.joined(backend, kind, *x.gradient, *y.gradient),
            backend.binary("add", x.image, y.image, kind=kind) if x.image.size else x.image,
            joined_squares(backend, kind, x.squares, y.squares),
            x.moduli.joined(y.moduli),
            rows=x.rows + y.rows,
            longest=max(x.longest, y.longest),
            parts=x.parts + y.parts,
            check=x.check + y.check,
        )


def joined_squares(
    backend: Backend, kind: Kind, x: tuple[Block, Block], y: tuple[Block, Block]
) -> tuple[Block, Block]:
    """Return the sum of squares in units of their powers of four."""
    (first, p), (second, q) = x, y
    some = [np.asarray(s[0]) > 0 for s in (first, second)]
    top = np.maximum(np.where(some[0], p, scaling.ABSENT), np.where(some[1], q, scaling.ABSENT))
    top = np.where(some[0] | some[1], top, 0)
    terms = [
        backend.ldexp(s, np.maximum(2 * (e - top), -5000)) for s, e in ((first, p), (second, q))
    ]
    return backend.binary("add", *terms, kind=kind.real), top
