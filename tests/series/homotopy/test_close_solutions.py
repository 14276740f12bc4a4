"""Solutions close to each other: of one system, of sweeps, simple and multiple ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from polynomial_systems import conics, system

import mdqr
from mdqr import series
from mdqr._precision import PRECISIONS

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def cubic():
    """``x (x - a) (x + a b)``, where c is zero, and solutions at other parameters."""
    texts = ["x^3 + (a*b - a + c)*x^2 - (a^2*b + a*c)*x", "3*y - x^2 - c"]
    given = series.System.from_strings(texts, ["x", "y", *NAMES])
    begin = [1.0 + 0.5j, 0.75 - 0.25j, 0.5 + 1j]
    return given, (series.solve(given, parameters=NAMES, target=begin).x, begin)


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("precision", PRECISIONS[1:3], ids=str)
def test_rows_of_close_solutions(cubic, precision, certify):
    """All are found, each right to its bound, as `solve` finds them at one value."""
    given, start = cubic
    options = {"parameters": NAMES, "start": start, "precision": precision, "certify": certify}
    targets = [[2.0**-e, 0.75, 0.0] for e in (22, 30, 45, 58)]
    sweep = series.solve(given, target=np.array(targets), **options)
    assert sweep.is_found.all()
    for found, target in zip(sweep, targets, strict=True):
        alone = series.solve(given, target=target, **options)
        assert len(found) == len(alone) == 3
        a, b = map(Fraction, target[:2])
        wanted = [Fraction(0), a, -a * b]
        for solutions in (found, alone):
            assert (solutions.is_certified == certify).all()
            assert sorted(near(one, wanted) for one in solutions) == [0, 1, 2]


def near(one, wanted):
    """Return which of some numbers x is, to its bound, or to most digits."""
    x = Fraction(*one.x[0].real.as_integer_ratio())
    place = min(range(len(wanted)), key=lambda i: abs(wanted[i] - x))
    size = max(map(abs, wanted))
    bound = one.error_bound[0] if one.is_certified else 2.0**-90 * float(size)
    assert abs(wanted[place] - x) <= Fraction(float(bound))
    return place


def test_sets_at_some_values():
    """A row says which paths end on a curve, as one system does."""
    texts = ["(x+y-1)*(x-a)", "(x+y-1)*(y-b) + c*(x-3*y)"]
    given = series.System.from_strings(texts, ["x", "y", *NAMES])
    begin = [0.3 + 1j, 0.7 - 0.2j, 1 + 1j]
    start = series.solve(given, parameters=NAMES, target=begin).x, begin
    target = [3.0, 5.0, 0.0]
    row = series.solve(given, parameters=NAMES, start=start, target=np.array([target]))[0]
    alone = series.solve(given, parameters=NAMES, start=start, target=target)
    assert row.info.positive_dimensional == alone.info.positive_dimensional > 0
    for found in (row, alone):
        assert found.to_numpy().round(12).tolist() == [[3, 5]]
        assert found.is_certified.all()
        assert found.info.failed == 0


@pytest.mark.parametrize(
    ("text", "multiplicities"),
    [
        ("(x-1)^2*(x-1-1/10^9)^2*(x-4)", [2, 2, 1]),
        ("(x-1/3)^2*(x-1/3-1/10^9)", [2, 1]),
        ("(x-1)^3*(x-1-1/10^6)^2*(x+1)", [1, 3, 2]),
    ],
)
@pytest.mark.parametrize("start", ["total_degree", "polyhedral"])
def test_multiple_solutions_close_together(text, multiplicities, start):
    """They are told apart; simple ones among them are certified."""
    found = series.solve(system(text, "y - x^2"), start=start)
    order = np.argsort(mdqr.array(found.x[:, 0].real, precision="qd").to_numpy(), kind="stable")
    assert found.multiplicity[order].tolist() == multiplicities
    assert found.is_certified.tolist() == (found.multiplicity == 1).tolist()
    assert (found.cluster_radius < 1e-10).all()
    assert (found.cluster_radius > 0).tolist() == found.is_singular.tolist()
    assert found.info.failed == 0


def test_what_is_not_told_apart_is_said():
    """The radius covers what is one solution in dd, and two in a higher precision."""
    given = system("(x-1)^2*(x-1-1/10^20)^2", names="x")
    found = series.solve(given)
    assert found.multiplicity.tolist() == [4]
    assert 0.5e-20 <= found.cluster_radius[0] < 1e-9
    assert "one within" in repr(found)
    more = series.solve(given, precision="od")
    assert more.multiplicity.tolist() == [2, 2]
    assert (more.cluster_radius < 1e-21).all()
    apart = abs(more.x[0, 0] - more.x[1, 0])
    assert abs(float(apart * 1e20) - 1) < 1e-15


def test_double_solutions_at_parameters_that_are_no_doubles():
    """The homotopy ends at the exact value: at the rounded one there are two solutions."""
    given = series.System.from_strings(["x^2 - 2*a*x + b"], ["x", "a", "b"])
    begin = [1 + 1j, 0.5 - 2j]
    start = series.solve(given, parameters=["a", "b"], target=begin).x, begin
    a = 1 + Fraction(1, 2**60)
    target = mdqr.array([[a, a * a]], precision="qd")
    options = {"parameters": ["a", "b"], "start": start, "precision": "qd"}
    for found in (
        series.solve(given, target=target, **options)[0],
        series.solve(given, target=[a, a * a], **options),
    ):
        assert found.multiplicity.tolist() == [2]
        assert found.cluster_radius[0] < 1e-20
        assert abs(float((found.x[0, 0].real - mdqr.qd(a)).to_numpy())) < 1e-20


def test_conics_near_double_lines_are_not_at_infinity():
    """Solutions a million times as large as others: paths that seem to leave come back."""
    found = series.solve(conics(19, tangent=3), start="multihomogeneous")
    assert (found.paths, len(found), found.at_infinity) == (216, 184, 32)
    assert found.is_certified.all()


@pytest.mark.parametrize("exponent", [-100, 20])
def test_radii_are_in_the_units_of_the_problem(exponent):
    """Radii of large coordinates are large, and of small ones small."""
    root = Fraction(10) ** exponent
    found = series.solve(system(f"(x-{root})^2*(x-2*{root})", names="x"))
    assert found.multiplicity.tolist() == [2, 1]
    assert 0 < found.cluster_radius[0] < 1e-20 * float(root)


def test_double_solutions_near_the_real_axis_are_not_real():
    """Paths seen at a distance from an end that is much less than its imaginary part."""
    found = series.solve(system("((x-1)^2+1/10^14)^2*(x-3)", names="x"))
    assert found.multiplicity.tolist() == [1, 2, 2]
    assert found.is_real.tolist() == [True, False, False]
    apart = abs(abs(found.to_numpy()[1:, 0].imag) - 1e-7)
    assert (apart < 1e-16).all()


def test_radius_covers_the_rounding_of_the_solution():
    """In float64 a third is farther from a double solution than its paths."""
    found = series.solve(system("(x-1/3)^2*(x-2)", names="x"), precision="d")
    x = Fraction(*found.x[0, 0].real.as_integer_ratio())
    assert abs(x - Fraction(1, 3)) <= Fraction(found.cluster_radius[0])


@pytest.mark.parametrize(
    ("equations", "multiplicities"),
    [
        (["(x+y-3)^6", "y-x^2"], [6, 6]),
        pytest.param(["(x+y-3)^12", "y-x^2"], [12, 12], marks=pytest.mark.long),
        (
            [
                "(2*x+y-27/2)^2*(2*x+y-27/2-3/10^7)^2*(2*x+y-27/2+5/10^7)^2*(2*x+y-20)^2",
                "x+y-(2*x+y)^2+1",
            ],
            [2, 6],
        ),
    ],
)
def test_products_of_small_factors_are_no_sets(equations, multiplicities):
    """Small by their terms around multiple solutions, and not zero."""
    found = series.solve(system(*equations))
    assert found.info.positive_dimensional == 0
    assert found.multiplicity.tolist() == multiplicities
