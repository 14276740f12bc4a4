"""The CUDA kernels of the tensor-core path, run on the CPU, against the NumPy engine."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tensorcore_cases import (
    U32,
    backward_errors,
    emulated_engine,
    orthogonality,
    with_condition,
    with_subnormals,
)

from mdqr._backend.cuda.floats import panels as cuda_panels
from mdqr._backend.cuda.floats.panels import column_stride, tree_nodes
from mdqr._backend.float_panels import CUTOFF, FAN_IN, SMALL, rows_of_block
from mdqr.tensorcore._algorithms.passes import Passes
from mdqr.tensorcore._engine import cuda, numpy_panels, numpy_reflector
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._engine.numpy import NumpyEngine, signs
from mdqr.tensorcore._engine.protocol import PROBES, TRIANGLE
from mdqr.tensorcore._plan import plan_of


def columns(array):
    return np.array(array, dtype=np.float32, order="F")


def both(kernels, call, a, **options):
    """Factor by the kernels and by NumPy; return both results."""
    found = []
    for engine in (emulated_engine(kernels), NumpyEngine()):
        q, r = columns(a), engine.matrix(a.shape[1], a.shape[1], zero=True)
        getattr(engine, call)(q, r, **options)
        found += [q, r]
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loading(kernels, dtype, rng):
    """Any strides, any range: the same numbers and exponents as NumPy's."""
    span = 25 if dtype == np.float32 else 300
    a = rng.standard_normal((140, 80)) * 10.0 ** rng.integers(-span, span, 80)
    a[:, 3] = 0.0
    for view in (a[:70, :40], a[:70, :40].T, np.asfortranarray(a[:70, :33]), a[::2, ::-2]):
        x = view.astype(dtype, order="K") if view.base is None else view.astype(dtype)
        for scaled in (True, False) if dtype == np.float32 else (True,):
            got, wanted = (
                engine.load(x, scaled=scaled)
                for engine in (emulated_engine(kernels), NumpyEngine())
            )
            np.testing.assert_array_equal(got.exponents, wanted.exponents)
            np.testing.assert_array_equal(got.work, wanted.work)
            if scaled:
                norms = np.linalg.norm(np.float64(got.work), axis=0)
                assert norms.max() <= 1


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loading_keeps_subnormal_numbers(kernels, dtype, scaled, rng):
    """CuPy compiles with -ftz=true, which made zeros of them."""
    a = with_subnormals(rng).astype(dtype)
    wanted = NumpyEngine().load(a, scaled=scaled)
    size = np.abs(wanted.work)
    assert ((size > 0) & (size < 2.0**-126)).sum() >= 60
    got = emulated_engine(kernels).load(a, scaled=scaled)
    np.testing.assert_array_equal(got.exponents, wanted.exponents)
    np.testing.assert_array_equal(got.work, wanted.work)


@pytest.mark.parametrize("place", [(0, 0), (69, 39), (40, 33)])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_not_finite_is_noted(kernels, place, bad, rng):
    for order in "CF":
        a = np.array(rng.standard_normal((70, 40)), order=order)
        engine = emulated_engine(kernels)
        engine.load(a, scaled=True)
        assert not engine.report()[0].not_finite
        a[place] = bad
        engine.load(a, scaled=True)
        assert engine.report()[0].not_finite


SHAPES = [(1, 1), (10, 3), (256, 32), (257, 33), (300, 128), (700, 70), (2049, 40), (4100, 9)]


def check_caqr(kernels, a):
    q, r, other_q, other_r = both(kernels, "caqr", a)
    # Sums of up to 256 terms in another order, at condition numbers below 8.
    assert np.abs(q - other_q).max() <= 64 * U32
    assert np.abs(r - other_r).max() <= 64 * U32 * np.abs(r).max()
    assert backward_errors(a, q, r).max() <= 16 * U32
    assert orthogonality(q) <= 64 * U32
    assert not np.tril(r, -1).any()
    assert (r.diagonal() > 0).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_caqr(kernels, shape, rng):
    check_caqr(kernels, columns(rng.standard_normal(shape)))


@pytest.mark.parametrize("shape", [(600, 100), (4200, 40)], ids=str)
def test_caqr_has_the_same_bits_on_fewer_multiprocessors(kernels, shape, rng, monkeypatch):
    a = columns(rng.standard_normal(shape))
    found = []
    for count in (96, 2):
        monkeypatch.setattr(kernels, "device", kernels.device._replace(multiprocessors=count))
        q, r = a.copy(order="F"), np.zeros((shape[1], shape[1]), dtype=np.float32, order="F")
        emulated_engine(kernels).caqr(q, r)
        found.append((q, r))
    for x, y in zip(*found, strict=True):
        np.testing.assert_array_equal(x, y)


