"""Many values of the parameters at once, and start systems for groups of the unknowns."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from polynomial_systems import cyclic, eco, eigenpairs, lines, noon, system

import mdqr
from mdqr import series
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS, dd
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.proofs import certify_batch
from mdqr.series._homotopy.sweeps.sweep import _may_meet

GIVEN = series.System.from_strings(["x^2 + a*y + b*x*y + 1", "y^2 + a*x + b"], ["x", "y", "a", "b"])
NAMES, BEGIN = ["a", "b"], [0.3 + 0.8j, -0.7 + 0.2j]


@pytest.fixture(scope="module")
def start():
    return series.solve(GIVEN, parameters=NAMES, target=BEGIN).x, BEGIN


def by_value(x):
    return sorted(
        map(tuple, np.round(x.to_numpy(), 8)), key=lambda row: [(z.real, z.imag) for z in row]
    )


@pytest.mark.parametrize("precision", PRECISIONS[:3], ids=str)
def test_the_solutions_of_each_value(start, precision, rng):
    """Those that each value alone has, with the same flags."""
    targets = rng.normal(size=(5, 2))
    found = series.solve(GIVEN, parameters=NAMES, start=start, target=targets, precision=precision)
    assert found.x.shape == (5, 4, 2)
    assert found.x.precision is precision
    assert found.is_certified.all()
    assert (found.digits > precision.digits - 3).all()
    for one, target in zip(found, targets, strict=True):
        alone = series.solve(GIVEN, parameters=NAMES, target=list(target), precision=precision)
        assert by_value(one.x) == by_value(alone.x)
        assert one.is_real.sum() == alone.is_real.sum()
        assert (one.multiplicity == 1).all()


def test_paths_keep_their_places(start):
    """Each column is one branch: near the start parameters, the start points."""
    near = np.array([BEGIN, [0.3001 + 0.8j, -0.7 + 0.2j]])
    found = series.solve(GIVEN, parameters=NAMES, start=start, target=near)
    assert abs(found.to_numpy() - start[0].to_numpy()).max() < 1e-2


@pytest.mark.parametrize("precision", PRECISIONS[:3], ids=str)
def test_bounds_hold(precision, rng):
    """Square roots are known: bounds hold, and are no larger than some units."""
    given = series.System.from_strings(["x^2 - a", "y*x - b"], ["x", "y", "a", "b"])
    base = series.solve(given, parameters=NAMES, target=[2 + 1j, 3])
    targets = np.ldexp(1 + rng.random((40, 2)), rng.integers(-6, 7, (40, 2)))
    found = series.solve(
        given, parameters=NAMES, start=(base.x, [2 + 1j, 3]), target=targets, precision=precision
    )
    assert found.is_certified.all()
    assert found.is_real.all()
    for i, (a, b) in enumerate(targets):
        for point, bounds in zip(found.x[i], found.error_bound[i], strict=True):
            x, y = (Fraction(*part.real.as_integer_ratio()) for part in point)
            first, second = (Fraction(float(bound)) for bound in bounds)
            sign = 1 if x > 0 else -1
            low, high = (sign * x - first), (sign * x + first)
            assert low**2 <= Fraction(float(a)) <= high**2
            # y = b / x.
            b_exact = Fraction(float(b))
            assert sign * y - second <= b_exact / low
            assert sign * y + second >= b_exact / high
    scale = abs(found.to_numpy()) * precision.eps
    assert (found.error_bound <= 16 * scale).all()


def test_bounds_that_are_too_small_fail(monkeypatch):
    """Rounding errors of values are what is left of the bound at an exact solution."""
    given = series.System.from_strings(["x^2 - a"], ["x", "a"])
    problem = Problem.of(given, ["a"])
    terms, a = problem.terms, array([[2.0]], precision=dd)
    x = array(mdqr.sqrt(array([[2.0]], precision="qd")), precision=dd)
    error = certify_batch.proofs(terms, x.astype(dtype=complex), a).error[0, 0]
    true = abs(float((array(x, precision="qd") - mdqr.sqrt(array([[2.0]], precision="qd")))[0, 0]))
    assert true <= error
    assert error * 2.0**-10 < true


def test_double_solutions_beside_a_simple_one():
    """Ends that were found in units of their own are compared with the others."""
    lines = "(x+2*p+3*q)*(x-2*p-3*q+1)*(x+3*p+3*q-1)"
    given = series.System.from_strings([f"{lines}+2*(y-x^2-p)", "y-x^2-p"], ["x", "y", "p", "q"])
    begin, names = [0.3 + 0.8j, -0.7 + 0.2j], ["p", "q"]
    first = series.solve(given, parameters=names, target=begin, rng=8)
    found = series.solve(
        given, parameters=names, start=(first.x, begin), target=np.array([[1.0, 1.0]]), rng=8
    )
    assert sorted(found[0].multiplicity.tolist()) == [1, 2]
    assert found[0].to_numpy().real.round(6).tolist() == [[4, 17], [-5, 26]]


def test_values_where_solutions_meet_or_vanish():
    """Double roots, roots at infinity, and values next to them, beside plain ones."""
    given = series.System.from_strings(["a*x^2 - 2*x + b"], ["x", "a", "b"])
    begin = [1.0, 2 + 1j]
    base = series.solve(given, parameters=NAMES, target=begin)
    targets = [[1.0, 1.0], [1.0, 0.5], [0.0, 1.0], [1.0, 1.0 - 1e-12], [-1.0, 3.0]]
    found = series.solve(given, parameters=NAMES, start=(base.x, begin), target=np.array(targets))
    assert found.is_singular.tolist() == [[True, True]] + [[False, False]] * 4
    assert found.is_infinite.sum(axis=1).tolist() == [0, 0, 1, 0, 0]
    assert found.is_found.sum(axis=1).tolist() == [2, 2, 1, 2, 2]
    assert found.is_certified.sum(axis=1).tolist() == [0, 2, 1, 2, 2]
    assert found[0].multiplicity.tolist() == [2]
    assert len(found[3]) == 2
    assert abs(found[2].to_numpy() - 0.5).max() < 1e-15
    assert found.info.paths == 10
    assert np.isnan(found.to_numpy()[~found.is_found]).all()


def test_the_result(start, rng):
    """Parts, pickles, the text; no values at all."""
    targets = rng.normal(size=(4, 2))
    found = series.solve(GIVEN, parameters=NAMES, start=start, target=array(targets, precision="d"))
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert repr(found).startswith("<4 paths to each of 4 values of the parameters, in d")
    assert len(found[1:3]) == 2
    assert found[np.array([True, False, False, True])].info.paths == 8
    assert len(list(found)) == 4
    points = np.zeros((0, 2)), BEGIN
    unstarted = series.solve(GIVEN, parameters=NAMES, start=points, target=targets)
    assert unstarted.x.shape == (4, 0, 2)
    none = series.solve(GIVEN, parameters=NAMES, start=start, target=np.zeros((0, 2)))
    assert none.x.shape == (0, 4, 2)


def test_without_certificates(start, rng):
    found = series.solve(
        GIVEN, parameters=NAMES, start=start, target=rng.normal(size=(6, 2)), certify=False
    )
    assert found.is_found.all()
    assert not found.is_certified.any()
    assert np.isnan(found.error_bound).all()


def test_refusals(start):
    options = {"parameters": NAMES, "start": start}
    with pytest.raises(ValueError, match="3 columns"):
        series.solve(GIVEN, target=np.zeros((2, 3)), **options)
    with pytest.raises(TypeError, match="real or complex"):
        series.solve(GIVEN, target=[[Fraction(1, 3), 1]], **options)
    with pytest.raises(ValueError, match="finite"):
        series.solve(GIVEN, target=[[np.nan, 1]], **options)
    with pytest.raises(ValueError, match="solutions, values"):
        series.solve(GIVEN, parameters=NAMES, target=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="device"):
        series.solve(GIVEN, target=np.zeros((2, 2)), device="gpu", **options)


def test_points_that_may_meet():
    """Equal points are told, points whose projections alone are near are not."""
    x = np.array([[[1, 2j], [1, 2j], [3, 4]], [[1, 1j], [1, -1j], [2, 2]]], complex)
    radius = np.full(x.shape, 1e-9)
    assert _may_meet(x, radius).tolist() == [[True, True, False], [False] * 3]


@pytest.mark.parametrize(
    ("given", "groups", "paths", "count"),
    [
        (noon(3), None, 27, 21),
        (eco(5), None, 20, 8),
        (lines(1), None, 45, 27),
        (cyclic(3), [["x0", "x1", "x2"]], 6, 6),
        (system("x*y - 1", "x*y + x - 2"), [["x"], ["y"]], 2, 1),
    ],
    ids=["noon", "eco", "lines", "cyclic", "two"],
)
def test_multihomogeneous_starts(given, groups, paths, count):
    """Fewer paths, the same solutions, all certified."""
    found = series.solve(given, start="multihomogeneous", groups=groups)
    assert found.info.method == "multihomogeneous"
    assert (found.paths, len(found), found.info.failed) == (paths, count, 0)
    assert found.is_certified.all()


def test_eigenvalues_by_groups(rng):
    """As many paths as eigenvalues, where degrees alone have 2^n."""
    matrix = rng.integers(-9, 10, (5, 5))
    found = series.solve(eigenpairs(matrix), start="multihomogeneous")
    assert (found.paths, len(found)) == (5, 5)
    ours, others = (
        np.sort_complex(z) for z in (found.to_numpy()[:, -1], np.linalg.eigvals(matrix))
    )
    assert abs(ours - others).max() < 1e-10
    given = [[f"x{i}" for i in range(5)], ["z"]]
    assert series.solve(eigenpairs(matrix), start="multihomogeneous", groups=given).paths == 5


def test_groups_that_are_none():
    given = system("x*y - 1", "x + y")
    for groups in ([["x"]], [["x", "y"], ["x"]], [["x", "y"], []]):
        with pytest.raises(ValueError, match="once"):
            series.solve(given, start="multihomogeneous", groups=groups)
    with pytest.raises(TypeError, match="lists"):
        series.solve(given, start="multihomogeneous", groups=["x", "y"])
    with pytest.raises(ValueError, match="alone"):
        series.solve(given, groups=[["x"], ["y"]])
    with pytest.raises(ValueError, match="no isolated"):
        series.solve(system("x^2 - 1", "x^3 - x"), start="multihomogeneous", groups=[["x"], ["y"]])
