"""The modules that the CUDA backend asks for, found by calling it with kernels that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from stand_ins import ONE_BLOCK, STAND_INS
from tensorcore_cases import emulated_engine

from emulation.kernels import EmulatedKernels
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.floats.fold import fold
from mdqr._backend.cuda.floats.signs import sign_rows
from mdqr._backend.cuda.floats.triangles import invert, put_columns, row_order
from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.runtime.kernels import Module
from mdqr._backend.draws import DRAWS
from mdqr._backend.exact import EXTENT_WORDS
from mdqr._backend.path_calls import PathGoal, PathPoints
from mdqr._backend.protocol import BINARY, REAL_ONLY, REDUCTIONS, UNARY, EquationTerms, ProductGraph
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact.lines import full_bits
from mdqr.linalg._products.exact.plan import channels, moduli, reconstruction, words_of
from mdqr.linalg._products.exact.product import multiply
from mdqr.series._homotopy.tables import path_system
from mdqr.series._homotopy.tracker import Paths
from mdqr.tensorcore._engine.formats import FORMATS

# Products of every kind: large, one column, one row, batches of small ones.
PRODUCTS = [
    ((300, 200), (200, 250)),
    ((40, 30), (30, 20)),
    ((300, 200), (200, 1)),
    ((1, 200), (200, 30)),
    ((2, 300), (300, 1)),
    ((9, 5, 4), (9, 4, 3)),
    ((2048, 512), (512, 2048)),
    ((64, 6000), (6000, 64)),
]
TRIANGLES = [(32, 1), (32, 40), (40, 1), (64, 40), (96, 1), (96, 40)]
SMALL = [9, 72, 200]  # in shared memory, of more threads, and in global memory
PANELS = [(33, 16), (2000, 16), (5, 32, 16), (100, 8)]


class Recorder(EmulatedKernels):
    """Kernels that note what was asked for, and by how many threads; results are not set."""

    def __init__(self, device: Device) -> None:
        super().__init__(Path())
        self.device = device
        self.used: dict[Module, dict[str, int]] = {}

    def launch(self, module, name, arguments, *, threads, **launch) -> None:
        names = self.used.setdefault(module, {})
        names[name] = max(threads, names.get(name, 0))

    def multiply(self, a, b):
        rows = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return np.zeros((*rows, a.shape[-2], b.shape[-1]), dtype=np.result_type(a, b))

    def scratch(self, words, *, zero=False):
        # Nobody reads it, and gigabytes of it take seconds to fill.
        memory = np.empty(max(words, 1))
        return memory, self.address(memory)


def blocks(limbs: int, is_complex: bool, *shapes: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Yield blocks of zeros, never touched."""
    for shape in shapes:
        yield np.zeros(((2,) if is_complex else ()) + (limbs, *shape))