def test_caqr_writes_no_more_than_its_panel(kernels, rng):
    whole = columns(rng.standard_normal((310, 50)))
    engine, kept = emulated_engine(kernels), whole.copy()
    r = np.full((60, 60), np.nan, dtype=np.float32, order="F")
    r[5:45, 5:45] = 0
    engine.caqr(whole[3:303, 4:44], r[5:45, 5:45])
    inside = np.zeros(whole.shape, dtype=bool)
    inside[3:303, 4:44] = True
    np.testing.assert_array_equal(whole[~inside], kept[~inside])
    assert np.isfinite(r).sum() == 40 * 40
    assert backward_errors(kept[3:303, 4:44], whole[3:303, 4:44], r[5:45, 5:45]).max() <= 16 * U32


@pytest.mark.parametrize("panel", ["caqr", "cholesky"])
@pytest.mark.parametrize("compute", [name for name in FORMATS if name != "fp32"])
def test_panels_round_their_result(kernels, compute, panel, rng):
    """The operand is what rounding gives."""
    engine, form = emulated_engine(kernels), FORMATS[compute]
    q, r = columns(rng.standard_normal((300, 40))), engine.matrix(40, 40, zero=True)
    low = engine.memory(300, 60, form).columns(7, 47)
    getattr(engine, panel)(q, r, low)
    wanted = engine.round(q, engine.memory(300, 40, form))
    for got, term in zip(low.terms, wanted.terms, strict=True):
        np.testing.assert_array_equal(got, term)


def test_a_column_that_depends_on_others_becomes_zero(kernels, rng):
    a = columns(rng.standard_normal((300, 8)))
    a[:, 5] = a[:, 1] - 2 * a[:, 2]
    a[:, 3] = 0.0
    a = np.asfortranarray(np.hstack([a, rng.standard_normal((300, 40)), a[:, :2] + a[:, 6:]]))
    a, gone = columns(a), [3, 5, 48, 49]
    for call in ("caqr", "cholesky"):
        q, r, other_q, other_r = both(kernels, call, a)
        for x, y in ((q, r), (other_q, other_r)):
            assert not x[:, gone].any()
            assert not y[gone].any()
            assert backward_errors(a, x, y).max() <= 16 * U32
            assert orthogonality(np.delete(x, gone, axis=1)) <= 64 * U32


def check_dependent(kernels, a, gone):
    q, r, other_q, other_r = both(kernels, "caqr", a)
    for x, y in ((q, r), (other_q, other_r)):
        assert (y.diagonal() == 0).nonzero()[0].tolist() == gone
        assert orthogonality(np.delete(x, gone, axis=1)) <= 64 * U32


@pytest.mark.parametrize(("rows", "seed"), [(256, 8), (257, 17), (256, 42), (257, 45)])
def test_what_long_sums_leave_of_a_dependent_column_is_rounding_errors(kernels, rows, seed):
    """One chain of 256 products left more than 2**-21 of columns 32 and more behind."""
    a = np.random.default_rng(seed).standard_normal((rows, 64)) / np.sqrt(rows)
    a[:, 32] = a[:, 0] - 2 * a[:, 1]
    a[:, 63] = a[:, 2] + a[:, 3]
    check_dependent(kernels, columns(a), [32, 63])


@pytest.mark.parametrize("shape", [(256, 128), (600, 128)], ids=str)
def test_a_column_that_depends_on_all_others_becomes_zero(kernels, shape, rng):
    a = rng.standard_normal(shape)
    for j in (64, 127):
        a[:, j] = a[:, :j] @ rng.standard_normal(j)
    check_dependent(kernels, columns(a), [64, 127])


@pytest.mark.parametrize("spectrum", ["arithmetic", "geometric", "cluster"])
def test_no_column_of_a_matrix_of_condition_1e6_is_lost(kernels, spectrum, rng):
    """R has no diagonal below 1e-6 of the longest column, which is above 2**-20."""
    for shape in ((256, 128), (700, 70)):
        a = columns(with_condition(rng, *shape, 1e6, spectrum))
        q, r, other_q, other_r = both(kernels, "caqr", a)
        for x, y in ((q, r), (other_q, other_r)):
            assert (y.diagonal() > 0).all()
            assert backward_errors(a, x, y).max() <= 16 * U32


