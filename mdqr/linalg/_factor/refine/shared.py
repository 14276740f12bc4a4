"""Cholesky factors of one matrix on several devices, each of which has some block columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mdqr._backend.places import Place, finished, place_of, places_of
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, diagonal
from mdqr.linalg._factor.refine import blocks
from mdqr.linalg._factor.refine import cholesky as refine
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch, raise_nonfinite
from mdqr.linalg._shared.devices import checked_alike
from mdqr.linalg._shared.operands import Inputs


def factor(
    function: str,
    inputs: Inputs,
    devices: Sequence[str],
    *,
    upper: bool,
    by_rows: Callable[[Backend, Block, int], Block],
) -> Block:
    """Return the factor of one matrix on the device that has it; see `cholesky`.

    `by_rows` factors blocks on the diagonal that sweeps do not, of order k with errors within
    ``(1.5 k + 160) eps``.
    """
    names = checked_alike(function, devices)
    block, kind, shape = inputs.blocks[0], inputs.kind, inputs.shape(0)
    if len(shape) > 2 or kind.limbs == 1 or shape[-1] > MOST_TERMS:
        raise ValueError(
            f"{function}: devices= is for one matrix of more than float64, of an order of at most "
            f"{MOST_TERMS}; got shape {shape} in {inputs.work.name}"
        )
    places = places_of(names)
    spread = _Spread(inputs, upper, places)
    sweeps = spread.task.find_head

    def find(backend: Backend, a: Block, first: int) -> Block:
        c = sweeps(backend, a, first)
        return by_rows(backend, a, first) if c is None else c

    with finished(spread.home, *places):
        columns = spread.columns(function)
        found = blocks.factor(spread.task._replace(find_head=find), places, columns)
        if found is not None:
            return spread.joined(found) if block.size else block
    raise np.linalg.LinAlgError(
        f"{function}: the matrix is too near to singular, or has too many zeros, for blocks of "
        "several devices: leave devices= out"
    )


class _Spread:
    """The columns of a matrix on their places, scaled to a diagonal near 1."""

    def __init__(self, inputs: Inputs, upper: bool, places: Sequence[Place]) -> None:
        block, kind, n = inputs.blocks[0], inputs.kind, inputs.shape(0)[-1]
        self._block, self._kind, self._upper, self._places = block, kind, upper, places
        self.home = place_of(block)
        width = tuning.cholesky_block(places[0].backend, n, kind=kind, shared=True)
        self.task = refine.task_of(kind, n, width)
        sizes = abs(diagonal(block[0] if kind.is_complex else block)[0])
        exponents = scaling.exponents_of(sizes.view(np.int64))
        (self._roots,) = (-(x >> 1) for x in fetch(exponents))

    def _numbers(self, place: int) -> list[tuple[slice, slice]]:
        """Return the columns of the blocks of a place, in the matrix and among its own."""
        mine, found, start = self.task.blocks[place :: len(self._places)], [], 0
        for part in mine:
            stop = start + part.stop - part.start
            found.append((part, slice(start, stop)))
            start = stop
        return found

    def columns(self, function: str) -> list[Block]:
        """Return the upper triangle; raises LinAlgError for entries that are not finite."""
        found, finite = [], []
        for i, place in enumerate(self._places):
            parts = self._numbers(i)
            with place.here():
                size = (self.task.order, parts[-1][1].stop if parts else 0)
                limbs = planes.limb_count(self._block, self._kind.is_complex)
                held = self._kind._replace(limbs=limbs).zeros(place.backend.xp, size)
            for part, own in parts:
                given = place.take(self._part(part), self.home)
                with place.here():
                    near, is_finite = self._near(place.backend, given, part)
                    held[..., : part.stop, own] = near
                    finite.append((place, is_finite))
            found.append(held)
        for place, is_finite in finite:
            with place.here():
                (good,) = fetch(is_finite)
            if not good:
                xp = planes.namespace(self._block)
                read = (xp.triu if self._upper else xp.tril)(self._block)
                raise_nonfinite(function, "a", read, self._kind.is_complex)
        return found

    def _part(self, part: slice) -> Block:
        """Return columns of the upper triangle, to their last row."""
        if self._upper:
            return self._block[..., : part.stop, part]
        return planes.adjoint(self._block[..., part, : part.stop], self._kind.is_complex)

    def _near(self, backend: Backend, given: Block, part: slice) -> tuple[Block, Block]:
        """Return columns scaled, and whether they are finite."""
        xp, field = backend.xp, self._kind.is_complex
        given = xp.triu(given, -part.start)
        roots = xp.asarray(self._roots)
        powers = roots[: part.stop, None] + roots[part]
        return backend.ldexp(given, powers, is_complex=field), scaling.finite(given, field)

    def joined(self, found: Sequence[Block]) -> Block:
        """Return the factor of the matrix as it was, on its device."""
        home, field, n = self.home, self._kind.is_complex, self.task.order
        with home.here():
            out = self._kind.zeros(home.backend.xp, (n, n))
        for i, (place, c) in enumerate(zip(self._places, found, strict=True)):
            for part, own in self._numbers(i):
                with place.here():
                    powers = -place.backend.xp.asarray(self._roots[part])
                    near = place.backend.ldexp(c[..., : part.stop, own], powers, is_complex=field)
                given = home.take(near, place)
                with home.here():
                    if self._upper:
                        out[..., : part.stop, part] = given
                    else:
                        out[..., part, : part.stop] = planes.adjoint(given, field)
        return out
