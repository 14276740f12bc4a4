"""Householder QR with low-precision products, and the panels of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorcore_cases import (
    DEFICIENT,
    SPECTRA,
    U32,
    backward_errors,
    blocked_householder,
    emulated_engine,
    equal_blocks,
    orthogonality,
    qr,
    with_condition,
)

from mdqr.tensorcore._algorithms.correction import rms_limit
from mdqr.tensorcore._algorithms.reflections import householder
from mdqr.tensorcore._engine import numpy_panels
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._engine.numpy import NumpyEngine
from mdqr.tensorcore._plan import PANELS

SHAPES = [(1, 1), (5, 3), (50, 50), (300, 128), (290, 129), (256, 256), (700, 290)]


def bound(form, n):
    """Return what errors of columns, and the 2-norm of ``Q^T Q - I``, may be.

    At every one of log2(n / 128) levels I - Y K Y^T is applied with five rounded operands, Y twice
    and of norm up to 2; panels err by some n roundings of float32 at most.
    """
    levels = max(int(np.ceil(np.log2(max(n, 1) / 128))), 0)
    return 8 * levels * form.unit + 8 * np.sqrt(n) * U32 + 16 * U32


def columns(array):
    return np.array(array, dtype=np.float32, order="F")


# -- qr ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("compute", FORMATS)
def test_factors(compute, panel, rng):
    for m, n in SHAPES:
        a = rng.standard_normal((m, n)).astype(np.float32)
        kept = a.copy()
        q, r = result = qr(a, method="householder", compute=compute, panel=panel)
        np.testing.assert_array_equal(a, kept)
        assert (q.shape, r.shape) == ((m, n), (n, n))
        assert q.dtype == r.dtype == np.float32
        assert q.flags.f_contiguous
        assert r.flags.f_contiguous
        assert backward_errors(a, q, r).max() <= bound(FORMATS[compute], n)
        assert orthogonality(q) <= bound(FORMATS[compute], n)
        assert not np.tril(r, -1).any()
        assert (r.diagonal() >= 0).all()
        assert (result.info.method, result.info.passes) == ("householder", 1)


@settings(max_examples=40)
@given(
    m=st.integers(1, 400),
    n=st.integers(1, 400),
    cond=st.sampled_from([1.0, 1e3, 1e7, 1e15]),
    spectrum=st.sampled_from(SPECTRA),
    seed=st.integers(0, 2**32 - 1),
    compute=st.sampled_from([*FORMATS]),
    panel=st.sampled_from(PANELS),
    again=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_any_shape_and_condition(m, n, cond, spectrum, seed, compute, panel, again, dtype):
    rng, k = np.random.default_rng(seed), min(m, n)
    a = rng.standard_normal((m, n))
    a[:, :k] = with_condition(rng, m, k, cond, spectrum)
    a = a.astype(dtype)
    q, r = qr(a, method="householder", compute=compute, panel=panel, reorthogonalize=again)
    assert (q.shape, r.shape) == ((m, k), (k, n))
    assert q.dtype == r.dtype == dtype
    form = FORMATS[compute]
    # If m < n the columns behind are Q^T a, whose operands err by u each.
    extra = 4 * form.unit if m < n else 0
    assert backward_errors(a, q, r).max() <= bound(form, k) + extra
    accepted = 2 * rms_limit(k) * np.sqrt(k) if again else bound(form, k)
    assert orthogonality(q) <= accepted


@pytest.mark.parametrize("panel", PANELS)
def test_orthogonality_does_not_depend_on_the_condition(panel, rng):
    """Where Gram-Schmidt loses it with the condition."""
    for spectrum in SPECTRA:
        found = []
        for cond in (1e0, 1e2, 1e4, 1e7, 1e12):
            a = with_condition(rng, 400, 200, cond, spectrum)
            q, r = qr(a, method="householder", panel=panel)
            assert backward_errors(a, q, r).max() <= bound(FORMATS["fp16"], 200)
            found.append(orthogonality(q))
        # Random signs of roundings; the sizes of their sums stay.
        assert max(found) <= 3 * min(found)
    assert orthogonality(qr(a, method="rgs", panel=panel).Q) >= 100 * max(found)


def check_rank_deficient(panel, a, compute, again):
    n = a.shape[1]
    q, r = qr(a, method="householder", compute=compute, panel=panel, reorthogonalize=again)
    assert backward_errors(a, q, r).max() <= bound(FORMATS[compute], n)
    accepted = 2 * rms_limit(n) * np.sqrt(n) if again else bound(FORMATS[compute], n)
    assert orthogonality(q) <= accepted


@pytest.mark.parametrize("kind", DEFICIENT)
@pytest.mark.parametrize("panel", PANELS)
def test_rank_deficient(panel, kind, rng):
    """Of each kind all formats with and without a second pass, over the panels."""
    a = DEFICIENT[kind](rng)
    for i, compute in enumerate(("fp16", "fp16x2")):
        check_rank_deficient(panel, a, compute, again=(i + list(PANELS).index(panel)) % 2 == 1)


@pytest.mark.long
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("compute", ["fp16", "fp16x2"])
@pytest.mark.parametrize("kind", DEFICIENT)
@pytest.mark.parametrize("panel", PANELS)
def test_rank_deficient_in_each_way(panel, kind, compute, again, rng):
    check_rank_deficient(panel, DEFICIENT[kind](rng), compute, again)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), panel=st.sampled_from(PANELS))
def test_blocks_of_equal_entries(seed, panel):
    """Rounding errors of sums of equal terms have one sign: no sum may be float32's."""
    a = equal_blocks(np.random.default_rng(seed))
    for compute in ("fp32", "fp16x2"):
        q, r = qr(a, method="householder", compute=compute, panel=panel)
        # Roundings of operands of equal entries have one sign, too: 56 units in 600 problems.
        several = 128 * max(FORMATS[compute].unit, U32)
        assert backward_errors(a, q, r).max() <= several
        assert orthogonality(q) <= several