@pytest.mark.parametrize(("shape", "cond"), [((10, 3), 1), ((200, 128), 1e3), ((300, 60), 1e6)])
def test_cholesky(kernels, shape, cond, rng):
    """float64 sums: Q to the accuracy of float32, by a second pass for a large condition."""
    a = columns(with_condition(rng, *shape, cond, "geometric"))
    q, r, other_q, other_r = both(kernels, "cholesky", a)
    # Columns that wait for another pass are rounded in between.
    tolerance = 8 * U32 if cond < 1e6 else 256 * U32
    assert np.abs(q - other_q).max() <= tolerance
    assert np.abs(r - other_r).max() <= tolerance
    assert backward_errors(a, q, r).max() <= 8 * U32
    # Q is rounded once, and the sums leave 2^-53 / (a pivot of 2^-23).
    assert orthogonality(q) <= 16 * U32
    assert not np.tril(r, -1).any()


def test_cholesky_of_columns_that_nearly_depend_on_others(kernels):
    """Pivots are rounding errors, their square roots are not: Q R was nothing like the panel."""
    x, y = np.linspace(0, 1, 200)[:, None], np.linspace(0, 1, 60)
    for a in (np.vander(x[:, 0], 60), np.exp(-4 * (x - y) ** 2), 1 / (1 + x + y)):
        a = columns(a / np.linalg.norm(a, axis=0))
        q, r, other_q, other_r = both(kernels, "cholesky", a)
        for one, other in ((q, r), (other_q, other_r)):
            # Columns of which less than 2^-21.5 is left are left out.
            assert backward_errors(a, one, other).max() <= 16 * U32
            assert orthogonality(one[:, one.any(axis=0)]) <= 16 * U32


def test_cholesky_notes_an_inverse_that_grows(kernels, rng):
    """And no small pivot alone: columns that wait, or depend on others, are no loss."""
    x = np.linspace(0, 1, 200)
    rising = np.vander(np.linspace(0, 1, 60), 200, increasing=True).T
    dependent = rng.standard_normal((200, 60))
    dependent[:, 7] = dependent[:, 3]
    for a, lossy in (
        (rising, True),
        (np.cos(np.arange(110) * np.arccos(2 * x - 1)[:, None]), True),
        (np.vander(x, 60), False),
        (dependent, False),
        (with_condition(rng, 200, 60, 1e6), False),
    ):
        a = columns(a / np.linalg.norm(a, axis=0))
        for engine in (emulated_engine(kernels), NumpyEngine()):
            q, r = a.copy(order="F"), engine.matrix(a.shape[1], a.shape[1], zero=True)
            engine.cholesky(q, r)
            report, _ = engine.report()
            assert report.lossy == lossy
            assert not report.breakdown
            assert lossy or backward_errors(a, q, r).max() <= 16 * U32


def test_cholesky_of_more_tiles_than_parts(kernels, rng, monkeypatch):
    monkeypatch.setattr("mdqr._backend.cuda.floats.panels._PARTS", 2)
    a = columns(rng.standard_normal((300, 40)))
    q, r, other_q, other_r = both(kernels, "cholesky", a)
    assert np.abs(q - other_q).max() <= 8 * U32
    assert np.abs(r - other_r).max() <= 8 * U32 * np.abs(r).max()


