"""All solutions of polynomial systems: counts, multiplicities, and the result."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from polynomial_systems import chandra, cyclic, eco, katsura, noon, system

import mdqr
from mdqr import series


def check_sum(found):
    """Each path is accounted for."""
    info = found.info
    others = info.at_infinity + info.positive_dimensional + info.extraneous + info.failed
    assert info.paths == others + found.multiplicity.sum()


@pytest.mark.parametrize(
    ("given", "count", "infinite"),
    [
        *((katsura(n), 2**n, 0) for n in (2, 3, 4, 5)),
        (cyclic(3), 6, 0),
        (cyclic(5), 70, 50),
        (noon(3), 21, 6),
        (noon(4), 73, 8),
        (eco(5), 8, 46),
        (chandra(4), 8, 8),
        (system("x*y - 1", "x*y + x - 2"), 1, 3),
    ],
    ids=lambda value: (
        str(value) if isinstance(value, int) else value.variables[0] + str(value)[:20]
    ),
)
def test_counts(given, count, infinite):
    """All solutions are found, certified, and distinct; the other paths are at infinity."""
    found = series.solve(given, start="total_degree")
    assert (len(found), found.at_infinity, found.info.failed) == (count, infinite, 0)
    assert found.is_certified.all()
    assert not found.is_singular.any()
    assert found.digits.min(initial=31) >= 0
    assert (found.multiplicity == 1).all()
    check_sum(found)


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (katsura(3), 8),
        (cyclic(5), 70),
        (cyclic(6), 156),
        (noon(3), 21),
        (eco(6), 16),
        (eco(7), 32),
        (chandra(5), 16),
        (system("x*y - 1", "x*y + x - 2"), 1),
    ],
)
def test_counts_by_mixed_cells(given, count):
    """As many paths as solutions, all certified; solutions with zeros among them."""
    found = series.solve(given, start="polyhedral")
    assert found.info.method == "polyhedral"
    assert (found.paths, len(found), int(found.is_certified.sum())) == (count, count, count)
    check_sum(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_precision_follows_the_noise_of_terms(seed):
    """Coefficients of Wilkinson's polynomial in float64 have other roots."""
    text = "*".join(f"(x-{i})" for i in range(1, 17))
    found = series.solve(system(text, names="x"), rng=seed)
    assert found.is_certified.all()
    assert found.to_numpy()[:, 0].tolist() == list(range(1, 17))


@pytest.mark.parametrize("seed", [1, 2])
def test_paths_next_to_infinity(seed):
    """Two paths of eco-6 run together where x0 is 1e-10, long before they end."""
    found = series.solve(eco(6), start="total_degree", rng=seed)
    assert (len(found), found.at_infinity, found.info.failed) == (16, 146, 0)


@pytest.mark.parametrize("start", ["total_degree", "polyhedral"])
def test_tiny_coefficients_do_not_decide_the_units(start):
    """A sum that cancels to 4e-12 is no sign of such solutions, nor a plateau of infinity."""
    first, second = "(x-1)*(x-1000000000001/1000000000000)*(x-4)", "y^2-2*x^2-4"
    found = series.solve(system(f"{first}-1*({second})", second), start=start, rng=51)
    assert (len(found), found.at_infinity, found.info.failed) == (6, 0, 0)
    assert found.is_certified.all()


def test_mixed_volumes():
    """Known ones; that of dense equations is the product of the degrees."""
    assert [series.mixed_volume(cyclic(n)) for n in range(3, 8)] == [6, 16, 70, 156, 924]
    assert [series.mixed_volume(katsura(n)) for n in (3, 4)] == [6, 12]
    assert series.mixed_volume(system("x*y", "x - 1")) == 0
    dense = system("(1+x+y+z)^2", "(1+2*x+3*y+z)^3", "(2+x+y+z)^4", names="x,y,z")
    assert series.mixed_volume(dense) == 24
    moving = series.System.from_strings(["x^3 - t*x*y + 1", "x*y^2 + t"], ["x", "y"])
    assert series.mixed_volume(moving) == 6
    with pytest.raises(ValueError, match="as many equations"):
        series.mixed_volume(system("x^2-1", "y", "x*y"))


