"""Dask: arrays, schedulers, and a cluster of two processes of which one is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:ResourceWarning")


class Chunks:
    """Chunks from a function; one kills its process, once, in the first pass or in the second."""

    def __init__(self, folder=None, kill_at=-1):
        self.folder, self.kill_at = folder, kill_at

    def __call__(self, i):
        if self.folder is not None and i == 5:
            calls = Path(self.folder) / "calls"
            with calls.open("a") as file:
                file.write("x")
            if calls.stat().st_size == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        t = mdqr.random.uniform((100,), precision=mdqr.qd, rng=i)
        return mdqr.vander(t, 6), mdqr.sin(t)


def test_arrays_of_dask():
    rng = np.random.default_rng(0)
    a, b, w = rng.normal(size=(200, 5)), rng.normal(size=200), rng.uniform(size=200)
    parts = [da.from_array(a, chunks=(60, 5)), *(da.from_array(x, chunks=60) for x in (b, w))]
    fit = md.lstsq(*parts[:2], weights=parts[2], precision="qd")
    assert mdqr.array_equal(fit.x, linalg.lstsq(a, b, weights=w, precision="qd").x)
    assert fit.info.rows == (60, 60, 60, 20)
    with pytest.raises(ValueError, match="blocks of columns"):
        md.lstsq(parts[0].rechunk((60, 2)), parts[1])
    with pytest.raises(ValueError, match="chunks of b are not those of a"):
        md.lstsq(parts[0], parts[1].rechunk(50))
    Q, R = md.qr(parts[0], precision="dd")
    found = linalg.certify(mdqr.array(a, precision=mdqr.dd), Q.compute(scheduler="synchronous"), R)
    assert max(found.columnwise, found.orthogonality) < 20 * 5


def test_arrays_of_dask_are_not_gathered_in_silence():
    a = da.from_array(np.ones((20, 2)), chunks=5)
    for call in (linalg.lstsq, mdqr.linalg.solve, mdqr.linalg.qr):
        arguments = (a,) if call is mdqr.linalg.qr else (a, a[:, 0])
        with pytest.raises(TypeError, match=r"mdqr\.distributed"):
            call(*arguments)


def test_blocks_of_limbs():
    a = mdqr.random.normal((20, 3), precision=mdqr.qd, rng=0)
    x = md.as_dask(a, rows=6)
    assert mdqr.array_equal(x.compute(scheduler="synchronous"), a)
    more = ((x + x)[1:].T.rechunk((3, 4)) * 2).compute(scheduler="synchronous")
    assert mdqr.array_equal(more, 4 * a[1:].T)
    sines = x.map_blocks(mdqr.sin, dtype=float).compute(scheduler="synchronous")
    assert mdqr.array_equal(sines, mdqr.sin(a))
    assert mdqr.array_equal(md.qr(x, "r"), md.qr([a[:6], a[6:12], a[12:18], a[18:]], "r"))


def test_products_by_tasks():
    a = mdqr.random.normal((90, 4), precision=mdqr.qd, rng=0)
    b = mdqr.random.normal((90,), precision=mdqr.qd, rng=1)
    x, y = md.as_dask(a, 20), md.as_dask(b, 20)
    fit = md.lstsq(x, y, method="products", scheduler="threads", fan_in=2)
    assert mdqr.array_equal(fit.x, linalg.lstsq(a, b).x)
    assert (fit.info.method, fit.info.bound_kind) == ("products", "proven")
    r = md.qr(x, "r", method="products", scheduler="threads")
    assert mdqr.array_equal(r, linalg.qr(a, "r", method="refine"))


def test_arithmetic_of_blocks_keeps_all_limbs(tmp_path):
    a = mdqr.random.normal((12, 4), precision=mdqr.qd, rng=0)
    x, whole = md.as_dask(a, rows=5), linalg.matmul(a.T, a)
    parts = x.rechunk((5, 2))
    for made, known in [
        (x.T @ x, whole),
        (parts.T @ parts, whole),
        (x.T.dot(x), whole),
        (da.tensordot(x, x, axes=([0], [0])), whole),
        (da.einsum("ij,ik->jk", x, x), whole),
        (x @ x[0], a @ a[0]),
        (x.sum(axis=0), a.sum(axis=0)),
        (x.prod(axis=1), a.prod(axis=1)),
        (x.cumsum(axis=0), mdqr.cumsum(a, axis=0)),
        (da.sqrt(abs(x)) / x - 1, mdqr.sqrt(abs(a)) / a - 1),
        (da.where(x > 0, x, 0), mdqr.where(a > 0, a, 0)),
        (md.as_dask(a * 1j, rows=5).sum(axis=0), (a * 1j).sum(axis=0)),
    ]:
        found = made.compute(scheduler="synchronous")
        assert found.precision is mdqr.qd
        np.testing.assert_array_less((abs(found - known)).to_numpy(), 1e-62)
    for dtype in (float, np.dtype(np.float32), np.dtype(complex)):
        with pytest.raises(TypeError, match="dtype"):
            np.sum(a, dtype=dtype)
    pytest.importorskip("zarr")
    md.save_rows(x, tmp_path / "rows.zarr")
    found = md.open_rows(tmp_path / "rows.zarr")
    assert mdqr.array_equal(mdqr.concatenate([found[i] for i in range(len(found))]), a)


def test_sizes_are_those_of_the_limbs():
    from dask.sizeof import sizeof

    a = mdqr.zeros((100, 10), precision=mdqr.od)
    assert a.nbytes <= sizeof(a) < a.nbytes + 200
    fit = linalg.UpdatableLstsq(a + mdqr.eye(100, 10, precision=mdqr.od), a[:, 0])
    assert sizeof(fit) > a.nbytes


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=100
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.mark.parametrize("kill_at", [-1, 1, 2])
def test_a_cluster_gives_the_same_limbs_with_a_worker_killed(client, tmp_path, kill_at):
    """At its first call chunk 5 is in the first pass, at the second in the second."""
    here = md.lstsq(md.Rows(Chunks(), 9), scheduler="synchronous")
    rows = md.Rows(Chunks(str(tmp_path), kill_at), 9)
    there = md.lstsq(rows, scheduler=client)
    assert mdqr.array_equal(there.x, here.x)
    assert mdqr.array_equal(there.info.R, here.info.R)
    assert (tmp_path / "calls").stat().st_size >= 2 + (kill_at > 0)


def test_a_cluster_that_was_restarted_gives_the_same_limbs(client):
    rows = md.Rows(Chunks(), 9)
    before = md.lstsq(rows, scheduler=client)
    client.restart()
    after = md.lstsq(rows, scheduler=client)
    assert mdqr.array_equal(after.x, before.x)
    assert mdqr.array_equal(after.info.R, before.info.R)


def test_results_on_disk_are_the_same():
    """Each result of a task is spilled, the limbs of chunks as well."""
    a = mdqr.random.normal((400, 6), precision=mdqr.qd, rng=0)
    b = mdqr.random.normal((400,), precision=mdqr.qd, rng=1)
    here = md.lstsq(md.as_dask(a, 50), md.as_dask(b, 50), scheduler="synchronous")
    # The worker is in this process, which may hold more than it would go on with.
    memory = {"target": 1e-9, "spill": False, "pause": False, "terminate": False}
    settings = {f"distributed.worker.memory.{name}": value for name, value in memory.items()}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1, processes=False, dashboard_address=None, memory_limit="1GiB"
        ) as cluster,
        distributed.Client(cluster) as own,
    ):
        kept = own.persist(md.as_dask(a, 50))
        distributed.wait(kept)
        (worker,) = cluster.workers.values()
        assert worker.data.spilled_total.memory > a.nbytes / 2
        there = md.lstsq(kept, md.as_dask(b, 50), scheduler=own)
    assert mdqr.array_equal(there.x, here.x)
    assert mdqr.array_equal(there.info.R, here.info.R)


class Deadly(Chunks):
    """Chunk 5 kills each worker that reads it."""

    def __call__(self, i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(i)


def test_a_chunk_that_no_worker_survives_is_named(client):
    scheduler = client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(RuntimeError, match=r"chunk \d in the stage factor") as error:
            md.lstsq(md.Rows(Deadly(), 9), scheduler=client)
    finally:
        scheduler.allowed_failures = allowed
    assert type(error.value.__cause__).__name__ == "KilledWorker"


def test_a_bad_chunk_is_named_on_a_cluster(client):
    a = np.ones((40, 2)) * np.arange(40.0)[:, None] ** [0, 1]
    a[25, 1] = np.inf
    parts = da.from_array(a, chunks=(10, 2)), da.from_array(a[:, 0], chunks=10)
    with pytest.raises(np.linalg.LinAlgError, match="chunk 2: the entry in row 5, column 1 of a"):
        md.lstsq(*parts, scheduler=client)


def test_workers_have_the_threads_they_were_given(client):
    found = client.run(lambda: __import__("mdqr").config.get_num_threads())
    assert set(found.values()) == {1}