def call_everything(backend: CudaBackend, limbs: int, is_complex: bool) -> None:
    """Make every call of the protocol that this limb count and field has."""
    options = {"kind": Kind(limbs, is_complex)}
    x, y = blocks(limbs, is_complex, (3, 40), (3, 40))
    without = REAL_ONLY if is_complex else frozenset()
    for op in UNARY:
        if op not in without:
            backend.unary(op, x, **options)
    for op in BINARY:
        if op not in without:
            backend.binary(op, x, y, **options)
    for op in REDUCTIONS:
        backend.reduce(op, x, **options)
    backend.held_limbs([x], [is_complex])
    backend.cumsum(x, **options)
    backend.cumsum(*blocks(limbs, is_complex, (2, 100_000)), **options)
    square, column = blocks(limbs, is_complex, (40, 40), (40, 1))
    powers = np.zeros(40, dtype=np.int64)
    backend.balance_triangle(square, is_complex=is_complex, lower=False, unit_diagonal=False)
    backend.balance_columns(column, powers, is_complex=is_complex)
    backend.scale(column, powers, powers[:1], is_complex=is_complex)
    if not is_complex:
        backend.compare(x, y)
        backend.ldexp(x, np.zeros((3, 40), dtype=np.int64))
        for op in ("max", "min"):
            backend.argreduce(op, x)
    for left, right in PRODUCTS:
        a, b = blocks(limbs, is_complex, left, right)
        backend.matmul(a, b, **options)
        backend.residual([], a, b, **options)
    (batch,) = blocks(limbs, is_complex, (2, 40, 40))
    backend.lu_panel(batch, np.zeros((2, 40), dtype=np.int64), 16, 32, **options)
    backend.cholesky_panel(square[..., :16, :], **options)
    for columns in (4, backend.window_columns(1, **options)):
        rows = columns + 1
        band, one, e = blocks(limbs, is_complex, (rows, columns), (rows, 1), (rows, rows))
        for numbers in (np.float64, np.float32) if limbs == 1 else (np.float64,):
            out = e.astype(numbers)
            backend.form_window(band.astype(numbers), out, below=1, **options)
            backend.form_window(one.astype(numbers), out, below=0, **options)
    if limbs > 1:
        for width in (3, 64):
            v, t, x = blocks(limbs, is_complex, (70, width), (width, width), (70, 1))
            backend.reflect_all([v], [t], x, adjoint=True, **options)
        for shape in PANELS:
            (panel,) = blocks(limbs, is_complex, shape)
            backend.qr_panel(panel, **options)
    for order, columns in TRIANGLES:
        a, b = blocks(limbs, is_complex, (order, order), (order, columns))
        for lower in (False, True):
            backend.solve_triangular_tile(a, b, lower=lower, unit_diagonal=False, **options)


def call_rounded(backend: CudaBackend, kind: Kind) -> None:
    """Make the call for solutions in the units of their data."""
    (x,) = blocks(*kind, (4, 2))
    powers = np.zeros(4, dtype=np.int64), np.zeros(2, dtype=np.int64)
    backend.rounded_sum(x, None, np.zeros((4, 2)), powers, kind=kind, unit=0, most=0)


def call_exact(backend: CudaBackend, kind: Kind) -> None:
    """Make the calls of exact products; those of the entries as they are take all words."""
    a, b, out = (kind.empty(np, shape) for shape in ((5, 20), (20, 3), (5, 3)))
    for block in (a, b):
        block[...] = 0.0
    bits = full_bits(kind)
    multiply(backend, a, b, kind=kind, out=out)
    chosen = moduli(2 * bits + 12, kind.is_complex)
    tables, back = channels(chosen, words_of(bits), False), reconstruction(chosen)
    zeros = np.zeros(20, dtype=np.int64)
    sizes = backend.exact_magnitudes(a, zeros, None, 2, is_complex=kind.is_complex)
    backend.exact_least(sizes, sizes, np.zeros(EXTENT_WORDS, dtype=np.int64))
    left, right = (
        backend.exact_residues(x, zeros, None, bits, tables, is_complex=kind.is_complex)
        for x in (a, b.swapaxes(-1, -2))
    )
    backend.exact_product(
        left, right, (zeros, zeros), tables, back, 0, 0, kind=kind, c=None, subtract=False, out=out
    )


def call_series(backend: CudaBackend, limbs: int, is_complex: bool) -> None:
    """Make the calls for power series."""
    options = {"kind": Kind(limbs, is_complex)}
    values, sums = blocks(limbs, is_complex, (3, 2), (1,))
    graph = ProductGraph(*(np.array(part) for part in ([0], [1], [0, 1])))
    backend.series_order(values, sums, graph, 1, **options)
    rows = EquationTerms(
        np.array([0, 1]), np.array([0]), *blocks(limbs, is_complex, (1, 1, 1), (1, 1, 1))
    )
    backend.series_equations(values, rows, 1, **options)
    column_and_row = blocks(limbs, is_complex, (1, 2), (2, 1))
    backend.series_expand(values, *column_and_row, graph, rows, range(1, 2), **options)
    if not is_complex:
        call_paths(backend, limbs)


