"""R by products: the Cholesky factor of an exact Gram matrix, summed over chunks as residues.

A first pass finds the powers of two of the columns, a second the sums of residues. Their limbs do
not depend on the chunks. R has at most four limbs: passes over the rows
find x to all digits from any R, see `_refinement`.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import device_of, host_block, place
from mdqr._limbs.planes import Block, Kind
from mdqr.distributed._engines import folded
from mdqr.distributed._job import Job
from mdqr.distributed._refinement import Problem
from mdqr.distributed._rows import Form
from mdqr.distributed._tree import (
    Fault,
    Node,
    check_of,
    finished,
    first_fault,
    fit_of,
    loaded,
    tasks,
    weighted,
)
from mdqr.linalg._factor.refine import gram
from mdqr.linalg._products.exact import sums as exact
from mdqr.linalg._products.exact.sums import Extent, Sums
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs, precision_for
from mdqr.linalg._update.arithmetic.blocks import Planes
from mdqr.linalg._update.arithmetic.matrices import Constants, constants
from mdqr.linalg._update.fit import triangle as triangle_of
from mdqr.linalg._update.lstsq import UpdatableLstsq
from mdqr.linalg._update.operands import Numbers

# R in twice the limbs is the most that there is.
_MOST_LIMBS = 4


class Seen(NamedTuple):
    """Results of the first pass: the extents of a and of b, and the constant columns of a."""

    extent: Extent
    sides: Extent | None
    constants: Constants | None
    counts: tuple[int, ...]
    check: int
    weighted: bool


class _Step:
    """A function of each chunk, with the arguments that all share."""

    def __init__(self, function: str, form: Form, sides: bool) -> None:
        self.function, self.form, self.sides = function, form, sides

    def rows_of(self, index: int, item: Any, *, known: bool) -> tuple[Any, Block, Block] | Fault:
        """Return a chunk, and its a and b times the roots of the weights."""
        chunk = loaded(self.function, index, item, self.form, sides=self.sides, known=known)
        if isinstance(chunk, Fault):
            return chunk
        a, b = chunk.a, chunk.b
        if chunk.weights is not None:
            a, b = weighted(Planes(for_block(a), self.form.kind), chunk, self.form)
        return chunk, planes.first_limbs(a, self.form.is_complex, _limbs(self.form)), b


class Look(_Step):
    """The first pass."""

    def __call__(self, index: int, item: Any) -> Seen | Fault:
        """Return the summary of one chunk."""
        found = self.rows_of(index, item, known=False)
        if isinstance(found, Fault):
            return found
        chunk, a, b = found
        backend, field = for_block(a), self.form.is_complex
        return Seen(
            exact.extent_of(backend, a, field),
            exact.extent_of(backend, b, field) if self.sides else None,
            constants(Planes(backend, self.form.kind), chunk.a) if self.sides else None,
            (int(a.shape[-2]),),
            check_of(chunk, self.form),
            chunk.weights is not None,
        )


class Products(_Step):
    """The second pass."""

    def __call__(
        self, index: int, item: Any, extents: tuple[Extent, Extent | None]
    ) -> Sums | Fault:
        """Return the sums of residues of one chunk."""
        found = self.rows_of(index, item, known=True)
        if isinstance(found, Fault):
            return found
        _, a, b = found
        integers = exact.plan_of(*extents, gram.wide_kind(_kind(self.form)))
        sides, field = b if self.sides else None, self.form.is_complex
        return exact.sums_of(for_block(a), a, sides, extents, integers, is_complex=field)


def merged(parts: list[Seen | Fault]) -> Seen | Fault:
    """Return the summary of all chunks."""
    fault = first_fault(parts)
    if fault is not None:
        return fault
    found = [part for part in parts if isinstance(part, Seen)]
    known = [part.constants for part in found if part.constants is not None]
    same = None
    if known:
        first = known[0]
        flags = first.same
        for other in known[1:]:
            x = place(other.first, device_of(first.first)) == first.first
            equal = x.all(axis=tuple(range(x.ndim - 1)))
            flags = flags & equal & place(other.same, device_of(first.first))
        same = Constants(first.first, flags)
    sides = [part.sides for part in found if part.sides is not None]
    return Seen(
        reduce(Extent.joined, [part.extent for part in found]),
        reduce(Extent.joined, sides) if sides else None,
        same,
        tuple(count for part in found for count in part.counts),
        reduce(add, [part.check for part in found]),
        any(part.weighted for part in found),
    )


class AddProducts:
    """Adds sums of residues."""

    def __init__(self, extents: tuple[Extent, Extent | None], kind: Kind) -> None:
        self.extents, self.kind = extents, kind

    def __call__(self, parts: list[Sums | Fault]) -> Sums | Fault:
        """Return the sums of all parts, on the device of the first."""
        fault = first_fault(parts)
        if fault is not None:
            return fault
        found = [part for part in parts if isinstance(part, Sums)]
        home = device_of(found[0].gram)
        blocks = [Sums(*(x if x is None else place(x, home) for x in part)) for part in found]
        return exact.added(blocks, self.extents[0], exact.plan_of(*self.extents, self.kind))

    def across(self, ranks: Any, part: Sums | Fault) -> Sums | Fault:
        """Return the sums of all ranks."""
        fault = first_fault(ranks.gathered(part if isinstance(part, Fault) else None))
        if fault is not None:
            return fault
        for block in part:
            if block is not None:
                ranks.comm.all_reduce(block)
        return part


class Triangle(NamedTuple):
    """The first pass, and of columns near 1 R ``(n, n)``, a bound of S, and ``A^H B``.

    See `alpha_of`.
    """

    seen: Seen
    r: Block
    left: float
    sides: Block | None


def triangle(job: Job, *, sides: bool) -> Triangle | None:
    """Return R; None where the condition is beyond products."""
    form, count = job.form, job.source.length
    if sides is False and form.work.limbs > _MOST_LIMBS:
        return None
    step = Look(job.function, form, sides)
    made = tasks(job.engine, job.function, "extents", step, job.source)
    found = folded(
        job.engine, "extents", made, merged, job.fan_in, report=job.report, count=count
    )  # fmt: skip
    seen: Seen = finished(job.engine, job.function, job.source, found)
    if sum(seen.counts) < form.n:
        advice = "; rcond= finds the shortest one" if sides else ""
        raise np.linalg.LinAlgError(
            f"{job.function}: {sum(seen.counts)} rows in all, and {form.n} columns: no unique "
            f"solution exists{advice}"
        )
    call, wide = Products(job.function, form, sides), gram.wide_kind(_kind(form))
    extents = seen.extent, seen.sides
    shared = job.engine.shared(extents)
    made = tasks(job.engine, job.function, "products", call, job.source, shared)
    join = AddProducts(extents, wide)
    found = folded(
        job.engine, "products", made, join, job.fan_in, report=job.report, count=count
    )  # fmt: skip
    sums: Sums = finished(job.engine, job.function, job.source, found)
    backend, integers, n = for_block(sums.gram), exact.plan_of(*extents, wide), form.n
    g = exact.product_of(backend, sums.gram, integers, (n, n), wide)
    known = gram.factor_of(backend, g, kind=_kind(form))
    if known is None:
        return None
    c = None
    if sums.sides is not None:
        c = exact.product_of(backend, sums.sides, integers, (n, form.right), wide)
    return Triangle(seen, known.r, known.left, c)


def node_of(job: Job) -> tuple[Node, Triangle] | None:
    """Return R of all rows, with ``R^-H A^H b`` for ``Q^H b``."""
    found = triangle(job, sides=True)
    if found is None or found.sides is None or found.seen.sides is None:
        return None
    form, seen, sides = job.form, found.seen, found.seen.sides
    engine, field = Planes(for_block(found.r), form.kind), form.is_complex
    backend, xp, m = engine.backend, engine.backend.xp, sum(seen.counts)
    near = fit_of(engine, found.r, m, sides.exponents.tolist())
    solver, _, own = triangle_of(near, job.function, Checks())
    c = planes.first_limbs(found.sides, field, form.work.limbs)
    c = planes.widen(c, field, form.work.limbs)
    y = solver.solve(backend.ldexp(c, -own[:, None], is_complex=field), "C")
    fit = fit_of(engine, scaled(backend, found, field), m, sides.exponents.tolist())
    powers = xp.asarray(sides.powers)
    fit.r[..., : form.n, form.n :] = backend.ldexp(y, powers[None, :], is_complex=field)
    fit.constants = seen.constants
    inputs = Inputs(form.precision, form.work, form.is_complex, [])
    numbers = Numbers(engine, inputs, engine.zeros(fit.r, 0, 0))
    problem = UpdatableLstsq._of(numbers, fit, is_vector=form.is_vector)
    return Node(problem, seen.counts, seen.check, 0, "products"), found


def scaled(backend: Backend, found: Triangle, is_complex: bool) -> Block:
    """Return R of the columns as they are."""
    powers = backend.xp.asarray(found.seen.extent.powers)
    return backend.ldexp(found.r, powers[None, :], is_complex=is_complex)


@np.errstate(all="ignore")
def alpha_of(problem: Problem, found: Triangle, form: Form) -> float:
    """Bound ``norm(R^-H A^H W A R^-1 - I)`` for R by products; infinite where nothing is proven.

    R in twice the limbs has S at most `left`; its rounding makes it ``(I + M)`` times that,
    ``norm(M) <= eps abs(R) abs(R^-1)``. It belongs to A with errors E: limbs beyond the first four,
    roots of weights and products with them, and underflow in these.
    """
    m, limbs, eps = sum(found.seen.counts), _limbs(form), precision_for(_limbs(form)).eps
    mu = eps * float(scaling.norms(problem.r_columns, -1)) * problem.inverse_size
    near = (found.left + 2.0 * mu) / (1.0 - mu) ** 2
    if not (mu < 0.25 and near < 0.5):
        return float("inf")
    relative = (eps if form.work.limbs > limbs else 0.0) + 8.0 * form.work.eps * found.seen.weighted
    powers = host_block(problem.solved.powers)
    # Of R in the units of the columns, too.
    roundings = found.seen.weighted * m**0.5 + form.n**0.5
    under = form.work.limbs * roundings * np.ldexp(1.0, -1072 - powers)
    columns = relative * 2.0 * problem.r_columns + under
    eta = float((columns * problem.rows).sum())
    return float((near + 2.0 * (1.0 + near) * eta + eta**2) * (1.0 + 2.0**-20))


def _limbs(form: Form) -> int:
    return min(form.work.limbs, _MOST_LIMBS)


def _kind(form: Form) -> Kind:
    """Return the kind of R."""
    return Kind(_limbs(form), form.is_complex)
