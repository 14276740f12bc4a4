"""Systems, factors and inverses of middle orders: recorded work, and exact products."""

from __future__ import annotations

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr import linalg
from mdqr._backend import for_block
from mdqr._backend.blocks import order_of
from mdqr.linalg import lstsq, solve
from mdqr.linalg._factor.refine import gram
from mdqr.linalg._solve import choose
from mdqr.testing import assert_close

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("columns", [1, 3])
def test_systems_that_come_again(multiple, dtype, columns, rng, monkeypatch):
    """From the third on they are recorded: nothing changes, and other operands have other bits."""
    seen, find = [], choose.planned.solve

    def planned(problem):
        seen.append(find(problem))
        return seen[-1]

    monkeypatch.setattr(choose.planned, "solve", planned)
    n, options = 150, {"precision": multiple, "dtype": dtype, "rng": rng, "device": cases.DEVICE}
    for _ in range(2):
        a, b = (mdqr.random.normal((n, k), **options) for k in (n, columns))
        found = [solve(a, b) for _ in range(4)]
        x, info = solve(a.to_device("cpu"), b.to_device("cpu"), return_info=True)
        for each in found:
            assert_close(each.to_device("cpu"), x, ulps=1)
    # Four calls on the device, and one of the host, which plans no steps.
    assert [answer is None for answer in seen] == 2 * [False, False, False, False, True]
    assert info.digits.min() >= multiple.digits - 1
    a[3, 4] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="row 3, column 4 of a is NaN"):
        solve(a, b)


@pytest.mark.parametrize("columns", [1, 3])
def test_least_squares_that_come_again(multiple, dtype, columns, rng, monkeypatch):
    seen, find = [], choose.planned.solve

    def planned(problem):
        seen.append(find(problem))
        return seen[-1]

    monkeypatch.setattr(choose.planned, "solve", planned)
    options = {"precision": multiple, "dtype": dtype, "rng": rng, "device": cases.DEVICE}
    for _ in range(2):
        a, b = (mdqr.random.normal((300, k), **options) for k in (120, columns))
        found = [lstsq(a, b) for _ in range(4)]
        wanted = lstsq(a.to_device("cpu"), b.to_device("cpu"))
        for each in found:
            assert_close(each.x.to_device("cpu"), wanted.x, ulps=1)
            assert_close(each.residuals.to_device("cpu"), wanted.residuals, ulps=16)
            assert each.info.digits.min() >= multiple.digits - 1
    assert [answer is None for answer in seen] == 2 * [False, False, False, False, True]


@pytest.mark.parametrize("n", [1, 31, 100, 700])
def test_inverses_of_float64_matrices(dtype, n, rng):
    """Of triangles, whatever lies below them, and of a matrix with interchanges."""
    backend = for_block(mdqr.zeros(1, precision=mdqr.dd, device=cases.DEVICE)._block)
    a = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype is complex else 0)
    r = np.triu(a, 1) / n + 2 * np.eye(n)
    x = backend.invert_triangle(backend.xp.asarray(r + np.tril(a, -1))).get()
    assert np.abs(x @ r - np.eye(n)).max() <= 100 * n * 2.0**-53
    y = backend.invert_floats(backend.xp.asarray(a)).get()
    assert np.abs(y @ a - np.eye(n)).max() <= 100 * n * 2.0**-53 * np.linalg.cond(a)
    packed, swaps, order = (part.get() for part in backend.lu_floats(backend.xp.asarray(a)))
    np.testing.assert_array_equal(order, order_of(swaps, n))
    lower = np.tril(packed, -1) + np.eye(n)
    assert np.abs(lower @ np.triu(packed) - a[order]).max() <= 100 * n * 2.0**-53 * np.abs(a).max()


def test_factors_and_inverses_of_middle_orders(multiple, dtype, rng):
    """From float64 factors and inverses; the errors are within the promises."""
    n = 420
    options = {"precision": multiple, "dtype": dtype, "rng": rng, "device": cases.DEVICE}
    a = mdqr.random.normal((n, n), **options)
    g = a @ (a.mT.conj() if dtype is complex else a.mT) / n + mdqr.eye(
        n, precision=multiple, device=cases.DEVICE
    )
    size = float(linalg.norm(g))
    lu, piv = linalg.lu_factor(g)
    lower = mdqr.tril(lu, -1) + mdqr.eye(n, precision=multiple, device=cases.DEVICE)
    order = list(range(n))
    for i, place in enumerate(piv.get().tolist()):
        order[i], order[place] = order[place], order[i]
    c = linalg.cholesky(g, upper=True)
    adjoint = c.mT.conj() if dtype is complex else c.mT
    # The products have errors of their own.
    for rest in (g[order] - lower @ mdqr.triu(lu), g - adjoint @ c):
        assert float(linalg.norm(rest)) <= 4 * n * multiple.eps * size
    x, info = linalg.inv(g, return_info=True)
    rest = g @ x - mdqr.eye(n, precision=multiple, device=cases.DEVICE)
    assert float(linalg.norm(rest)) <= 4 * n * multiple.eps * size * float(linalg.norm(x))
    assert info.bound_kind == "proven"
    assert info.digits.min() >= multiple.digits - 1


@pytest.mark.parametrize("shape", [(300, 260), (900, 100)], ids=str)
@pytest.mark.parametrize("multiple", [mdqr.dd, mdqr.qd, mdqr.od], ids=str)
@pytest.mark.parametrize("is_short", [True, False], ids=["short", "long"])
def test_r_by_a_gram_matrix(multiple, dtype, shape, is_short, rng, monkeypatch):
    """In the limbs of R where that is exact, in twice as many, or in as many bits as R takes."""
    seen, factor = [], gram.factor

    def kept(*args, **options):
        seen.append(factor(*args, **options))
        return seen[-1]

    monkeypatch.setattr(gram, "factor", kept)
    options = {"dtype": dtype, "rng": rng, "device": cases.DEVICE}
    a = mdqr.random.normal(shape, precision=mdqr.d if is_short else multiple, **options)
    r = linalg.qr(a, "r", method="refine", precision=multiple).to_device("cpu")
    assert [found is None for found in seen] == [False]
    exact = linalg.qr(a.to_device("cpu"), "r", method="householder", precision=multiple)
    error = linalg.norm(r - exact, axis=-2)
    assert (error <= 40 * shape[1] * multiple.eps * linalg.norm(exact, axis=-2)).all()
