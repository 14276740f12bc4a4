"""The first pass: R of each chunk, and R of R by a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import device_of, place
from mdqr._limbs.planes import Block, namespace
from mdqr._progress import Reporter
from mdqr.distributed._checkpoint import Kept
from mdqr.distributed._engines import Engine, folded
from mdqr.distributed._rows import (
    Chunk,
    ChunkError,
    Form,
    Rows,
    Source,
    chunk_of,
    named,
    numbered,
)
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._update.arithmetic.blocks import Planes
from mdqr.linalg._update.arithmetic.matrices import Constants, constants, joined
from mdqr.linalg._update.fit import Fit, start
from mdqr.linalg._update.lstsq import UpdatableLstsq
from mdqr.linalg._update.operands import Numbers
from mdqr.linalg._update.problems import merge as merges


class Node(NamedTuple):
    """R and ``Q^H b`` of some chunks: how many rows each has, and a sum to compare."""

    problem: UpdatableLstsq
    counts: tuple[int, ...]
    check: int
    depth: int
    method: str = "tsqr"


class Fault(NamedTuple):
    """The first chunk that could not be used, and the exception for the caller."""

    place: int
    error: Exception


def raised(found: Any) -> Any:
    """Return a result, or raise what its first faulty chunk raised."""
    if isinstance(found, Fault):
        raise found.error
    return found


def finished(engine: Engine, function: str, source: Source, task: Any) -> Any:
    """Return the result of a task over all chunks, or raise what its first faulty chunk raised.

    Raises
    ------
    Exception
        Of a chunk that Dask could not make, too: it is looked for, and named.
    """
    try:
        found = engine.result(task)
    except Exception as error:
        if not source.delayed or type(error.__cause__).__name__ == "KilledWorker":
            raise
        raise _located(engine, function, source, error) from error
    return raised(found)


def _located(engine: Engine, function: str, source: Source, error: Exception) -> Exception:
    """Return an exception that names the first chunk that cannot be made, else `error`."""
    for index, item in enumerate(source.items):
        try:
            engine.result(engine.submit("mdqr-made", _made, handle_of(item)))
        except Exception as found:
            return named(function, index, found)
    return error


def _made(item: Any) -> None:
    """Take a chunk that Dask has made."""


def handle_of(item: Any) -> Any:
    """Return a chunk as an argument: Dask sees delayed objects in lists."""
    is_parts = isinstance(item, tuple) and item and not isinstance(item[0], Rows)
    return list(item) if is_parts else item


def first_fault(parts: list[Any]) -> Fault | None:
    """Return the fault of the first chunk among results."""
    faults = [part for part in parts if isinstance(part, Fault)]
    return min(faults, key=lambda fault: fault.place) if faults else None


def loaded(
    function: str, index: int, item: Any, form: Form, *, sides: bool, known: bool = False
) -> Chunk | Fault:
    """Return a chunk, or its fault; `known` as in `chunk_of`."""
    try:
        return chunk_of(function, index, item, form, sides=sides, known=known)
    except ChunkError as error:
        return Fault(error.index, error.made)


# Words of a chunk's check are the digits of a number in this base.
_ODD = 0x9E3779B97F4A7C15


def check_of(chunk: Chunk, form: Form) -> int:
    """Return a number that other rows or weights would hardly have: the same for the same chunk.

    It is 0 for chunks that do not change, else a sum of all bits, each word times an odd number of
    its place, modulo ``2**64``.
    """
    if not form.changes:
        return 0
    blocks = [chunk.a, chunk.b] if chunk.weights is None else [chunk.a, chunk.b, chunk.weights]
    heads = [(block, np.ndindex(block.shape[:-2])) for block in blocks]
    sums = fetch(*(_sum_of_bits(block[at]) for block, places in heads for at in places))
    found = 0
    for word in sums:
        found = _ODD * found + int(word)
    return (2 * chunk.place + 1) * found % 2**64


def _sum_of_bits(plane: Block) -> Block:
    xp = namespace(plane)
    words = xp.ascontiguousarray(plane).reshape(-1).view(np.int64)
    words = words ^ (words >> 31)  # signs alone would cancel in pairs
    return (words * xp.arange(1, 2 * words.size, 2, dtype=np.int64)).sum()


def leaf(function: str, chunk: Chunk, form: Form, sides: bool) -> Node | Fault:
    """Return R of one chunk."""
    backend = for_block(chunk.a)
    engine = Planes(backend, form.kind)
    inputs = Inputs(form.precision, form.work, form.is_complex, [])
    a, b = chunk.a, chunk.b
    if chunk.weights is not None:
        a, b = weighted(engine, chunk, form)
    data = joined(engine, [a, b], -1)
    try:
        if sides or isinstance(a, np.ndarray):
            fit = start(engine, data, form.n, keep_q=False, keep_data=False)
        else:
            # A GPU is faster by products.
            r = qr(inputs.wrap(a), "r", precision=form.work)
            fit = fit_of(engine, r._block, a.shape[-2], ())
    except np.linalg.LinAlgError as error:
        return Fault(chunk.place, named(function, chunk.place, error))
    fit.constants = constants(engine, chunk.a)
    if chunk.weights is not None:
        # The root, and products with it, have moved each entry by few eps: less than one change.
        fit.changes, fit.steps = fit.changes + 1, fit.steps + 1
    numbers = Numbers(engine, inputs, engine.zeros(data, 0, 0))
    problem = UpdatableLstsq._of(numbers, fit, is_vector=form.is_vector)
    return Node(problem, (int(chunk.a.shape[-2]),), check_of(chunk, form), 0)


def fit_of(engine: Planes, r: Block, m: int, sides: Sequence[int]) -> Fit:
    """Return a fit of m rows by their R, with zeros for ``Q^H b``, whose exponents are `sides`."""
    xp, k, field = engine.backend.xp, len(sides), engine.kind.is_complex
    bits = scaling.largest(scaling.magnitude_bits(r, field), -2, 0)
    peak = xp.concatenate([scaling.exponents_or_absent(bits), xp.asarray(sides, dtype=np.int64)])
    r = planes.widen(r, field, engine.kind.limbs)
    r = joined(engine, [r, xp.zeros((*r.shape[:-1], k))], -1)
    squares, beta = xp.zeros((engine.kind.limbs, k)), xp.full(k, scaling.ABSENT, dtype=np.int64)
    n, cut = int(r.shape[-1]) - k, xp.asarray(False)
    return Fit(engine, r, None, None, squares, beta, m, n, False, cut, 0.0, 1, 1, peak)


def _beside(fit: Fit, first: Fit) -> Fit:
    """Return a fit in the memory of the first."""
    home, known = device_of(first.r), fit.constants
    if device_of(fit.r) == home:
        return fit
    names = "r", "squares", "beta", "cut", "peak"
    blocks = {name: place(getattr(fit, name), home) for name in names}
    if known is not None:
        known = Constants(place(known.first, home), place(known.same, home))
    return replace(fit, **blocks, constants=known)


def split_weights(weights: Block) -> tuple[Block, Block]:
    """Return exponents p and numbers in [1/4, 1): weights are ``4**p`` times them, exactly."""
    backend = for_block(weights)
    exponents = scaling.exponents_of(scaling.magnitude_bits(weights, False))
    powers = (exponents + 1) // 2
    return powers, backend.ldexp(weights, -2 * powers)


def weighted(engine: Planes, chunk: Chunk, form: Form) -> tuple[Block, Block]:
    """Return rows times the roots of their weights, rounded."""
    backend, field = engine.backend, form.is_complex
    powers, near = split_weights(chunk.weights)
    root = backend.unary("sqrt", near, kind=form.kind.real)
    root = (planes.complexify(root) if field else root)[..., None]
    products = [backend.binary("multiply", root, x, kind=form.kind) for x in (chunk.a, chunk.b)]
    found = [backend.ldexp(x, powers[:, None], is_complex=field) for x in products]
    return found[0], found[1]


def merged(parts: list[Node | Fault]) -> Node | Fault | None:
    """Return R of the rows of all parts, in their order; None for no parts."""
    fault = first_fault(parts)
    nodes = [part for part in parts if isinstance(part, Node)]
    if fault is not None or not nodes:
        return fault
    first = nodes[0].problem
    fits = [node.problem._fit for node in nodes]
    fit = merges.stacked([_beside(fit, fits[0]) for fit in fits])
    problem = UpdatableLstsq._of(first._numbers, fit, is_vector=first._vector)
    counts = tuple(count for node in nodes for count in node.counts)
    depth = 1 + max(node.depth for node in nodes)
    return Node(problem, counts, reduce(add, [node.check for node in nodes]), depth)


class _Whole:
    """A function of a chunk whose exceptions become faults, which name the chunk."""

    def __init__(self, function: str, call: Any) -> None:
        self.function, self.call = function, call

    def __call__(self, index: int, item: Any, *arguments: Any) -> Any:
        """Return the result, or the fault."""
        try:
            return self.call(index, item, *arguments)
        except Exception as error:
            return Fault(index, named(self.function, index, error))


def tasks(
    engine: Engine,
    function: str,
    name: str,
    call: Any,
    source: Source,
    *arguments: Any,
    checkpoint: str | None = None,
) -> Iterator[Any]:
    """Submit ``call(index, item, *arguments)`` for every chunk."""
    call = _Whole(function, call if checkpoint is None else Kept(checkpoint, name, call))
    try:
        for index, item in numbered(function, source.items):
            yield engine.submit(
                f"mdqr-{name}-{index}", call, index, handle_of(item), *arguments, place=index
            )
    except ChunkError as error:
        yield Fault(error.index, error.made)


class Leaf:
    """`leaf` with the arguments that all chunks share."""

    kind = Node

    def __init__(self, function: str, form: Form, sides: bool) -> None:
        self.function, self.form, self.sides = function, form, sides

    def __call__(self, index: int, item: Any) -> Node | Fault:
        """Return R of one chunk."""
        return self.again(None, index, item)

    def again(self, found: Node | None, index: int, item: Any) -> Node | Fault:
        """Return R of one chunk: the one that was found before if the rows are the same."""
        chunk = loaded(self.function, index, item, self.form, sides=self.sides)
        if isinstance(chunk, Fault):
            return chunk
        if found is not None and found.check == check_of(chunk, self.form):
            return found
        return leaf(self.function, chunk, self.form, self.sides)


def tree(
    function: str,
    engine: Engine,
    source: Source,
    form: Form,
    fan_in: int,
    *,
    sides: bool = True,
    report: Reporter | None = None,
    checkpoint: str | None = None,
) -> Node:
    """Return R of all rows.

    Raises
    ------
    numpy.linalg.LinAlgError, ValueError, TypeError
        The exception of the first unusable chunk.
    """
    call = Leaf(function, form, sides)
    made = tasks(engine, function, "factor", call, source, checkpoint=checkpoint)
    found = folded(engine, "factor", made, merged, fan_in, report=report, count=source.length)
    node: Node = finished(engine, function, source, found)
    return node
