"""Rows in chunks on GPUs: limbs of one process, with several GPUs and by NCCL."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import gpu_cases as cases
import gpu_rank
import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg
from mdqr.distributed._rows import Chunk, form_of
from mdqr.distributed._tree import check_of
from mdqr.linalg._shared import tuning

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def count(cupy):
    """Return the number of GPUs, two at least."""
    found = cupy.cuda.runtime.getDeviceCount()
    if found < 2:
        pytest.skip("needs two GPUs")
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_the_check_of_a_chunk_is_that_of_the_host(precision, dtype, weighted, rng):
    a, b = (cases.array(rng, precision, shape, dtype) for shape in ((70, 5), (70, 2)))
    w = cases.array(rng, precision, (70,), float) if weighted else None
    form = form_of("lstsq", (a, b), None, sides=True)
    # A transposed matrix, and a slice, have other strides.
    for x in (a, a.T[:, :5], a[:, ::2], a[:0]):
        blocks = [None if y is None else y._block for y in (x, b, w)]
        there = [None if y is None else cases.to_device(y)._block for y in (x, b, w)]
        assert check_of(Chunk(3, *there), form) == check_of(Chunk(3, *blocks), form)
        blocks[1] = np.nextafter(b._block, np.inf)
        assert check_of(Chunk(3, *there), form) != check_of(Chunk(3, *blocks), form)


@pytest.mark.parametrize("method", gpu_rank.METHODS)
def test_rows_that_change_between_passes_are_seen(method):
    a, b = map(cases.to_device, gpu_rank.problem(mdqr.qd, float))
    calls = []

    def chunk(i):
        calls.append(i)
        part = slice(100 * i, 100 * i + 100)
        return (a[part], b[part]) if len(calls) < 5 else (a[part][::-1], b[part][::-1])

    with pytest.raises(RuntimeError, match="not the same in pass"):
        md.lstsq(md.Rows(chunk, 3), method=method)


@pytest.fixture(scope="module")
def on_two(count):
    """Return the answers of several devices of this process, with the chunks of the ranks."""
    names = [f"cuda:{i}" for i in range(count)]

    def parts(precision, dtype):
        whole = gpu_rank.problem(precision, dtype)
        return [
            tuple(x[rows].to_device(name) for x in whole)
            for rows, name in zip(gpu_rank.rows_of(count), names, strict=True)
        ]

    return gpu_rank.answers(
        lambda p, t, method: md.lstsq(parts(p, t), devices=names, method=method),
        lambda p, t, method: md.qr([a for a, _ in parts(p, t)], "r", devices=names, method=method),
        lambda p, t: md.gram([a for a, _ in parts(p, t)], devices=names),
    )


def require_same(found, known):
    for one, other in zip(found, known, strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)


def test_devices_give_the_limbs_of_the_host(on_two, count, host):
    def parts(precision, dtype):
        whole = gpu_rank.problem(precision, dtype)
        return [tuple(x[rows] for x in whole) for rows in gpu_rank.rows_of(count)]

    def solve(precision, dtype, method):
        return md.lstsq(parts(precision, dtype), method=method)

    found = iter(on_two)
    for precision, dtype in gpu_rank.CASES:
        for method in gpu_rank.METHODS:
            x, r, bound, digits, used = next(found)
            one = solve(precision, dtype, method)
            assert used == one.info.method
            np.testing.assert_array_equal(digits, precision.digits)
            # Eight limbs may hold more than 424 bits.
            difference = mdqr.from_limbs(x, dtype=dtype) - one.x
            assert (np.abs(difference.to_numpy()) <= bound + one.info.error_bound).all()
            assert precision is mdqr.od or not difference.to_numpy().any()
            if method == "products" and precision is not mdqr.od:
                known = md.qr([a for a, _ in parts(precision, dtype)], "r", method=method)
                np.testing.assert_array_equal(r, known.limbs)
        known = md.gram([a for a, _ in parts(precision, dtype)])
        np.testing.assert_array_equal(next(found)[0], known.limbs)


def test_ranks_by_nccl_give_the_limbs_of_one_process(on_two, count, tmp_path):
    pytest.importorskip("cupy.cuda.nccl", exc_type=ImportError)
    program = [sys.executable, gpu_rank.__file__, str(tmp_path), str(count)]
    ranks = [
        subprocess.Popen([*program, str(i)], stderr=subprocess.PIPE, text=True)
        for i in range(count)
    ]
    try:
        for rank in ranks:
            _, text = rank.communicate(timeout=200)
            assert rank.returncode == 0, text
    finally:
        for rank in ranks:
            rank.kill()
    for i in range(count):
        *found, message = pickle.loads(Path(tmp_path / f"rank-{i}").read_bytes())
        require_same(found, on_two)
        assert f"rank {count - 1}: chunk 0: the entry in row 3, column 4 of a" in message


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a matrix of order 500 have four blocks, and float64 factors."""
    for table in (tuning._CHOLESKY_BLOCKS, tuning._LU_BLOCKS):
        monkeypatch.setitem(table, "cuda", ((np.inf, 128, 1),))
    monkeypatch.setitem(tuning._REFINED_FACTORS, "cuda", 64)


