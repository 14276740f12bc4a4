"""Exact products on the device: the limbs of the host, whatever the workspace."""

from __future__ import annotations

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend import for_block, workspace
from mdqr._backend.cuda.products import exact as calls
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import matmul
from mdqr.linalg._products.exact import devices, lines, plan, product
from mdqr.linalg._shared import tuning

pytestmark = pytest.mark.gpu

# Tiles and groups that are not filled, one line, terms of one step and of many.
SHAPES = [(1, 1, 1), (5, 17, 3), (33, 1, 40), (65, 130, 129), (300, 257, 200), (40, 5000, 24)]


def draw(rng, precision, shape, dtype):
    """Entries of all sizes in (-1, 1) with full limbs."""
    return mdqr.random.uniform(shape, low=-1, high=1, precision=precision, dtype=dtype, rng=rng)


def exact(a, b):
    return matmul(a, b, method="exact")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_limbs_are_those_of_the_host(multiple, dtype, shape, rng):
    m, k, n = shape
    a, b = draw(rng, multiple, (m, k), dtype), draw(rng, multiple, (k, n), dtype)
    cases.same_on_both(exact, a, b)


def test_pairs_of_precisions(multiple, rng):
    for other in PRECISIONS:
        a, b = draw(rng, multiple, (30, 70), float), draw(rng, other, (70, 20), complex)
        cases.same_on_both(exact, a, b)
        cases.same_on_both(exact, b.T, a.T)


def test_batches_and_strides(multiple, dtype, rng):
    a, b = draw(rng, multiple, (3, 40, 33), dtype), draw(rng, multiple, (33, 20), dtype)
    cases.same_on_both(exact, a, b)
    cases.same_on_both(lambda x, y: exact(x[:, ::2].swapaxes(-1, -2), y[:20, ::-1]), a, b)


def test_parts_under_a_small_workspace(multiple, dtype, rng, monkeypatch):
    a, b = draw(rng, multiple, (200, 90), dtype), draw(rng, multiple, (90, 170), dtype)
    whole = exact(a, b)
    monkeypatch.setattr(workspace, "_bound", 2**20)
    cases.assert_same(exact(cases.to_device(a), cases.to_device(b)), whole)


@pytest.mark.parametrize("subtract", [False, True])
def test_addends(multiple, dtype, subtract, rng):
    """By the bound of "auto", as factorisations call it."""
    kind = Kind(multiple.limbs, dtype is complex)
    host = [draw(rng, multiple, shape, dtype) for shape in ((65, 90), (90, 70), (65, 70))]
    found = []
    for arrays in (host, [cases.to_device(x) for x in host]):
        a, b, c = (x._block for x in arrays)
        options = {"kind": kind, "c": c, "subtract": subtract, "conj_a": True, "out": c}
        assert product.multiply(for_block(c), a, b, **options)
        found.append(cases.to_host(arrays[2]))
    cases.assert_same_bits(found[1], found[0])


@pytest.mark.parametrize("shape", ["gram", "triangular", "triangles", "factors", "upper"])
def test_parts_of_triangles(multiple, dtype, shape, rng, monkeypatch):
    monkeypatch.setattr(calls, "_LEAST_COLUMNS", 64)
    kind = Kind(multiple.limbs, dtype is complex)
    a, b = (mdqr.triu(draw(rng, multiple, (300, 300), dtype)) for _ in range(2))
    if shape in ("factors", "upper"):
        a = a.T
    elif shape != "triangles":
        a = draw(rng, multiple, (300, 300), dtype)
    if shape == "gram":
        b = a.T
    found = []
    for x, y in ((a, b), (cases.to_device(a), cases.to_device(b))):
        out = mdqr.zeros_like(x)
        options = {"kind": kind, "shape": shape, "bits": lines.full_bits(kind), "out": out._block}
        assert product.multiply(for_block(x._block), x._block, y._block, **options)
        found.append(cases.to_host(out))
    cases.assert_same_bits(found[1], found[0])


@pytest.mark.parametrize("step", [-15, 9, 30])
def test_rows_and_columns_of_all_sizes(multiple, step, rng):
    a, b = draw(rng, multiple, (40, 50), float), draw(rng, multiple, (50, 30), float)
    inner = np.ldexp(1.0, step * (np.arange(50) % 20))
    rows = np.ldexp(1.0, -step * np.arange(40) % 300)
    cases.same_on_both(exact, a * inner * rows[:, None], b)