def call_paths(backend: CudaBackend, limbs: int, count: int = 1) -> None:
    """Make the call for homotopy paths: numbers are complex, modules one for both fields."""
    (coefficient,) = blocks(limbs, True, (1, 2, 2))
    (x,) = blocks(limbs, True, (1, count))
    system = path_system(
        np.zeros(2, int), np.array([[1], [0]]), coefficient, 1, patch=None, weight=None
    )
    others = Paths.at(np.zeros((1, count), complex), 1.0)._parts()[1:]
    goal = PathGoal(0.0, 1e-5, 1e-10, 0.1)
    backend.follow_paths(system, PathPoints(x, *others), np.arange(count), goal)


def call_small(backend: CudaBackend) -> None:
    """Make the calls for small systems: a module for few limbs and one for many of any field."""
    for order, limbs in product(SMALL, (2, PRECISIONS[-1].limbs)):
        a, b = blocks(limbs, False, (order, order), (order, 1))
        backend.solve_small(a, b, kind=Kind(limbs, False))
        backend.lstsq_small(a, b, kind=Kind(limbs, False))


def call_draws(backend: CudaBackend, limbs: int) -> None:
    """Make the calls for random limbs."""
    for name in DRAWS:
        backend.draw(name, (1, 2), (9,), limbs)


def call_floats(kernels: Recorder) -> None:
    """Make the calls for float matrices."""
    sign_rows(kernels, np.eye(3, 4), 3, 3)
    fold(kernels, "max", np.eye(3), None, False)
    places = np.arange(3)
    for dtype in (float, complex):
        put_columns(kernels, invert(kernels, [np.eye(3, dtype=dtype)])[0], places)
    row_order(kernels, places)


def call_tensorcore(kernels: Recorder) -> None:
    """Make every call of the tensor-core engine that launches something."""
    engine = emulated_engine(kernels)
    work, _ = engine.load(np.zeros((300, 40)), scaled=True)
    r = engine.matrix(32, 32, zero=True)
    for form in FORMATS.values():
        engine.round(work, engine.memory(300, 40, form))
    engine.squares(work)
    vectors = np.zeros((300, 1), order="F")
    engine.doubles(vectors[:40], work, vectors, transposed=True)
    engine.departures(work)
    engine.inverses(np.eye(64), 64)
    engine.caqr(work[:, :32], r)
    engine.cholesky(work[:, :32], r)
    engine.orthonormal(work[:, :32], r, done=False)
    engine.reflector(work[:, :32], r, engine.matrix(32, 1)[:, 0])


@cache
def modules_of(device: Device) -> dict[Module, dict[str, int]]:
    """Return the modules of a device, with the kernels of each and their threads."""
    recorder = Recorder(device)
    backend = CudaBackend(recorder)
    for precision in PRECISIONS:
        call_draws(backend, precision.limbs)
        for is_complex in (False, True):
            call_everything(backend, precision.limbs, is_complex)
            call_series(backend, precision.limbs, is_complex)
            call_exact(backend, Kind(precision.limbs, is_complex))
            call_rounded(backend, Kind(precision.limbs, is_complex))
    call_small(backend)
    call_floats(recorder)
    call_tensorcore(recorder)
    return recorder.used


# A device for each architecture, as far as modules depend on it: the shared memory of a block, and
# whether it has many FP64 units.
ARCHITECTURES = {
    "sm_75": ONE_BLOCK,
    "sm_80": STAND_INS["a100"],
    "sm_86": STAND_INS["rtx4090"],
    "sm_89": STAND_INS["rtx4090"],
    "sm_90": STAND_INS["a100"],
    "sm_100": STAND_INS["a100"],
    "sm_120": STAND_INS["rtx4090"],
}


def is_used(module: Module, arch: str) -> bool:
    """Return whether devices of an architecture use a module, however few multiprocessors."""
    return module in modules_of(ARCHITECTURES[arch]) or module.source == "panel/panel"


@cache
def modules() -> dict[Module, dict[str, int]]:
    """Return the modules of all devices, with the kernels of each and their threads."""
    found: dict[Module, dict[str, int]] = {}
    for device in ARCHITECTURES.values():
        for module, names in modules_of(device).items():
            known = found.setdefault(module, {})
            for name, threads in names.items():
                known[name] = max(threads, known.get(name, 0))
    return found
