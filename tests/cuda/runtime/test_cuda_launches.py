"""Every kernel can be launched on devices of all sizes, whatever the size of its operands."""

from __future__ import annotations

import re
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
from emulation.modules import call_paths
from stand_ins import ONE_BLOCK, STAND_INS
from tensorcore_cases import emulated_engine

from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor.panel import most_columns
from mdqr._backend.cuda.floats.fold import fold
from mdqr._backend.cuda.floats.signs import sign_rows
from mdqr._backend.cuda.floats.triangles import invert, put_columns, row_order
from mdqr._backend.cuda.runtime.device import GLOBAL_BLOCKS
from mdqr._backend.cuda.runtime.kernels import Kernels
from mdqr._backend.draws import DRAWS
from mdqr._backend.exact import EXTENT_WORDS
from mdqr._backend.protocol import EquationTerms, ProductGraph
from mdqr._backend.sources import kernels_folder
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact.lines import full_bits
from mdqr.linalg._products.exact.plan import channels, moduli, reconstruction, words_of
from mdqr.tensorcore._engine.formats import FORMATS

DEVICES = {"one block": ONE_BLOCK} | STAND_INS
SIZES = [1, 7, 64, 1000, 4096]
KINDS = [Kind(p.limbs, is_complex) for p in PRECISIONS for is_complex in (False, True)]
# Where cubes of the size fit no memory.
MOST_TERMS = 64


class Planned(Kernels):
    """Kernels that check what they are asked to launch, and launch nothing."""

    xp, device, memory = np, ONE_BLOCK, 2**33
    cublas = SimpleNamespace(gemm_batched=lambda *arguments, **options: None)

    def __init__(self, device):
        self.device, self.plans, self.names = device, {}, set()

    def address(self, block):
        return block.ctypes.data

    def constant(self, key, make):
        return make()

    def multiply(self, a, b):
        return np.empty((*a.shape[:-1], b.shape[-1]), dtype=a.dtype)

    def scratch(self, words, *, zero=False):
        # Nobody reads it.
        return None, 16

    def launch(self, module, name, arguments, *, grid, threads, shared=0, cooperative=False):
        device = self.device
        assert arguments.nbytes <= 4096
        assert 0 < grid[0] < 2**31
        assert all(0 < n < 2**16 for n in grid[1:])
        assert 0 < threads <= 1024
        assert 0 <= shared <= device.shared, name
        assert not cooperative or prod(grid) <= device.multiprocessors, name
        assert ("MDQR_INTEGERS" in module.defines) <= (not device.has_fast_doubles)
        if "MDQR_GLOBAL" in module.defines and not name.endswith("_finish"):
            # Global memory for each: some blocks a multiprocessor, or the few of one cooperation.
            assert shared < 65_536
            small = name in ("mdqr_solve_small", "mdqr_lstsq_small", "mdqr_reflect")
            assert prod(grid) <= (12 if small else GLOBAL_BLOCKS) * device.multiprocessors
        self.names.add(name)


def blocks(kind, *shapes):
    """Yield blocks of zeros, never touched."""
    for shape in shapes:
        yield np.zeros(kind.planes(shape))


def call_linear_algebra(backend, kind, n):
    """Make the calls for matrices of order `n`."""
    options = {"kind": kind}
    few = max(1, min(n, 16))
    square, column, several, long = blocks(kind, (n, n), (n, 1), (n, few), (n, 6000))
    (batch,) = blocks(kind, (3, n, min(n, 20)))
    pairs = [(square, square), (square, column)]
    pairs += [(x, x.swapaxes(-1, -2)) for x in (several, long, batch)]
    # Those of one limb are cuBLAS's.
    for a, b in pairs if kind.limbs > 1 else ():
        backend.matmul(a, b, **options)
    for right in (column, several):
        backend.residual([], square, right, **options)
    places = np.zeros((3, n), dtype=np.int64)
    backend.lu_panel(batch, places, 0, min(n, 16), **options)
    backend.cholesky_panel(square[..., :few, :], **options)
    for width in (1, 32, most_columns(kind)):
        for items in (1, 50):
            (a,) = blocks(kind, (items, n, min(n, width)))
            if kind.limbs > 1:
                backend.qr_panel(a, **options)
    for width in (min(n, 32), min(n, 64)):
        v, t, x = blocks(kind, (n, width), (width, width), (n, 3))
        if kind.limbs > 1:
            backend.reflect_all([v], [t], x, adjoint=True, **options)
    for right in (column, several):
        backend.solve_triangular_tile(square, right, lower=True, unit_diagonal=False, **options)
    (triangles,) = blocks(kind, (500, min(n, 70), min(n, 70)))
    backend.solve_triangular_tile(triangles, triangles, lower=True, unit_diagonal=False, **options)
    for below in (1, 7, 64):
        columns = backend.window_columns(below, **options)
        for number in (np.float64, np.float32) if kind.limbs == 1 else (np.float64,):
            for items in (1, n) if columns else ():
                rows = columns + below
                window, one, e = (
                    np.zeros(kind.planes((items, rows, n)), number) for n in (columns, 1, rows)
                )
                backend.form_window(window, e, below=below, **options)
                if rows <= 32:
                    backend.form_window(one, e, below=0, **options)
    if n <= MOST_TERMS:
        for items in (1, 1000):
            a, b, tall = blocks(kind, (items, n, n), (items, n, 2), (items, n + 1, n))
            (c,) = blocks(kind, (items, n + 1, 2))
            backend.solve_small(a, b, **options)
            backend.lstsq_small(tall, c, **options)


