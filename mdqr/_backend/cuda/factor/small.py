"""Small systems, a block of threads each: kernels/cuda/small."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from mdqr._backend.blocks import matrices, unfolded, unsolved
from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
    matrix_view,
)
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.small_systems import MOST_COLUMNS, SmallSolution
from mdqr._limbs.planes import Block, Kind

# Two modules serve all limb counts and both fields: of up to so many limbs, and of more. As in
# mdqr/small/words.hpp, as are these digits.
_KIND = Kind(1, False)
_FEW_LIMBS, _FEW_DIGITS, _MOST_DIGITS = 11, 14, 20
_WARP = 32
# Of the real form: up to so many a warp is enough, or even where a system has a multiprocessor for
# itself; more take the threads of `most_small_threads`, of square systems of more than the last
# number those of -DMDQR_WIDE.
_ROWS_OF_A_WARP, _ROWS_OF_FEW, _ROWS_OF_WARPS = 32, 16, 64
_MOST_THREADS, _WIDE_THREADS = 128, 512
# Warps of a multiprocessor, which the registers of each kernel limit. Where its shared memory fits
# fewer blocks than the least, all is in global memory: who waits is many.
_WARPS_TOGETHER = {"solve": 12, "lstsq": 8}
_RESERVED = 1024  # bytes of a block
_LEAST_TOGETHER = 2
# Real unknowns for few right-hand sides, which take less time than by products: of 192 they do not.
# `python -m benchmarks gpu-middle --only solve`.
_MOST_OF_FEW, _FEW_COLUMNS = 128, 2
_MOST_WORDS = 2**27  # of global memory, all blocks


class Plan(NamedTuple):
    """The launch for systems of one shape."""

    threads: int
    shared: int  # bytes; 0 if all is in global memory
    words: int  # of global memory, a block
    together: int  # blocks of a multiprocessor
    defines: tuple[str, ...] = ()


def _padded(count: int) -> int:
    return 8 * divided(count, 8)


def _sums(digits: int, rows: int) -> int:
    """Return the words of the residuals and the sum of so many rows."""
    # Word 0, one for each digit, and one for the last lower half, but not a 21st.
    capacity = min(digits + 2, 21)
    return (2 * capacity + 5) * rows


def _solve_sizes(n: int, digits: int) -> tuple[int, int]:
    """Return the words of `small_solve`, and those of its digits."""
    rows = _padded(n)
    square = _padded(n * (rows + 1))
    return square + 10 * rows + _padded(rows // 2) + _sums(digits, rows), n * rows * digits


def _lstsq_sizes(m: int, n: int, digits: int, *, transposes: bool) -> tuple[int, int]:
    """Return the words of `small_lstsq`, and those of its digits."""
    rows, columns = _padded(m), _padded(n)
    width = n if transposes else columns
    inverses = _padded(width * (rows + 1)) + _padded(width * (columns + 1))
    if transposes:
        inverses += _padded(m * (columns + 1)) + _padded(n * (columns + 1))
    factors = _padded(n * (rows + 1)) + _padded(n * (columns + 1))
    sums = _sums(digits, rows + columns)
    vectors = 3 * max(rows, columns) + 8 * columns + rows
    return inverses + vectors + max(factors, sums), (n * rows + m * columns) * digits


@lru_cache(maxsize=1024)
def plan(name: str, rows: int, columns: int, device: Device, *, few: bool, limbs: int = 1) -> Plan:
    """Return the launch for systems with so many rows and columns of the real form.

    `few` tells that each has a multiprocessor for itself, `limbs` is of the solutions.
    """
    most_digits = _FEW_DIGITS if limbs <= _FEW_LIMBS else _MOST_DIGITS
    defines = () if limbs <= _FEW_LIMBS else (f"MDQR_MOST_DIGITS={_MOST_DIGITS}",)

    def sizes(transposes: bool) -> tuple[int, int]:
        if name == "solve":
            return _solve_sizes(columns, most_digits)
        return _lstsq_sizes(rows, columns, most_digits, transposes=transposes)

    one_warp = rows <= (_ROWS_OF_FEW if few else _ROWS_OF_A_WARP)
    threads = _WARP if one_warp else _MOST_THREADS
    together = _WARPS_TOGETHER[name] * _WARP // threads
    words, digits = sizes(transposes=False)
    fitting = device.shared_together // (8 * words + _RESERVED)
    if name == "solve" and rows > _ROWS_OF_WARPS and fitting:
        threads = _WIDE_THREADS // (1 if few else min(fitting, _LEAST_TOGETHER))
        wide = ("MDQR_WIDE", *defines)
        return Plan(threads, 8 * words, digits, _WIDE_THREADS // threads, wide)
    if fitting < _LEAST_TOGETHER:
        return Plan(threads, 0, sum(sizes(transposes=True)), together, ("MDQR_GLOBAL", *defines))
    return Plan(threads, 8 * words, digits, min(together, fitting), defines)


class SmallSystems(KernelCalls):
    """Small systems in one launch."""

    def small_unknowns(self, columns: int, *, kind: Kind) -> int:
        """Return the most unknowns of square systems with so many right-hand sides for a call.

        Columns of one system wait for each other, and beyond `MOST_COLUMNS` in global memory.
        """
        return MOST_COLUMNS if kind.is_complex or columns > _FEW_COLUMNS else _MOST_OF_FEW

    def solve_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve small square systems."""
        return self._solved("solve", a, b, kind)

    def lstsq_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve small least-squares problems."""
        return self._solved("lstsq", a, b, kind)

    def _solved(self, name: str, a: Block, b: Block, kind: Kind) -> SmallSolution:
        is_complex = kind.is_complex
        batch, (a, b) = matrices(is_complex, a, b)
        items, m, k = prod(batch), a.shape[-2], b.shape[-1]
        has_rest = name == "lstsq"
        rest = kind.empty(self.xp, (items, m, k)) if has_rest else None
        found = unsolved(self.xp, a, b, kind, rest)
        views = [found.x, found.x if rest is None else rest, a, b]
        results = [found.error, found.condition, found.steps, found.status]

        def launch(kernels: Kernels) -> None:
            _launch(kernels, name, views, results, kind)

        planned(self.kernels, ("small", name, kind), [*views, *results], launch)
        return unfolded(found, batch, kind)


def _launch(
    kernels: Kernels, name: str, views: list[Block], results: list[Block], kind: Kind
) -> None:
    """Solve for x, residuals, a and b; `results` are the errors and what is known of items."""
    x, _, a, b = views
    (items, m, n), (limbs, is_complex), device = a.shape[-3:], kind, kernels.device
    parts, few = 1 + is_complex, items <= device.multiprocessors
    steps = plan(name, parts * m, parts * n, device, few=few, limbs=limbs)
    blocks = min(items, device.multiprocessors * steps.together, _MOST_WORDS // steps.words)
    _memory, address = kernels.scratch(blocks * steps.words)
    kernels.launch(
        Module(f"small/{name}", _KIND, steps.defines),
        f"mdqr_{name}_small",
        fields(
            *(matrix_view(kernels, view, is_complex) for view in (x, *views[1:])),
            items, m, n, b.shape[-1],
            *(kernels.address(result) for result in results),
            address, steps.words,
        ),
        grid=(blocks,),
        threads=steps.threads,
        shared=steps.shared,
    )  # fmt: skip