@pytest.mark.parametrize("again", [False, True])
def test_zero_columns_are_counted(again, rng):
    a = rng.standard_normal((60, 20))
    a[:, [4, 11]] = 0
    for panel in PANELS:
        result = qr(a, method="householder", panel=panel, reorthogonalize=again)
        assert result.info.zero_columns == 2
        assert orthogonality(result.Q) <= 64 * U32


def test_powers_of_two_of_columns_change_nothing_else(rng):
    a = rng.standard_normal((300, 200)).astype(np.float32)
    exponents = rng.integers(-40, 41, 200)
    first = qr(a, method="householder")
    second = qr(np.ldexp(a, exponents).astype(np.float32), method="householder")
    np.testing.assert_array_equal(first.Q, second.Q)
    np.testing.assert_array_equal(np.ldexp(first.R, exponents), second.R)


@pytest.mark.parametrize("panel", PANELS)
def test_entries_from_1e_minus_30_to_1e30(panel, rng):
    a = rng.standard_normal((300, 200)) * 10.0 ** rng.integers(-30, 31, 200)
    for dtype in (np.float32, np.float64):
        q, r = qr(a.astype(dtype), method="householder", panel=panel)
        assert backward_errors(a.astype(dtype), q, r).max() <= bound(FORMATS["fp16"], 200)
        assert orthogonality(q) <= bound(FORMATS["fp16"], 200)


def test_without_scale(rng):
    a = rng.standard_normal((300, 200)).astype(np.float32)
    q, r = qr(a, method="householder", scale=False)
    assert backward_errors(a, q, r).max() <= bound(FORMATS["fp16"], 200)
    assert orthogonality(q) <= bound(FORMATS["fp16"], 200)
    with pytest.raises(np.linalg.LinAlgError, match='overflowed in compute="fp16"; use scale=True'):
        qr(a * np.float32(1e6), method="householder", scale=False)


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 5)], ids=str)
def test_empty(shape):
    k = min(shape)
    for again in (False, True):
        q, r = qr(np.empty(shape), method="householder", reorthogonalize=again)
        assert (q.shape, r.shape) == ((shape[0], k), (k, shape[1]))