def call_others(backend, kind, n):
    """Make the calls for rows, and power series."""
    options, is_complex = {"kind": kind}, kind.is_complex
    rows, square = blocks(kind, (3, n), (n, n))
    backend.unary("sqrt", rows, **options)
    backend.unary("renormalize", rows, **options)
    backend.binary("add", rows, rows, **options)
    backend.reduce("sum", rows, **options)
    backend.cumsum(rows, **options)
    backend.held_limbs([rows], [is_complex])
    powers = np.zeros(n, dtype=np.int64)
    backend.balance_triangle(square, is_complex=is_complex, lower=True, unit_diagonal=False)
    backend.balance_columns(square, powers, is_complex=is_complex)
    backend.scale(square, powers, powers, is_complex=is_complex)
    lines = powers, np.zeros(n, dtype=np.int64)
    backend.rounded_sum(square, None, np.zeros((n, n)), lines, kind=kind, unit=0, most=0)
    if not is_complex:
        for name in DRAWS:
            backend.draw(name, (0, 0), rows.shape[1:], kind.limbs)
        backend.compare(rows, rows)
        backend.ldexp(rows, powers)
        backend.argreduce("max", rows)
    values, sums = blocks(kind, (2, n + 1, 3), (2, n))
    graph = ProductGraph(*(np.zeros(n, dtype=np.int64),) * 2, np.array([0, n]))
    backend.series_order(values, sums, graph, 1, **options)
    factors, constants = blocks(kind, (1, n, 1), (1, n, 1))
    equations = EquationTerms(
        np.arange(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64), factors, constants
    )
    backend.series_equations(values, equations, 1, **options)
    jacobian, inverse = blocks(kind, (2, n, 1), (2, 1, n))
    backend.series_expand(values, jacobian, inverse, graph, equations, range(1, 2), **options)


def call_exact(backend, kind, n):
    """Make the calls for exact products with all bits, which take the most shared memory."""
    bits, options = full_bits(kind), {"is_complex": kind.is_complex}
    chosen = moduli(2 * bits + 12, kind.is_complex)
    tables, back = channels(chosen, words_of(bits), False), reconstruction(chosen)
    lines, out = blocks(kind, (7, n), (7, 7))
    powers, words = np.zeros(7, dtype=np.int64), np.zeros(EXTENT_WORDS, dtype=np.int64)
    pair = lines, np.zeros(kind.planes((n, 7))).swapaxes(-1, -2)
    backend.exact_scan(pair, (None, None), (powers, powers), words, **options)
    backend.exact_balance(pair, (powers, powers), np.zeros(n, dtype=np.int64), words, **options)
    sizes = backend.exact_magnitudes(lines, powers, None, 2, **options)
    backend.exact_least(sizes, sizes, words)
    residues = backend.exact_residues(lines, powers, None, bits, tables, **options)
    backend.exact_product(
        residues, residues, (powers, powers), tables, back, 0, 0,
        kind=kind, c=None, subtract=False, out=out,
    )  # fmt: skip


def call_tensorcore(kernels, n):
    """Make the calls for panels of `n` rows."""
    engine = emulated_engine(kernels)
    width = min(n, 128)
    work, _ = engine.load(np.zeros((n, width)), scaled=True)
    r = engine.matrix(width, width, zero=True)
    for form in FORMATS.values():
        engine.round(work, engine.memory(n, width, form))
    engine.squares(work)
    vectors = np.zeros((n, 1), order="F")
    engine.doubles(vectors[:width], work, vectors, transposed=True)
    engine.departures(work)
    engine.inverses(np.eye(64), 64)
    engine.caqr(work, r)
    engine.cholesky(work, r)
    engine.orthonormal(work, r, done=False)
    engine.reflector(work, r, engine.matrix(width, 1)[:, 0])
    sign_rows(kernels, np.zeros((n, width)), width, width)
    for axis in (None, 0, 1):
        fold(kernels, "sum", np.zeros((n, width)), axis, False)
    for dtype in (float, complex):
        triangles = np.zeros((2, width, width), dtype)
        invert(kernels, triangles, units=1)
        put_columns(kernels, triangles[0], row_order(kernels, np.zeros(n, dtype=np.int64)))


def launched(name):
    """Launch everything on a device; return the names."""
    kernels = Planned(DEVICES[name])
    backend = CudaBackend(kernels)
    for n in SIZES:
        for kind in KINDS:
            call_linear_algebra(backend, kind, n)
            call_others(backend, kind, n)
            call_exact(backend, kind, n)
        for precision in PRECISIONS:
            call_paths(backend, precision.limbs, n)
        call_tensorcore(kernels, n)
    return kernels.names


@pytest.mark.parametrize("name", DEVICES)
def test_every_launch_is_legal(name):
    texts = [path.read_text() for path in (kernels_folder() / "cuda").rglob("*.cu")]
    entries = set(re.findall(r"^MDQR_KERNEL\((\w+)", "\n".join(texts), flags=re.M))
    assert launched(name) == entries