def test_mixed_volumes_of_random_supports():
    """In the plane it is the area of the sum less the areas of both polygons."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        supports = [np.unique(rng.integers(0, 7, (5, 2)), axis=0) for _ in range(2)]
        texts = ["+".join(f"x^{i}*y^{j}" for i, j in points) for points in supports]
        sums = (supports[0][:, None] + supports[1]).reshape(-1, 2)
        wanted = doubled_area(sums) - doubled_area(supports[0]) - doubled_area(supports[1])
        if all(points.any(axis=1).any() for points in supports):
            assert 2 * series.mixed_volume(system(*texts)) == wanted


def doubled_area(points):
    """Return twice the area of the convex hull, by Andrew's chains."""
    points = sorted(map(tuple, points.tolist()))

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    hull = []
    for row in (points, points[::-1]):
        chain = []
        for point in row:
            while len(chain) > 1 and cross(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        hull += chain[:-1]
    pairs = zip(hull, hull[1:] + hull[:1], strict=True)
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in pairs))


@pytest.mark.parametrize(
    ("given", "multiplicities", "infinite"),
    [
        (system("(x-1)^2", names="x"), [2], 0),
        (system("27*(x-3)^3", names="x"), [3], 0),
        (system("y*(x-y)", "x^2-y"), [1, 3], 0),
        (system("29/16*x^3-2*x*y", "y-x^2"), [3], 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [0, 1])
def test_multiple_solutions(given, multiplicities, infinite, seed):
    """Multiplicities are the numbers of paths; nothing singular is certified."""
    found = series.solve(given, start="total_degree", rng=seed)
    assert sorted(found.multiplicity.tolist()) == multiplicities
    assert found.at_infinity == infinite
    assert (found.is_singular == (found.multiplicity > 1)).all()
    assert (found.is_certified == ~found.is_singular).all()
    assert np.isnan(found.digits[found.is_singular]).all()
    check_sum(found)


def test_a_curve_of_solutions_is_said():
    """Cyclic-4 has no isolated solution."""
    for start, paths in (("total_degree", 20), ("polyhedral", 16)):
        found = series.solve(cyclic(4), start=start)
        assert len(found) == 0
        assert found.info.positive_dimensional == paths
        check_sum(found)


@pytest.mark.parametrize("precision", ["d", "dd", "qd", "od"])
def test_error_bounds_of_known_solutions(precision):
    """Square roots of rational numbers, against exact squares: each bound holds, and is close."""
    given = system("x^2 - 2/7", "y^2 + 3*x*y - 1/10")
    found = series.solve(given, precision=precision)
    assert found.is_certified.all()
    assert len(found) == 4
    assert found.digits.min() > found.x.precision.digits - 2
    for one in found:
        x, y = (Fraction(*value.real.as_integer_ratio()) for value in one.x)
        ex, ey = (Fraction(float(bound)) for bound in one.error_bound)
        assert one.is_real
        # The solution lies where the equation changes its sign.
        assert ((x - ex) ** 2 - Fraction(2, 7)) * ((x + ex) ** 2 - Fraction(2, 7)) <= 0
        assert float(ex) <= 8 * found.x.precision.eps * abs(float(x))
        assert float(ey) <= 64 * found.x.precision.eps * abs(float(y))


def test_realness():
    """Solutions 3 +- 1e-14 i are not real, however near the axis; a sum of squares has none."""
    found = series.solve(system("(x-3)^2 + 1/10^28", names="x"), precision="qd")
    assert len(found) == 2
    assert found.is_certified.all()
    assert not found.is_real.any()
    assert len(found.filter(real=True)) == 0


def test_parameters():
    """From the solutions at one value of the parameters to those at another."""
    given = series.System.from_strings(["x^2 + a*x + b", "y - a*x"], ["x", "y", "a", "b"])
    first = series.solve(given, parameters=["a", "b"], target=[1, -2])
    assert sorted(first.x[:, 0].to_numpy().real) == [-2.0, 1.0]
    then = series.solve(given, parameters=["a", "b"], start=(first.x, [1, -2]), target=["0.5", 3])
    direct = series.solve(given, parameters=["a", "b"], target=["0.5", 3])
    assert then.paths == 2
    assert then.is_certified.all()
    assert abs(then.to_numpy() - direct.to_numpy()).max() < 1e-15
    with pytest.raises(series.NotASolutionError):
        series.solve(given, parameters=["a", "b"], start=([[5, 3]], [1, -2]), target=[0, 1])


def test_the_parameter_of_a_system():
    given = series.System.from_strings(["x^3 - t"], ["x"])
    found = series.solve(given, target=2, precision="qd")
    assert found.is_real.sum() == 1
    assert found.is_certified.all()
    assert abs(float((found.x[0, 0].real ** 3 - 2).to_numpy())) < 1e-62
    with pytest.raises(ValueError, match="target="):
        series.solve(given)


def test_more_equations_than_unknowns():
    """Solutions of combinations of the equations are not solutions."""
    found = series.solve(system("x^2-1", "(x-1)*(y-2)", "(x-1)*(y^2-3)+y-2"))
    assert found.to_numpy().round(12).tolist() == [[1, 2]]
    assert not found.is_certified.any()
    assert np.isnan(found.digits).all()
    assert found.info.extraneous == 3
    check_sum(found)


@pytest.mark.parametrize("precision", ["d", "dd", "qd"])
@pytest.mark.parametrize("seed", [0, 1])
def test_zeros_solve_more_equations_than_unknowns(precision, seed):
    """All terms of an equation may have a coordinate that is zero but for rounding errors."""
    texts = ("(x+3)*(x+2)*(x+1)", "y-(4*x^2+14*x+6)", "y*(y+6)*(y+4)", "x*y*(y+6)*(y+4)")
    found = series.solve(system(*texts), precision=precision, rng=seed)
    assert found.to_numpy().round(9).tolist() == [[-3, 0], [-2, -6], [-1, -4]]
    assert found.multiplicity.tolist() == [1, 1, 1]
    origin = series.solve(system("x*y", "x*(x-1)", "y*(y-2)"), precision=precision, rng=seed)
    assert sorted(map(tuple, origin.to_numpy().round(9))) == [(0, 0), (0, 2), (1, 0)]
    assert origin.multiplicity.tolist() == [1, 1, 1]
    assert origin.info.extraneous == 1


@pytest.mark.parametrize("seed", [0, 1, 55])
@pytest.mark.parametrize("start", ["total_degree", "multihomogeneous"])
def test_nearly_equal_eigenvalues_leave_no_set(start, seed):
    """All vectors are nearly solutions: the isolated ones are certified, once, or lost and said."""
    first = "9100000000009/1300000000000*u + 3/650000000000*v - l*u"
    second = "3/650000000000*u + 2275000000001/325000000000*v - l*v"
    found = series.solve(system(first, second, "u+v-1", names="u,v,l"), start=start, rng=seed)
    assert found.info.positive_dimensional == 0
    assert found.info.failed or len(found) == 2
    assert found.is_certified.all()
    values = found.to_numpy()[:, 0].real.round(9).tolist()
    assert set(values) <= {-2.0, 0.6}
    assert len(set(values)) == len(values)
    check_sum(found)


@pytest.mark.parametrize("seed", [0, 103])
def test_close_zeros_are_found_or_lost_and_said(seed):
    """Each row is a solution: ends between close ones are none."""
    texts = (f"x*(x-1/{10**16})*(x-4)", "y*(y-1/1000)*(y-2)")
    found = series.solve(system(*texts), start="polyhedral", rng=seed)
    assert found.is_certified.all()
    assert len(found) + found.info.failed == 9
    check_sum(found)


def test_one_lost_path_beside_a_cluster():
    """A loop that ends where no path is known, of a single path."""
    texts = ("(x-1)*(x-6)^3", f"y^2*(y-1/{10**23})*(y-4)^2")
    check_sum(series.solve(system(*texts), start="polyhedral", rng=67))


@pytest.mark.parametrize(
    "texts",
    [
        ("x^2+y^2-1", "x^2+y^2-1"),
        ("x*y-1", "2*x*y-2"),
        ("x^2-1", "x^3-x"),
        ("(x+y-2)*(x-1)", "(x+y-2)*(y-3)*x"),
    ],
)
def test_equations_that_repeat_leave_curves(texts):
    """Newton's corrections are small on a curve where roundings leave the Jacobian an inverse."""
    for start in ("total_degree", "polyhedral"):
        found = series.solve(system(*texts), start=start)
        assert found.info.positive_dimensional > 0
        check_sum(found)
        assert len(found) == found.is_certified.sum()
        assert all(abs(complex(one.x[0].to_numpy())) < 4 for one in found)


@pytest.mark.parametrize("multiplicity", [16, 30, pytest.param(50, marks=pytest.mark.long)])
def test_many_paths_at_a_point_are_no_set(multiplicity):
    found = series.solve(system(f"x^{multiplicity}", names="x"), start="total_degree")
    assert found.multiplicity.tolist() == [multiplicity]
    assert found.info.positive_dimensional == found.info.failed == 0


def test_refusals():
    moving = series.System.from_strings(["x^2 - t"], ["x"])
    with pytest.raises(ValueError, match="singular"):
        series.solve(moving, start=([[0.0]], 0), target=2)
    with pytest.raises(ValueError, match="to start from must be finite"):
        series.solve(moving, start=([[np.nan]], 1), target=2)
    with pytest.raises(ValueError, match="one axis, or two"):
        series.solve(moving, target=np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"has 2 values; the system needs 1 \(the param"):
        series.solve(moving, target=[1, 2])
    for value in (np.nan, np.inf):
        given = series.System.from_arrays([[1], [0]], [value, 1], [0, 0])
        with pytest.raises(ValueError, match="coefficients of the system must be finite"):
            series.solve(given)
    with pytest.raises(ValueError, match="slice"):
        series.solve(system("x + y"))
    with pytest.raises(ValueError, match="no unknown"):
        series.solve(system("3", "x + y"))
    with pytest.raises(ValueError, match="total_degree"):
        series.solve(system("x", "y"), start="dense")
    with pytest.raises(TypeError, match="System"):
        series.solve("x")
    with pytest.raises(ValueError, match="1000000 are followed"):
        series.solve(system("x^2000", "y^2000"))
    with pytest.raises(ValueError, match="different names"):
        series.solve(system("x", "y"), parameters=["z"])


def test_the_result():
    """Indices, masks, iteration, pickles, SymPy, the table."""
    found = series.solve(noon(3), start="total_degree")
    assert len(list(found)) == len(found) == 21
    assert found[0].is_real
    assert not found[-1].is_real
    assert len(found[:3]) == 3
    assert len(found[found.is_real]) == found.is_real.sum()
    assert len(found.filter(real=False)) + len(found.filter(real=True)) == 21
    assert len(found.filter(singular=True)) == 0
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert again.paths == 27
    assert mdqr.array_equal(again.x, found.x)
    assert pickle.loads(pickle.dumps(found[0])).multiplicity == 1
    pytest.importorskip("sympy")
    assert len(found.to_sympy()) == 21
    assert repr(found).startswith("<21 solutions in dd, 7 real, 21 certified; 27 paths, 6 to inf")


def test_progress():
    seen = []
    series.solve(katsura(3), progress=lambda *one: seen.append(one))
    assert seen[-1] == ("ends", 8, 8)
    assert {stage for stage, *_ in seen} == {"paths", "ends"}


def test_the_same_twice_and_with_other_seeds():
    """A seed gives the same limbs; other seeds the same solutions."""
    one, two, other = (series.solve(katsura(3), rng=seed) for seed in (3, 3, 4))
    assert mdqr.array_equal(one.x, two.x)
    assert abs((one.x - other.x).to_numpy()).max() < 1e-28