def test_what_is_not_finite(rng):
    a = rng.standard_normal((300, 200))
    for place in ((0, 0), (299, 199)):
        for bad in (np.nan, np.inf):
            x = a.copy()
            x[place] = bad
            for panel in PANELS:
                with pytest.raises(np.linalg.LinAlgError, match="qr: a has entries that are not"):
                    qr(x, method="householder", panel=panel)


def test_refusals(rng):
    a = rng.standard_normal((6, 4))
    with pytest.raises(ValueError, match='must be one of "auto", "rgs", "householder"; got \'lu\''):
        qr(a, method="lu")


@pytest.mark.parametrize("kind", ["ones", "square ones", "zero columns"])
def test_a_q_of_the_library_is_made_orthonormal(kind, rng, monkeypatch):
    """It may depart by more than float32, and H found from it by more again: a GPU lost 4e-5."""

    def loose(a, r):
        geqrf(a, r)
        n = a.shape[1]
        change = np.triu(rng.standard_normal((n, n)))
        change *= 2.0**-15 / np.linalg.norm(change, 2)
        # The product stays.
        r[...] = np.triu(np.linalg.solve(np.eye(n) + change, r))
        a[...] = a @ (np.eye(n) + change)

    geqrf = numpy_panels.geqrf
    monkeypatch.setattr(numpy_panels, "geqrf", loose)
    a = DEFICIENT[kind](rng)
    for result in (
        qr(a, method="householder", compute="fp16x2", panel="geqrf"),
        blocked_householder(a, panel="geqrf"),
    ):
        assert backward_errors(a, *result).max() <= bound(FORMATS["fp16x2"], 150)
        assert orthogonality(result.Q) <= bound(FORMATS["fp16x2"], 150)


# -- panels --------------------------------------------------------------------------------------


def orthonormal_columns(rng, kind, m, n):
    """Return float32 columns whose first rows are hard for an elimination without exchanges."""
    makers = {
        "random": lambda: rng.standard_normal((m, n)),
        "signs": lambda: np.sign(rng.standard_normal((m, n))),
        "identity": lambda: np.eye(m, n),
        "minus identity": lambda: -np.eye(m, n),
        "cycle": lambda: np.roll(np.eye(m, n), 1, axis=0),
        "reversed": lambda: np.eye(m)[::-1, :n],
        "lower": lambda: np.eye(m, n) - np.tril(np.ones((m, n)), -1),
        "Hessenberg": lambda: np.triu(rng.standard_normal((m, n)), -1),
        "cosines": lambda: np.cos(np.outer(np.arange(m) + 0.5, np.arange(n)) * np.pi / m),
    }
    q, _ = np.linalg.qr(makers[kind]())
    return columns(q * rng.choice([-1.0, 1.0], n)), [*makers]


KINDS = orthonormal_columns(np.random.default_rng(0), "random", 2, 2)[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (128, 128), (150, 100), (700, 128)], ids=str)
def test_reflections_of_an_orthonormal_panel(kind, shape, rng):
    q, _ = orthonormal_columns(rng, kind, *shape)
    m, n = shape
    engine, y = NumpyEngine(), q.copy(order="F")
    k, signs = engine.matrix(n, n), engine.matrix(n, 1)[:, 0]
    engine.reflector(y, k, signs)
    reflection = np.eye(m) - np.float64(y) @ k @ np.float64(y).T
    assert orthogonality(reflection) <= 16 * U32 + 16 * orthogonality(q)
    np.testing.assert_array_equal(np.abs(signs), 1)
    assert np.abs(reflection[:, :n] - q * signs).max() <= 16 * U32
    # Orthogonality of the reflection, said of K.
    inverse = np.linalg.inv(np.float64(k))
    gram = np.float64(y).T @ np.float64(y)
    assert np.abs(inverse + inverse.T - gram).max() <= 256 * U32 * np.abs(inverse).max()
    # So that operands in binary16 neither overflow nor vanish.
    assert np.abs(k).max() <= 4


