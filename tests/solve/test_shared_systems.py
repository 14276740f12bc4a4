"""Systems whose rows are on several devices: solutions, bounds and errors of one."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import solve
from mdqr.linalg._solve.solvers import shared
from mdqr.testing import matrix

TWO = ["cpu", "cpu"]


def problem(precision, dtype, rng, *, n=23, k=2, cond=1e4):
    """Return a system of scaled rows and columns, and sides."""
    a = matrix("random", n, n, cond=cond, precision=precision, dtype=dtype, rng=rng)
    far = min(200, cases.room(precision) // 3)
    scale = 2.0 ** rng.integers(-far, far, (2, n))
    b = mdqr.random.normal((n, k), precision=precision, dtype=dtype, rng=rng)
    return a * scale[0] * scale[1][:, None], b * scale[1][:, None]


def assert_equal_digits(found, known):
    """Bits too, but of od and hd, whose limbs hold more than the digits."""
    if known.precision.limbs < 8:
        assert mdqr.array_equal(found, known)
    far = abs((found - known).to_numpy())
    assert (far <= 2.0**-6 * known.precision.eps * abs(known.to_numpy())).all()


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_solutions_are_those_of_one_device(multiple, dtype, count, rng):
    """x has more digits than are kept, so that the order of sums shows in no digit."""
    a, b = problem(multiple, dtype, rng)
    x, info = solve(a, b, devices=["cpu"] * count, return_info=True)
    one, known = solve(a, b, method="refine", return_info=True)
    assert_equal_digits(x, one)
    assert (info.digits == known.digits).all()
    assert info.bound_kind == "proven"
    # One kernel call bounds what gaps between many limbs hold, too.
    least = 2.0**-6 * multiple.eps * abs(one.to_numpy()) if multiple.limbs > 8 else 0.0
    assert (info.error_bound <= 2.0 * known.error_bound + least).all()
    vector = solve(a, b[:, 0], devices=["cpu"] * count, verified=True)
    assert_equal_digits(vector, one[:, 0])


@pytest.mark.parametrize("narrow", [mdqr.dd, mdqr.qd], ids=str)
def test_bounds_are_above_errors(narrow, dtype, rng):
    a, b = problem(narrow, dtype, rng, n=9, k=1, cond=1e7)
    x, info = solve(a, b, devices=TWO, return_info=True)
    exact = solve(a, b, precision=mdqr.od, method="householder")
    error = abs((x.astype(precision=mdqr.od) - exact).to_numpy())
    assert (error <= info.error_bound).all()
    assert (error > 0).any()
    assert (info.error_bound <= 4.0 * narrow.eps * abs(exact.to_numpy())).all()


def test_rates_of_x(dtype, rng):
    """Sums of rows of moduli of ``I - X A``, with what rounding may add."""
    a = cases.random(23, 23, mdqr.dd, dtype, rng, cond=1e6)
    matrix = shared.SharedMatrix(a._block, Kind(2, dtype is complex), shared.places_of(["cpu"] * 3))
    found = matrix.invert()
    x = mdqr.array(np.concatenate(matrix._x), precision=mdqr.dd)
    left = (mdqr.eye(23, precision=mdqr.dd) - x @ a).to_numpy()
    sums = abs(left).sum(axis=1)
    assert (sums <= found.rows[:, 0]).all()
    assert found.rate == found.rows.max()
    condition = np.linalg.cond(a.to_numpy())
    assert condition / 4 <= found.condition <= condition * (1 + 1e-6)


def test_vectors_by_rows(multiple, dtype, rng):
    field = dtype is complex
    kind = Kind(multiple.limbs, field)
    a, b = problem(multiple, dtype, rng)
    x = mdqr.random.normal(b.shape, precision=multiple, dtype=dtype, rng=rng)
    matrix = shared.SharedMatrix(a._block, kind, shared.places_of(["cpu"] * 4))
    found = mdqr.MDArray._wrap(matrix.less(b._block, x._block, kind), multiple, field)
    wide = [y.astype(precision=PRECISIONS[-1]) for y in (a, b, x, found)]
    error = abs((wide[3] - (wide[1] - wide[0] @ wide[2])).to_numpy())
    sizes = abs(b.to_numpy()) + abs(a.to_numpy()) @ abs(x.to_numpy())
    # Twice, where the exact one is no better.
    assert (error <= 100 * multiple.eps * sizes).all()
    sums = matrix.sums(abs(x.to_numpy()))
    np.testing.assert_allclose(sums, abs(a.to_numpy()) @ abs(x.to_numpy()), rtol=1e-13)


def test_what_devices_refuse(multiple, rng):
    a, b = problem(multiple, float, rng)
    for devices in ("cpu", 5, []):
        with pytest.raises(TypeError, match="sequence of names"):
            solve(a, b, devices=devices)
    with pytest.raises(ValueError, match="one matrix of more than float64"):
        solve(mdqr.stack([a, a]), mdqr.stack([b, b]), devices=TWO)
    with pytest.raises(
        ValueError, match=r"vectors \(n,\) or \(n, k\); got shapes \(23, 23\) and \(2, "
    ):
        solve(a, mdqr.stack([b, b]), devices=TWO)
    with pytest.raises(ValueError, match='methods "auto" and "refine"'):
        solve(a, b, devices=TWO, method="householder")
    bad = a.copy()
    bad[3, 2] = np.nan
    with pytest.raises(mdqr.linalg.LinAlgError, match="row 3, column 2 of a"):
        solve(bad, b, devices=TWO)
    with pytest.raises(mdqr.linalg.LinAlgError, match="leave devices= out"):
        solve(cases.random(23, 23, multiple, float, rng, cond=1e17), b, devices=TWO)
    assert solve(a[:0, :0], b[:0], devices=TWO).shape == (0, 2)


def test_sides_of_all_shapes(multiple, dtype, rng):
    """None, of NumPy, and of one unknown."""
    a, b = problem(multiple, dtype, rng, n=9, k=6)
    for left, right in ((a, b[:, :0]), (a, b.to_numpy()), (a[:1, :1], b[:1])):
        found, known = solve(left, right, devices=TWO), solve(left, right, method="refine")
        assert found.shape == known.shape
        assert_equal_digits(found, known)


def test_progress(rng):
    calls = []
    a, b = problem(mdqr.qd, float, rng)
    solve(a, b, devices=TWO, progress=lambda *call: calls.append(call))
    assert {stage for stage, *_ in calls} == {"refine"}
