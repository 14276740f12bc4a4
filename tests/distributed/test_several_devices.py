"""Chunks on several devices, and ranks: the limbs of one process, by products and by trees."""

from __future__ import annotations

import threading

import fake_device
import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg
from mdqr._backend import for_block
from mdqr.linalg._factor.refine import gram
from mdqr.linalg._products.exact import plan, sums

TWO = ["cpu", "cpu"]


def problem(precision, dtype=float, *, m=110, n=6):
    """Columns of other sizes, one of them constant."""
    a = mdqr.random.normal((m, n), precision=precision, dtype=dtype, rng=0) * 10.0 ** np.arange(n)
    a[:, 2] = 1
    return a, mdqr.random.normal((m, 2), precision=precision, dtype=dtype, rng=1) * 1e10


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [(mdqr.d, float), (mdqr.dd, complex), (mdqr.qd, float), (mdqr.od, float), (mdqr.od, complex)],
    ids=str,
)
def test_solutions_are_those_of_one_machine(precision, dtype):
    a, b = problem(precision, dtype, m=40, n=4)
    one = linalg.lstsq(a, b)
    parts = [(a[:30], b[:30]), (a[30:30], b[30:30]), (a[30:], b[30:])]
    for fit in (
        md.lstsq(parts, method="products"),
        md.lstsq(a, b, devices=TWO),
        md.lstsq(a, b, devices=[*TWO, "cpu"], method="products"),
    ):
        assert (np.abs((fit.x - one.x).to_numpy()) <= fit.info.error_bound * 1.01).all()
        assert (fit.info.digits == precision.digits).all()
        assert precision is mdqr.od or mdqr.array_equal(fit.x, one.x)
        for name in ("standard_errors", "r_squared", "residual_std"):
            found, known = (getattr(x.info, name) for x in (fit, one))
            found, known = (x() if callable(x) else x for x in (found, known))
            np.testing.assert_allclose(found.to_numpy(), known.to_numpy(), rtol=1e-6)
        np.testing.assert_allclose(fit.residuals.to_numpy(), one.residuals.to_numpy(), rtol=1e-15)


@pytest.mark.parametrize(("precision", "dtype"), [(mdqr.dd, complex), (mdqr.qd, float)], ids=str)
def test_r_by_products_is_that_of_one_device(precision, dtype):
    a, _ = problem(precision, dtype)
    whole = linalg.qr(a, "r", method="refine")
    assert mdqr.array_equal(md.qr([a[:7], a[7:7], a[7:]], "r", method="products"), whole)
    assert mdqr.array_equal(md.qr(a, "r", method="products", devices=TWO), whole)
    by_tree = md.qr(a, "r", devices=TWO, method="householder")
    error = linalg.norm(by_tree - whole, axis=0) / linalg.norm(whole, axis=0)
    assert (error <= 40 * 6 * precision.eps).all()


@pytest.mark.parametrize(("precision", "dtype"), [(mdqr.dd, complex), (mdqr.qd, float)], ids=str)
def test_gram_matrices_are_exact_sums_in_any_order(precision, dtype, monkeypatch):
    """Also with so many rows that sums of bytes are reduced."""
    a, _ = problem(precision, dtype)
    block, field = a._block, a.is_complex
    backend, wide = for_block(block), gram.wide_kind(gram.Kind(precision.limbs, field))
    found = []
    for most in (plan.MOST_TERMS, 40):
        monkeypatch.setattr(plan, "MOST_TERMS", most)
        for cuts in ([60], [3, 9], [3, 3, 108]):
            parts = np.split(np.arange(110), cuts)
            chunks = [block[..., rows, :] for rows in parts]
            extents = [sums.extent_of(backend, x, field) for x in chunks]
            extent = extents[0]
            for other in extents[1:]:
                extent = extent.joined(other)
            integers, both = sums.plan_of(extent, None, wide), (extent, None)
            made = [
                sums.sums_of(backend, x, None, both, integers, is_complex=field) for x in chunks
            ]
            sums.added(made, extent, integers)  # as a task that is done again
            total = sums.added(made[::-1], extent, integers).gram
            found.append(sums.product_of(backend, total, integers, (6, 6), wide))
    for other in found[1:]:
        assert (other == found[0]).all()
    exact = a.astype(precision=mdqr.od)
    exact = linalg.matmul(exact.H, exact, precision=precision.next)
    shift = extent.powers[:, None] + extent.powers
    scaled = mdqr.from_limbs(backend.ldexp(found[0], shift, is_complex=field), dtype=dtype)
    error = np.abs((scaled - exact).to_numpy())
    size = np.abs(a.to_numpy())
    assert (error <= 40 * exact.precision.eps * (size.T @ size)).all()


