"""One call of every entry of the extension, with blocks that fit, and how blocks cease to fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.host.backend import extension
from mdqr._backend.protocol import BINARY, REAL_ONLY, REDUCTIONS


class Call(NamedTuple):
    """The arguments of an entry before and after its blocks, and what is free of the blocks."""

    entry: str
    before: tuple
    blocks: dict
    after: tuple
    results: tuple = ("out",)
    free: tuple = ()  # (block, axis from the last one) that no other block must agree with
    any_limbs: tuple = ()

    def run(self, **changed):
        blocks = self.blocks | changed
        arguments = [[block] if name in _LISTS else block for name, block in blocks.items()]
        return getattr(extension(), self.entry)(*self.before, *arguments, *self.after)


_LISTS = ("c", "term", "left", "right")


def calls(limbs, is_complex):
    """Yield calls whose values are ordinary numbers."""
    rng = np.random.default_rng(limbs)

    def block(*shape):
        values = np.zeros(((2,) if is_complex else ()) + (limbs, *shape))
        values[(slice(None), 0) if is_complex else 0] = rng.uniform(1, 2, shape)
        return values

    field = (limbs, is_complex)
    x, y = block(5, 7), block(5, 7)
    whole = {"out": block(5, 7), "x": x}
    for op in ("sqrt", "square", "reciprocal"):
        yield Call("unary", (op,), whole, field)
    yield Call("unary", ("renormalize",), whole, field, any_limbs=("x",))
    left_out = REAL_ONLY if is_complex else ()
    for op in BINARY:
        if op not in left_out:
            yield Call("binary", (op,), {**whole, "y": y}, field)
    rows = {"out": block(5), "x": x}
    for op in REDUCTIONS:
        yield Call("reduce", (op,), rows, field, free=(("x", 1),))
    yield Call("cumsum", (), whole, field)
    if is_complex:
        yield Call("unary", ("abs",), {"out": block(5, 7)[0], "x": x}, field)
    else:
        yield from _plain(block, limbs)
    a, b, out = block(2, 9, 4), block(2, 4, 3), block(2, 9, 3)
    if limbs > 1:
        product = {"out": out, "c": block(2, 9, 3), "a": a, "b": b}
        yield Call("matmul", (), product, (*field, False, False, True))
        yield Call("residual", (out, [1]), {"term": out.copy(), "a": a, "b": b}, (*field, False),
                   results=(), any_limbs=("term",))  # fmt: skip
        panel = {"h": block(2, 9, 4), "tau": block(2, 4), "t": block(2, 4, 4), "a": block(2, 9, 4)}
        yield Call("qr_panel", (), panel, field, results=("h", "tau", "t"))
    triangle = {"out": block(2, 4, 3), "a": block(2, 4, 4), "b": block(2, 4, 3)}
    yield Call("solve_triangular_tile", (), triangle, (*field, False, False))
    places = np.empty((2, 4), dtype=np.int64)
    yield Call("lu_panel", (), {"a": block(2, 9, 4)}, (places, *field, 1, 3), ("a",),
               (("a", 2),))  # fmt: skip
    rows = {"out": block(2, 4, 7), "a": block(2, 4, 7)}
    yield Call("cholesky_panel", (), rows, field)
    yield from _series(block, field)
    yield from _small(block, field)
    yield from _windows(block, field)


def _series(block, field):
    """Two products of two series, one of them of the other."""
    left, right = np.array([0, 2]), np.array([1, 1])
    blocks = {"values": block(2, 4, 5), "sums": block(2, 2)}
    free = (("values", 1), ("values", 2))
    yield Call("series_order", (), blocks, (left, right, 3, False, *field), tuple(blocks), free)


def _small(block, field):
    """Error, condition, steps and status, then blocks."""
    plain = (np.empty((2, 4, 3)), np.empty(2), np.empty(2, np.int64), np.empty(2, np.int64))
    square = {"x": block(2, 4, 3), "a": block(2, 4, 4), "b": block(2, 4, 3)}
    yield Call("solve_small", plain, square, field, results=("x",))
    tall = {
        "x": block(2, 4, 3),
        "residuals": block(2, 9, 3),
        "a": block(2, 9, 4),
        "b": block(2, 9, 3),
    }
    yield Call("lstsq_small", plain, tall, field, results=("x", "residuals"))


def _plain(block, limbs):
    x, y = block(5, 7), block(5, 7)
    yield Call("compare", (np.empty((5, 7), dtype=np.int8),), {"x": x, "y": y}, (limbs,), ())
    places = np.empty(5, dtype=np.int64)
    yield Call("argreduce", (True, places), {"x": x}, (limbs,), (), (("x", 1),))
    yield Call("ldexp", (block(5, 7), x), {"exponent": np.ones((5, 7), dtype=np.int64)}, (limbs,),
               ())  # fmt: skip


def _windows(block, field):
    r, left, right = block(2, 7, 5), block(2, 7, 6), block(2, 3, 7)
    free = (("left", 1), ("right", 2))
    names = ("r", "left", "right")
    yield Call("window", (), {"r": r, "left": left, "right": right}, (2, 2, *field), names, free)
    if field[0] == 1:
        singles = {
            name: x.astype(np.float32) for name, x in zip(names, (r, left, right), strict=True)
        }
        yield Call("window_float32", (), singles, (2, 2, *field), names, free)


def misfits(call, limbs, is_complex):
    """Yield names of blocks and what does not fit in their place."""
    for name, block in call.blocks.items():
        parts = int(is_complex and (call.entry, call.before, name) != ("unary", ("abs",), "out"))
        has_limbs = name != "exponent"
        if has_limbs and name not in call.any_limbs:
            yield name, np.repeat(block, 2, axis=parts)
        if has_limbs and name in call.results and limbs > 1:
            yield name, np.split(block, [1], axis=parts)[0]
        if parts:
            yield name, block[:1]
            yield name, np.concatenate([block, block])
        for axis in range(block.ndim - parts - has_limbs):
            if (name, axis + 1) not in call.free:
                yield name, np.delete(block, 0, axis=-axis - 1)
                yield name, np.concatenate([block, block], axis=-axis - 1)
        yield name, block[..., None]
        yield name, block[..., 0]
        if name in call.results:
            shared = block.copy()
            strides = (*shared.strides[:-1], 0)
            yield name, np.lib.stride_tricks.as_strided(shared, shared.shape, strides)