def test_cholesky_of_more_parts_than_multiprocessors(kernels, rng, monkeypatch):
    a = columns(with_condition(rng, 300, 128, 1e5))
    found = []
    for count in (96, 3):
        monkeypatch.setattr(kernels, "device", kernels.device._replace(multiprocessors=count))
        q, r = a.copy(order="F"), np.zeros((128, 128), dtype=np.float32, order="F")
        emulated_engine(kernels).cholesky(q, r)
        found.append((q, r))
    for x, y in zip(*found, strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_floor_removes_short_columns(kernels, rng):
    a = columns(rng.standard_normal((70, 5)) / 8)
    a[:, 2] *= np.float32(2.0**-20)
    for q in both(kernels, "cholesky", a, floor=-32)[::2]:
        assert not q[:, 2].any()
    for q in both(kernels, "cholesky", a)[::2]:
        assert orthogonality(q) <= 16 * U32


@pytest.mark.parametrize("shape", [(1, 1), (300, 7), (259, 258), (70, 0)], ids=str)
def test_departures(kernels, shape, rng):
    """The same signs as NumPy's, sums of float64 in another order."""
    q = columns(rng.standard_normal(shape))
    got, wanted = (engine.departures(q) for engine in (emulated_engine(kernels), NumpyEngine()))
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert (signs(1000).sum(axis=0) ** 2 <= 16 * 1000).all()


@pytest.mark.parametrize(("n", "order"), [(64, 64), (256, 256), (256, 128)])
def test_inverses(kernels, n, order, rng):
    r = np.asfortranarray(np.triu(rng.standard_normal((n, n)) / n) + np.eye(n))
    got, wanted = (
        engine.inverses(r, order) for engine in (emulated_engine(kernels), NumpyEngine())
    )
    assert got.shape == (n // order, order, order)
    # The condition is below 10, and so are the lengths of chains of products.
    np.testing.assert_allclose(got, wanted, atol=1e-13)
    assert not np.tril(got, -1).any()


def test_the_whole_factorisation(kernels, rng):
    """Recursion, products and panels by the engine of the GPU; both engines do the same."""
    a = rng.standard_normal((200, 150))
    plan = plan_of("qr", "rgs", "fp16")
    results = []
    for engine in (emulated_engine(kernels), NumpyEngine()):
        q, _ = engine.load(a, scaled=True)
        r = engine.matrix(150, 150, zero=True)
        passes = Passes(engine, plan, q, r)
        passes.repeat()
        assert passes.reached
        results.append((q, r))
    for x, y in zip(*results, strict=True):
        assert np.abs(x - y).max() <= 64 * U32


def test_strides_and_sizes_of_memory():
    a = np.empty((5, 4), order="F")
    assert column_stride(a) == column_stride(a[:, 1:]) == column_stride(a[2:]) == 5
    assert column_stride(a[:, :1]) == 5
    assert column_stride(np.empty((0, 3), order="F")) >= 1
    assert [tree_nodes(m) for m in (1, 256, 257, 2048, 4096, 8192, 32768)] == [
        [1],
        [1],
        [3, 1],
        [16, 1],
        [16, 1],
        [64, 4, 1],
        [128, 8, 1],
    ]


def constants(name):
    """Return the numbers that a source of kernels names, where it writes them out."""
    source = (Path(__file__).parents[2] / "kernels" / "cuda" / "tensorcore" / name).read_text()
    lines = re.findall(r"inline constexpr \w+ (.*?);", source, flags=re.DOTALL)
    pairs = re.findall(r"(\w+) = (0x1p[-+]?\d+|\d+)f?(?=,|$)", "\n".join(lines), re.MULTILINE)
    return {key: float.fromhex(x) if "x" in x else int(x) for key, x in pairs}


def test_python_has_the_constants_of_the_kernels():
    """Launches are sized by them, and NumPy takes the same steps."""
    caqr, gram = constants("caqr.hpp"), constants("gram.hpp")
    assert (caqr["panel_columns"], caqr["block_columns"]) == (CUTOFF, SMALL)
    assert caqr["block_rows"] == max(map(rows_of_block, range(1, 20000)))
    assert (caqr["fan_in"], caqr["rounding_level"]) == (FAN_IN, numpy_panels.ROUNDING_LEVEL)
    assert constants("caqr_tree.hpp")["most_levels"] == cuda_panels._LEVELS
    threads = cuda_panels._THREADS
    assert (gram["gram_threads"], gram["panel_columns"]) == (threads, CUTOFF)
    assert gram["tile_rows"] == cuda_panels._TILE_ROWS
    found = constants("cholesky.hpp")
    names = ("least", "one_pass", "late", "most_passes")
    assert [found[name] for name in names] == [
        getattr(numpy_panels, name) for name in ("LEAST", "ONE_PASS", "LATE", "PASSES")
    ]
    assert (found["fine"], found["sound"]) == (numpy_reflector.FINE, numpy_panels.SOUND)
    reflector = constants("reflector.cu")
    assert (reflector["reflector_threads"], reflector["panel_columns"]) == (threads, CUTOFF)
    scale, vectors = constants("scale.cu"), constants("vectors.cu")
    assert (scale["scale_threads"], scale["tile"]) == (
        cuda._THREADS,
        cuda._LOAD_COLUMNS,
    )
    assert vectors["vector_threads"] == cuda._THREADS
    assert (vectors["probes"], vectors["triangle_order"]) == (PROBES, TRIANGLE)
    assert (vectors["image_columns"], vectors["departure_columns"]) == (
        cuda._IMAGE_COLUMNS,
        cuda._DEPARTURE_COLUMNS,
    )
    assert constants("round.cu")["round_threads"] == cuda._THREADS