def test_bounds_by_products_are_proven():
    a, b = problem(mdqr.qd)
    parts = [(a[:40], b[:40]), (a[40:], b[40:])]
    x = linalg.lstsq(a, b).x * (1 + mdqr.qd("1e-20"))
    by_tree = md.certify_lstsq(parts, None, x)
    info = md.certify_lstsq(parts, None, x, method="products")
    assert [by_tree.bound_kind, info.bound_kind] == ["estimated", "proven"]
    assert [by_tree.method, info.method] == ["tsqr", "products"]
    np.testing.assert_allclose(info.digits, 20.0, atol=0.1)
    np.testing.assert_allclose(info.r_squared.to_numpy(), by_tree.r_squared.to_numpy(), rtol=1e-12)
    assert md.lstsq(parts, method="products").info.bound_kind == "proven"


def test_ill_conditioned_matrices_go_to_the_tree():
    t = mdqr.random.uniform((90,), precision=mdqr.dd, rng=0)
    a, b = mdqr.vander(t, 14), mdqr.sin(t)
    fit = md.lstsq(a, b, devices=TWO, method="products")
    assert mdqr.array_equal(fit.x, linalg.lstsq(a, b).x)
    assert fit.info.condition > 1e8
    assert (fit.info.depth, fit.info.method, fit.info.bound_kind) == (1, "tsqr", "estimated")


class Ranks:
    """A communicator of threads."""

    def __init__(self, size):
        self.barrier, self.values = threading.Barrier(size), [None] * size

    def rank(self, rank):
        return Rank(self, rank)


class Rank:
    def __init__(self, ranks, rank):
        self.ranks, self.rank, self.size = ranks, rank, len(ranks.values)

    def all_gather(self, value):
        assert type(value) is bytes
        return self._all(value)

    def all_reduce(self, values):
        values[...] = sum(x.copy() for x in self._all(values.copy()))

    def _all(self, value):
        self.ranks.barrier.wait(20)
        self.ranks.values[self.rank] = value
        self.ranks.barrier.wait(20)
        found = list(self.ranks.values)
        self.ranks.barrier.wait(20)
        return found


def on_ranks(size, call):
    """Return what each rank returns or raises."""
    ranks, found = Ranks(size), [None] * size

    def run(rank):
        try:
            found[rank] = call(rank, ranks.rank(rank))
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("method", ["products", "householder"])
def test_ranks_have_the_answer_of_one_process(method):
    a, b = problem(mdqr.qd)
    cuts = [0, 50, 50, 110]
    rows = [slice(*cuts[i : i + 2]) for i in range(3)]
    fits = on_ranks(3, lambda i, comm: md.lstsq(a[rows[i]], b[rows[i]], comm=comm, method=method))
    here = md.lstsq([(a[part], b[part]) for part in rows], method=method)
    for fit in fits:
        assert mdqr.array_equal(fit.x, here.x)
        assert mdqr.array_equal(fit.info.R, here.info.R)
        assert fit.info.rows == here.info.rows
    grams = on_ranks(3, lambda i, comm: md.gram(a[rows[i]], comm=comm))
    whole = md.gram([a[part] for part in rows], devices=TWO)
    assert all(mdqr.array_equal(g, whole) for g in grams)
    triangles = on_ranks(3, lambda i, comm: md.qr(a[rows[i]], "r", comm=comm, method=method))
    whole = md.qr([a[part] for part in rows], "r", method=method)
    assert all(mdqr.array_equal(r, whole) for r in triangles)