def test_integers_of_the_largest_size(multiple, dtype):
    top = 2 ** (53 * multiple.limbs) - 1
    a = mdqr.full((20, 300), top, precision=multiple, dtype=dtype)
    for b in (a.T, -a.T):
        cases.same_on_both(exact, a, b)


@pytest.mark.parametrize("value", [-128, 127, 128, 384])
def test_residues_of_128(value):
    """A unit keeps the integers from being smaller ones."""
    x = np.full((33, 70), float(value))
    x[5, 3] = 1.0
    a = mdqr.array(x, precision=mdqr.dd)
    cases.same_on_both(exact, a, a.T)


@pytest.mark.parametrize("terms", [plan.MOST_TERMS, plan.MOST_TERMS + 1, 2**17])
@pytest.mark.parametrize("value", [2.0**52 - 1, -128.0])
def test_longest_sums(terms, value):
    """The largest sums of bytes that there are."""
    x = np.full((2, terms), value)
    x[1, 0] = 1.0
    a = mdqr.array(x, precision=mdqr.qd)
    cases.same_on_both(exact, a, a.T)


def test_values_that_are_not_finite_are_refused(multiple, dtype):
    x = np.ones((20, 30))
    x[3, 4], x[7, 1] = np.inf, np.nan
    a = cases.to_device(mdqr.array(x, precision=multiple, dtype=dtype))
    with pytest.raises(mdqr.linalg.LinAlgError, match=r"finite.*direct"):
        exact(a, a.T)


def test_auto_above_the_crossover(multiple, dtype, rng):
    """Within the bound, of the least order that goes through residues."""
    kind = Kind(multiple.limbs, dtype is complex)
    backend = for_block(cases.to_device(mdqr.full((1, 1), 1.0, precision=multiple))._block)
    orders = range(128, 2048, 64)
    n = next(n for n in orders if tuning.residues_are_faster(backend, n, n, n, kind=kind))
    a, b = (cases.to_device(draw(rng, multiple, (n, n), dtype)) for _ in range(2))
    found, direct = matmul(a, b), matmul(a, b, method="direct")
    size = matmul(abs(a), abs(b), method="direct")
    error = cases.to_host(abs(found - direct) / size).max()
    assert float(error) <= 2 * (n + 10) * float(multiple.eps)


# -- several devices ----------------------------------------------------------------------------


@pytest.fixture
def others(cupy):
    """Return the names of the other GPUs."""
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip("needs two GPUs")
    return [f"cuda:{number}" for number in range(1, count)]


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_devices_do_not_change_limbs(multiple, dtype, method, others, rng, monkeypatch):
    monkeypatch.setattr(devices, "_OPERATIONS", 10**-9)  # however long copying takes
    m = 350 * (len(others) + 1)
    shapes = [(m, 300), (300, m - 200)]
    a, b = (cases.to_device(draw(rng, multiple, shape, dtype)) for shape in shapes)
    column = a, b[:, :1]
    for x, y in (
        (a, b),
        (b.T, a.T),
        (a[:, ::2], b[:150]),
        (a.astype(precision=mdqr.dd), b),
        column,
    ):
        alone = matmul(x, y, method=method)
        for _ in range(3):  # planned, and repeated
            cases.assert_same(matmul(x, y, method=method, devices=others), alone)


def test_devices_with_batches_and_runs_of_terms(others, rng, monkeypatch):
    """The second run has the sum of the first as its addend."""
    monkeypatch.setattr(devices, "_OPERATIONS", 10**-9)
    monkeypatch.setattr(plan, "MOST_TERMS", 96)
    a = cases.to_device(draw(rng, mdqr.dd, (2, 300 * (len(others) + 1), 200), float))
    b = cases.to_device(draw(rng, mdqr.dd, (200, 70), float))
    heard = []
    found = matmul(a, b, method="exact", devices=others, progress=lambda *x: heard.append(x))
    cases.assert_same(found, matmul(a, b, method="exact"))
    assert heard[-1][1:] == (420, 420)


def test_the_device_of_the_operands_is_not_another_one(cupy, rng):
    a = cases.to_device(draw(rng, mdqr.dd, (300, 300), float))
    found = exact(a, a)
    cases.assert_same(matmul(a, a, method="exact", devices=["cuda:0"]), found)
