"""Approximate inverses: bounds of what they leave, products by halves, triangles, norms."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._backend.host.backend import HostBackend
from mdqr._backend.host.backend import backend as host_backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import constant, largest_singular_value
from mdqr.linalg._inverse.rounds import approximate_inverse, float_inverse, inverse_of_lower
from mdqr.linalg._inverse.split import Halves, error_norm, error_of_rows
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import gather


class RulesOfGpus(HostBackend):
    """The CPU's kernels, by the rules for a GPU."""

    name = "cuda"


@given(
    st.integers(0, 2**32),
    st.integers(1, 24),
    st.sampled_from([float, complex]),
    st.sampled_from(PRECISIONS[1:]),
    st.booleans(),
)
def test_what_an_inverse_leaves_is_bounded(seed, n, dtype, precision, on_gpu):
    """Of one to four limbs, against products in od; a GPU has other rules, and shifts."""
    rng = np.random.default_rng(seed)
    m = n + int(rng.integers(0, 2)) * 7
    most = -np.log10(precision.eps) * (1 if m == n else 0.5)
    a = cases.random(m, n, precision, dtype, rng, cond=10.0 ** rng.uniform(0, 0.8 * most))
    inputs = gather(a, precision=None)
    backend = RulesOfGpus() if on_gpu else inputs.backend
    answer = approximate_inverse(backend, inputs.blocks[0], Checks(), kind=inputs.kind)
    if answer is None:
        assert n > 1
        return
    found, good = answer
    assert good.all()
    assert found.rate < 2.0**-5
    x = mdqr.from_limbs(planes.widen(found.x, dtype is complex, 8), dtype=dtype)
    one = mdqr.eye(n, precision=mdqr.od)
    if found.is_square:
        left = abs(one - mdqr.linalg.matmul(x, a)).to_numpy()
        assert (left.sum(axis=-1, keepdims=True) <= found.rows).all()
        norm = left.sum(axis=-1).max()
    else:
        q = mdqr.linalg.matmul(a, x)
        norm = np.linalg.norm((one - mdqr.linalg.matmul(q.H, q)).to_numpy(), 2)
    assert norm <= found.rate[0, 0]


@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([float, complex]))
def test_products_by_halves_err_within_their_bounds(seed, n, dtype):
    """Lines of far sizes, whose terms cancel; against products in od."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))

    def draw(*shape):
        rows, columns = (int(k) for k in rng.integers(-8, 9, 2))
        return cases.scaled(cases.random(*shape, mdqr.dd, dtype, rng), rows, columns)

    a, x = draw(m, n), draw(n, m)
    (x_block, a_block), backend = gather(x, a, precision=None).blocks, host_backend()
    left, right = Halves.of(a_block, dtype is complex, -1), Halves.of(x_block, dtype is complex, -2)
    exact = mdqr.linalg.matmul(a.astype(precision=mdqr.od), x.astype(precision=mdqr.od))
    firsts = mdqr.array(left.first, precision=mdqr.od) @ mdqr.array(right.first, precision=mdqr.od)
    assert (firsts == left.first @ right.first).all()
    unit = constant(Kind(1, dtype is complex), n)
    found = split.product(backend, left, right)
    pair = mdqr.from_limbs(split.pair(backend, left, right), dtype=dtype)
    # What is cut off the operands, and the last rounding.
    loose = 2.0**-100 * (abs(left.whole) @ abs(right.whole))
    for error, last in ((found, 2.0**-52 * abs(found)), (pair, 0.0)):
        error = abs(exact - error).to_numpy() - loose - last
        assert (error.sum(axis=-1, keepdims=True) <= error_of_rows(left, right, 2 * unit)).all()
        assert np.linalg.norm(error.clip(0)) <= error_norm(left, right, 2 * unit)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_inverses_of_triangles(n, batch, dtype, rng):
    lower = np.tril(rng.standard_normal((*batch, n, n))).astype(dtype) / n + 2 * np.eye(n)
    if dtype is complex:
        lower = lower + 0.5j * np.eye(n)
    found = inverse_of_lower(np, lower)
    # Some roundings a term.
    np.testing.assert_allclose(found @ lower, np.broadcast_to(np.eye(n), lower.shape), atol=1e-13)


def test_singular_values_are_estimated_from_below(rng):
    a = rng.standard_normal((4, 30, 20))
    found, exact = largest_singular_value(host_backend(), a), np.linalg.norm(a, 2, axis=(-2, -1))
    assert (found <= exact * (1 + 1e-12)).all()
    assert (found >= 0.9 * exact).all()


@pytest.mark.parametrize("cond", [1e1, 1e4, 1e6, 1e9, 1e13])
def test_inverses_by_gram_matrices_leave_no_more_than_those_by_lu(dtype, cond, rng, monkeypatch):
    """Up to a condition of some 1e5; beyond it is LU that serves."""
    for table in (tuning._FACTORED_INVERSES, tuning._GRAM_INVERSES):
        monkeypatch.setitem(table, "cpu", 1)
    calls, backend = [], host_backend()

    def by_lu(_, x):
        calls.append(x)
        return np.linalg.inv(x)

    monkeypatch.setattr(HostBackend, "invert_floats", by_lu)
    a = cases.random(60, 60, mdqr.d, dtype, rng, cond=cond).to_numpy()
    one, found = np.eye(60), float_inverse(backend, a)
    left, least = (np.linalg.norm(one - x @ a) for x in (found, np.linalg.inv(a)))
    assert left <= 2 * least + 2.0**-32
    assert bool(calls) == (cond > 1e5)
