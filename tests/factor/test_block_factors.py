"""Cholesky and LU factors by blocks, on one device and on several, against exact products."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from factor_cases import accept_cholesky, accept_lu, definite, watch
from fake_cuda_libraries import libraries

import mdqr
from mdqr._backend.cuda.factor import elimination
from mdqr._backend.cuda.floats.library import Library
from mdqr._backend.places import Here, places_of
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr.linalg import cholesky, lu_factor, solve
from mdqr.linalg._factor.refine import blocks, lu_blocks, rows
from mdqr.linalg._factor.refine import cholesky as refine
from mdqr.linalg._shared import devices as devices_of_calls
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import gather

WIDTH = 8


@pytest.fixture(autouse=True)
def served(monkeypatch):
    """Factor by small blocks on the host; whether that served, each time."""
    for name in ("cpu", "cuda"):
        monkeypatch.setitem(tuning._REFINED_FACTORS, name, 1)
        for table in (tuning._CHOLESKY_BLOCKS, tuning._LU_BLOCKS):
            monkeypatch.setitem(table, name, ((np.inf, WIDTH, 1),))
    return watch(monkeypatch, blocks, lu_blocks)


@pytest.mark.parametrize(("n", "cond"), [(9, 1e1), (29, 1e1), (29, 1e6)])
def test_errors_of_entries(served, multiple, dtype, n, cond, rng):
    far = min(300, cases.room(multiple) * 5 // 9)  # its square has limbs that are doubles
    scale = 2.0 ** rng.integers(-far, far, n)
    accept_lu(cases.random(n, n, multiple, dtype, rng, cond=cond) * scale)
    a = definite(n, multiple, dtype, rng, cond=cond)
    accept_cholesky(a * scale * scale[:, None])
    assert served == [True, True]


def nearly_singular(precision, rng):
    """Return a definite matrix whose first block has a factor that float64 cannot invert."""
    cond = 1e28 if precision is mdqr.dd else 1e44
    c = cholesky(definite(20, mdqr.od, float, rng), upper=True)
    c[:WIDTH, :WIDTH] = cholesky(definite(WIDTH, mdqr.od, float, rng, cond=cond), upper=True)
    return (c.T @ c).astype(precision=precision)


def test_singular_blocks_are_left_to_others(served, multiple, rng):
    a = cases.random(20, 20, multiple, float, rng, cond=1e18)
    accept_lu(a)
    a = nearly_singular(multiple, rng)
    served.clear()
    accept_cholesky(a)
    assert served == [False]


def test_conditions_that_float64_does_not_factor(served, multiple, rng):
    """Blocks on the diagonal are left to the recursion: their inverses are of the factor."""
    a = definite(20, multiple, float, rng, cond=1e18)
    assert cholesky(a, devices=["cpu"]).shape == (20, 20)
    assert served == [True]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_limbs_do_not_depend_on_devices(multiple, dtype, count, rng):
    """And are those of one device that takes blocks; far scales, both triangles."""
    scale = 2.0 ** rng.integers(-300, 300, 29)
    a = definite(29, multiple, dtype, rng, cond=1e3) * scale * scale[:, None]
    for upper in (False, True):
        # What is not read may be anything.
        given = (mdqr.triu if upper else mdqr.tril)(a).copy()
        given[(28, 0) if upper else (0, 28)] = np.nan
        found = cholesky(given, upper=upper, devices=["cpu"] * count)
        assert mdqr.array_equal(found, cholesky(given, upper=upper))
        assert found.device == "cpu"


def test_diagonal_blocks_that_sweeps_leave(multiple, monkeypatch):
    """Many zeros, and columns of the order of one block: the recursion factors these."""
    band = np.eye(20) * 4 + np.eye(20, k=1) + np.eye(20, k=-1)
    for a in (mdqr.array(band, precision=multiple), mdqr.eye(5, precision=multiple)):
        c = cholesky(a, devices=["cpu", "cpu"])
        assert (abs(c - cholesky(a)).to_numpy() <= 50 * multiple.eps).all()


def test_errors_of_devices(multiple, rng):
    a = definite(20, multiple, float, rng)
    two = ["cpu", "cpu"]
    for devices in ("cpu", 5, []):
        with pytest.raises(TypeError, match="sequence of names"):
            cholesky(a, devices=devices)
    with pytest.raises(ValueError, match="one matrix of more than float64"):
        cholesky(mdqr.stack([a, a]), devices=two)
    with pytest.raises(ValueError, match="of more than float64"):
        cholesky(a.astype(precision=mdqr.d), devices=two)
    bad = a.copy()
    bad[17, 3] = np.inf
    with pytest.raises(mdqr.linalg.LinAlgError, match="row 17, column 3 of a"):
        cholesky(bad, devices=two)
    bad[17, 3], bad[12, 12] = 0, -1
    with pytest.raises(mdqr.linalg.LinAlgError, match="minor of order 13 is not positive"):
        cholesky(bad, devices=two)
    bad = nearly_singular(mdqr.od, rng)
    with pytest.raises(mdqr.linalg.LinAlgError, match="leave devices= out"):
        cholesky(bad, devices=two)
    assert cholesky(a[:0, :0], devices=two).shape == (0, 0)


def test_bounds_decide(multiple, dtype, rng):
    """Errors of blocks beside the diagonal are seen."""
    inputs = gather(definite(20, multiple, dtype, rng), precision=None)
    place, given = Here(inputs.backend), [inputs.blocks[0]]
    task = refine.task_of(inputs.kind, 20, WIDTH)
    assert blocks.factor(task, [place], given) is not None
    small = task._replace(bound=2.0**-10 * task.bound)
    assert blocks.factor(small, [place], given) is None


@pytest.mark.parametrize("what", ["inverse", "rest"])
def test_wrong_parts_are_seen(what, multiple, dtype, monkeypatch, rng):
    """An inverse that is right to few bits, and rows that are not what is left."""
    a = definite(20, multiple, dtype, rng)
    if what == "inverse":
        found = rows._inverted

        def spoiled(backend, c, kind):
            x, loss = found(backend, c, kind)
            return [x * (1 + 2.0**-30), loss]

        monkeypatch.setattr(rows, "_inverted", spoiled)
    else:
        found = rows._product

        def spoiled(backend, x, y, form, c=None):
            made = found(backend, x, y, form, c)
            if c is None:
                made.block[..., 0, 0, -1] *= 1 + 2.0**-30
            return made

        monkeypatch.setattr(rows, "_product", spoiled)
    inputs = gather(a, precision=None)
    task = refine.task_of(inputs.kind, 20, WIDTH)
    found = blocks.factor(task, [Here(inputs.backend)], [inputs.blocks[0]])
    if found is not None:
        accept_cholesky(a)


def test_losses_of_float64_inverses(multiple, dtype, rng):
    """Bounds of ``I - X H`` are above it, entry by entry."""
    c, field = cholesky(definite(12, multiple, dtype, rng), upper=True), dtype is complex
    x, loss = rows._inverted(
        gather(c, precision=None).backend, c._block, Kind(multiple.limbs, field)
    )
    near = mdqr.MDArray._wrap(planes.first_limbs(x, field, 1), mdqr.d, field)
    left = mdqr.eye(12, precision=mdqr.od) - near.astype(precision=mdqr.od) @ c
    size = abs(left.to_numpy())
    assert (size <= loss).all()
    assert size.any()


def test_on_a_device(multiple, dtype, monkeypatch, rng):
    """Nothing of what is recorded is read by the host, also where products go by residues."""
    monkeypatch.setattr(tuning, "residues_are_faster", lambda *_, **options: True)
    a = definite(20, multiple, dtype, rng)
    known = cholesky(a), lu_factor(a).lu
    fake_device.install(monkeypatch)
    given = mdqr.MDArray._wrap(fake_device.DeviceArray(a.limbs), a.precision, a.is_complex)
    for found, one in zip((cholesky(given), lu_factor(given).lu), known, strict=True):
        assert (np.asarray(fake_device.bare(found.limbs)) == one.limbs).all()


@pytest.mark.parametrize(("multiple", "dtype"), [(mdqr.dd, float), (mdqr.qd, complex)], ids=str)
def test_on_emulated_kernels(cuda, multiple, dtype, rng, monkeypatch):
    """Factors in float64 by LAPACK in place of cuSOLVER."""
    monkeypatch.setattr(elimination, "library", lambda own, kind: Library(own, kind, *libraries()))
    a, kind = definite(20, multiple, dtype, rng), Kind(multiple.limbs, dtype is complex)
    bound = 190 * multiple.eps
    found = refine._by_blocks(cuda, a._block, kind, bound, WIDTH)
    assert found is not None
    known = refine._by_blocks(gather(a, precision=None).backend, a._block, kind, bound, WIDTH)
    difference = mdqr.MDArray._wrap(found - known, multiple, dtype is complex)
    assert (abs(difference.to_numpy()) <= 2.0**-40).all()


def test_nothing_is_held_where_blocks_fail(multiple, rng):
    """Work that was put off does not hold the columns until cycles are collected."""
    kind, two = Kind(multiple.limbs, False), places_of(["cpu", "cpu"])
    whole, parts = definite(20, multiple, float, rng)._block, [np.r_[:8, 16:20], np.r_[8:16]]
    columns = [whole[..., part].copy() for part in parts]
    held = [weakref.ref(x) for x in columns]
    task = refine.task_of(kind, 20, WIDTH)

    def find(backend, a, first):
        return None if first == 16 else task.find_head(backend, a, first)

    gc.disable()
    try:
        assert blocks.factor(task._replace(find_head=find), two, columns) is None
        del columns
        assert [x() for x in held] == [None, None]
    finally:
        gc.enable()


def test_places_are_finished_where_blocks_fail(monkeypatch, rng):
    """Others may still read memory that is given away."""
    ended = []
    monkeypatch.setattr(Here, "finish", lambda place: ended.append(place))
    a = definite(20, mdqr.dd, float, rng)
    cholesky(a, devices=["cpu", "cpu"])
    assert len(ended) == 3
    with pytest.raises(mdqr.linalg.LinAlgError):
        cholesky(-a, devices=["cpu", "cpu"])
    assert len(ended) == 6


def test_devices_of_two_kinds(monkeypatch, rng):
    """The host does not do alone what a GPU was asked to share in."""
    numbers = {"cpu": None, "cuda:0": 0}
    monkeypatch.setattr(devices_of_calls, "check_device", numbers.get)
    a = definite(20, mdqr.dd, float, rng)
    for call in (cholesky, partial(solve, a)):
        with pytest.raises(ValueError, match=r'GPUs alone; got .*: leave "cpu" out'):
            call(a, devices=["cuda:0", "cpu"])


def test_arrays_of_numpy(rng):
    a = definite(20, mdqr.dd, float, rng).to_numpy()
    found = cholesky(a, precision="qd", devices=("cpu", "cpu"))
    assert mdqr.array_equal(found, cholesky(a, precision="qd"))


def test_places_of_the_host():
    places = places_of(["cpu", "cpu"])
    assert [type(place) for place in places] == [Here, Here]
    x = np.arange(3.0)
    assert places[0].take(x, places[1]) is x