@pytest.mark.parametrize("n", [129, 500])
def test_blocks_on_one_device_are_within_their_bounds(small_blocks, multiple, dtype, n, rng):
    """Three times: the first calls are not recorded. Errors are proven apart from the factors."""
    options = {"precision": multiple, "dtype": dtype, "rng": rng, "device": cases.DEVICE}
    x = mdqr.random.normal((n, n), **options)
    a = x.H @ x
    for _ in range(3):
        factors = linalg.lu_factor(x)
        lower, upper = (abs(y.to_numpy()) for y in (mdqr.tril(factors.lu, -1), factors.lu))
        size = np.linalg.norm((lower + np.eye(n)) @ np.triu(upper))
        bound = (n + 8 * np.log2(n) + 56) * multiple.eps
        assert factors.info.error_bound <= bound * size
        c, info = linalg.cholesky(a, upper=True, return_info=True)
        size = np.linalg.norm(abs(c.to_numpy()).T @ abs(c.to_numpy()))
        assert info.error_bound <= (1.5 * n + 160) * multiple.eps * size


def test_factors_are_those_of_one_device(count, small_blocks, multiple, dtype, rng):
    """Real ones limb by limb; sweeps of complex ones may take other float64 sums when recorded."""
    x = mdqr.random.normal((600, 500), precision=multiple, dtype=dtype, rng=rng)
    a, names = x.H @ x, [f"cuda:{i}" for i in range(count)]
    there = a.to_device("cuda:0")

    def accept(found, known):
        if dtype is float:
            assert mdqr.array_equal(found, known)
        size = abs(known.to_numpy()).max()
        assert abs((found - known).to_numpy()).max() <= 1000 * multiple.eps * size

    for upper in (False, True):
        known = linalg.cholesky(there, upper=upper)
        for devices in (names, names[::-1], names[:1], names * 2):
            found = linalg.cholesky(there, upper=upper, devices=devices)
            assert found.device == "cuda:0"
            accept(found, known)
        accept(linalg.cholesky(a, upper=upper, devices=names), known.to_device("cpu"))
    bad = there.copy()
    bad[300, 300] = -1
    with pytest.raises(mdqr.linalg.LinAlgError, match="minor of order 301 is not positive"):
        linalg.cholesky(bad, devices=names)


def test_systems_have_the_solutions_of_one_device(count, multiple, dtype, rng):
    a, b = (
        mdqr.random.normal(shape, precision=multiple, dtype=dtype, rng=rng)
        for shape in ((500, 500), (500, 3))
    )
    names, there = [f"cuda:{i}" for i in range(count)], (a.to_device("cuda"), b.to_device("cuda"))
    known, one = linalg.solve(*there, return_info=True)
    for devices in (names, names[::-1], names[:1]):
        x, info = linalg.solve(*there, devices=devices, return_info=True)
        assert (info.digits >= multiple.digits - 1).all()
        error = abs((x - known).to_numpy())
        assert (error <= info.error_bound + one.error_bound).all()
        x = linalg.solve(a, b, devices=devices)
        assert x.device == "cpu"
        assert (abs((x - known.to_device("cpu")).to_numpy()) <= 2.0 * one.error_bound).all()