def test_all_ranks_raise_what_one_raises():
    a, b = problem(mdqr.qd)
    bad = a.copy()
    bad[7, 2] = np.nan
    for rows, text in [
        (lambda i: (bad if i else a, b), "rank 1: chunk 0: the entry in row 7, column 2 of a"),
        (lambda i: (a[:, : 5 + i], b), "rank 1 have another form"),
        (lambda i: (a, b[: 110 - i]), "rank 1: a must be"),
    ]:
        for method in ("products", "householder"):

            def call(i, comm, rows=rows, method=method):
                return md.lstsq(*rows(i), comm=comm, method=method)

            for error in on_ranks(2, call):
                assert isinstance(error, (ValueError, np.linalg.LinAlgError))
                assert text in str(error)


@pytest.mark.parametrize("method", ["products", "householder"])
@pytest.mark.parametrize("since", [1, 2, 3])
def test_no_rank_waits_for_one_whose_chunk_fails(method, since):
    """At the first look, in the first pass and in the second."""
    a, b = problem(mdqr.qd)
    calls = []

    def chunk(i):
        calls.append(i)
        if len(calls) >= since:
            raise KeyError("b")
        return a, b

    def call(rank, comm):
        return md.lstsq(md.Rows(chunk, 1) if rank else [(a, b)], comm=comm, method=method)

    for error in on_ranks(2, call):
        assert type(error) is KeyError
        assert "lstsq: rank 1: chunk 0: 'b'" in str(error)


def test_forms_of_ranks_are_compared():
    a, _ = problem(mdqr.qd)
    for error in on_ranks(2, lambda i, comm: md.gram(a if i else a.astype("od"), comm=comm)):
        assert "rank 1 have another form than those of rank 0: precision qd and od" in str(error)


def test_what_cannot_be_is_refused():
    a, b = problem(mdqr.qd)
    for options, error, text in [
        ({"devices": "cpu"}, TypeError, "sequence of names"),
        ({"devices": []}, TypeError, "sequence of names"),
        ({"devices": ["gpu"]}, ValueError, 'device must be "cpu"'),
        ({"devices": TWO, "scheduler": "threads"}, ValueError, "one of scheduler"),
        ({"method": "cholesky"}, ValueError, "method must be one of"),
        ({"comm": 3}, TypeError, "comm must be"),
    ]:
        with pytest.raises(error, match=text):
            md.lstsq(a, b, **options)
    with pytest.raises(ValueError, match='for mode "r"'):
        md.qr(a, devices=TWO)
    with pytest.raises(TypeError, match="takes arrays and lists"):
        md.lstsq(iter([(a, b)]), devices=TWO)
    with pytest.raises(ValueError, match="reads rows twice"):
        md.lstsq(iter([(a, b)]), method="products")


@pytest.mark.parametrize(
    "options", [{}, {"method": "householder"}, {"weights": np.ones(60)}], ids=str
)
def test_chunks_stay_on_a_device(options, monkeypatch):
    a, b = problem(mdqr.qd, m=60, n=5)
    one = linalg.lstsq(a, b)
    fake_device.install_cupy(monkeypatch)
    a, b = a.to_device("cuda"), b.to_device("cuda")
    fit = md.lstsq(a, b, devices=["cuda:0", "cuda:0"], **options)
    assert isinstance(fit.x._block, fake_device.CuPyArray)
    assert mdqr.array_equal(fit.x.to_device("cpu"), one.x)
    assert (fit.info.digits == mdqr.qd.digits).all()
    assert fit.info.standard_errors().shape == (5, 2)
    with pytest.raises(TypeError, match="arrays of numbers"):
        md.lstsq(np.full((9, 2), "1.5"), np.full(9, "1"), devices=["cuda:0"], precision="qd")