@pytest.mark.parametrize("shape", [(5, 5), (70, 37), (128, 128), (300, 100)], ids=str)
def test_the_reflector_kernel(kernels, shape, rng):
    q, _ = orthonormal_columns(rng, "random", *shape)
    n, found = shape[1], []
    for engine in (emulated_engine(kernels), NumpyEngine()):
        y, k, signs = q.copy(order="F"), engine.matrix(n, n), engine.matrix(n, 1)[:, 0]
        engine.reflector(y, k, signs)
        found.append((y, k, signs))
    for x, y in zip(*found, strict=True):
        # The same steps; a fused multiplication here, two roundings there, in float64.
        assert np.abs(x - y).max() <= U32


@pytest.fixture
def few(kernels, monkeypatch):
    """Return the emulated kernels with few blocks a launch, which is faster."""
    monkeypatch.setattr(kernels, "device", kernels.device._replace(multiprocessors=3))
    return kernels


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("shape", [(12, 12), (150, 128), (300, 40)], ids=str)
def test_orthonormal_panels(few, shape, done, rng):
    """One pass or two, after another panel or alone; kernels and NumPy in the same steps."""
    m, n = shape
    for cond, spectrum in ((1, "cluster"), (3e4, "cluster"), (1e6, "geometric")):
        a, found = columns(with_condition(rng, m, n, cond, spectrum)), []
        for engine in (emulated_engine(few), NumpyEngine()):
            q, r = a.copy(order="F"), engine.matrix(n, n, zero=True)
            if done:
                r[...] = np.eye(n)
            engine.orthonormal(q, r, done=done)
            assert orthogonality(q) <= 4 * U32
            assert backward_errors(a, q, r).max() <= 8 * U32
            assert not engine.report()[0].breakdown
            found.append((q, r))
        for x, y in zip(*found, strict=True):
            # Sums in another order, through an inverse that is large; columns that wait for the
            # next pass are kept in float32, and 2^-8 of the condition is left for it.
            late = U32 * cond * 2.0**-8 if cond > 2.0**8 else 0.0
            assert np.abs(x - y).max() <= 8 * U32 + 64 * cond * 2.0**-53 + late


def dependent_panels(rng):
    a = rng.standard_normal((150, 100))
    yield np.where(np.arange(100) == 70, 0.0, a)
    yield np.where(np.arange(100) == 70, a[:, :1], a)
    yield a[:, :30] @ rng.standard_normal((30, 100))
    # No pivot of it is small.
    yield DEFICIENT["Kahan"](rng)[:150, :100]


def test_panels_that_break_down(few, rng):
    for a in dependent_panels(rng):
        for engine in (emulated_engine(few), NumpyEngine()):
            assert not engine.report()[0].breakdown
            engine.orthonormal(columns(a), engine.matrix(100, 100, zero=True), done=False)
            assert engine.report()[0].breakdown
        for panel in PANELS:
            q, r, *_ = result = qr(a, method="householder", panel=panel)
            # Gram-Schmidt makes a direction of what roundings left, which may do.
            assert result.info.panel == "geqrf" or panel == "caqr"
            assert backward_errors(a, q, r).max() <= 16 * U32
            assert orthogonality(q) <= 16 * U32
        assert blocked_householder(a, panel="cholesky").info.panel == "geqrf"
    a = with_condition(rng, 150, 100, 1e5)
    for panel in PANELS:
        assert qr(a, method="householder", panel=panel).info.panel == panel


@pytest.mark.parametrize("panel", ["caqr", "cholesky"])
@pytest.mark.parametrize("compute", ["fp16", "bf16", "fp16x2"])
def test_the_engine_of_the_gpu_does_the_same(few, compute, panel, rng):
    a = columns(with_condition(rng, 200, 140, 1e5) / 4)
    form, found = FORMATS[compute], []
    for engine in (emulated_engine(few), NumpyEngine()):
        q, r = a.copy(order="F"), engine.matrix(140, 140, zero=True)
        householder(engine, q, r, form, panel)
        assert backward_errors(a, q, r).max() <= bound(form, 140)
        assert orthogonality(q) <= bound(form, 140)
        found.append(r)
    # Rounded operands may go the other way where sums differ.
    assert np.abs(found[0] - found[1]).max() <= 16 * form.unit
