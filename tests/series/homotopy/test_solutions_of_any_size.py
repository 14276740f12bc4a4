"""All solutions of polynomial systems: coordinates and coefficients of any size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from polynomial_systems import system

from mdqr import series


@pytest.mark.parametrize(
    ("texts", "count", "infinite", "size"),
    [
        # One solution has coordinates of 1e26 and 1e-42.
        (
            [
                "23/2+15/8*z+84/17*x^2*y*z^2*w-3/14*x^2*y^2*z^3*w^2",
                "95+41/9*z^2+44/7*y^3+11/2*x*w^2+x*y^2*z*w^3-x^2*z*w^2",
                "25/6+19/13*w-57/13*z^3+43/4*y*z^3+x^2*y*z*w-x^3*y^2",
                "-13/11+23/5*y^3*z+75/4*x^2*z^3*w-73/19*x^2*y*z^2*w^3",
            ],
            292,
            0,
            1e25,
        ),
        # At y = 1 two equations lose their highest terms in x: two paths go to infinity.
        (
            [
                "5-25/2*x*y^2+43/20*x^2-12/13*x^2*y^3*z^3+x^3*y^2-x^3*y^3",
                "-1-17/3*y^3+39*x^2*y^2*z^3-22/13*x^2*y^3*z+x^3-x^3*y^2",
                "-92/9-45/11*z^2+83/9*z^3+95/7*y+x*y^2*z^2",
            ],
            76,
            2,
            1e7,
        ),
    ],
    ids=["large", "infinite"],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_large_solutions_are_told_from_infinity(texts, count, infinite, size, seed):
    """Paths whose coordinates differ by many powers of ten are followed in units of their own."""
    names = "x,y,z,w" if len(texts) == 4 else "x,y,z"
    found = series.solve(system(*texts, names=names), start="polyhedral", rng=seed)
    assert (len(found), found.at_infinity, found.info.failed) == (count, infinite, 0)
    assert found.is_certified.all()
    assert abs(found.to_numpy()).max() > size
    assert found.digits.min() > 25


def test_a_large_solution_leaves_the_others_their_certificates():
    """And has one of its own."""
    found = series.solve(system("x^2 - 3*x + 1", "x*y - 10^40"), precision="qd")
    assert found.is_certified.all()
    assert found.digits.min() > 62
    both = system("(x-1)*(x-2)*(10^33*x-1)*(x/10^12-1)", "y-x^2-1")
    found = series.solve(both, start="polyhedral")
    assert found.is_certified.all()
    assert len(found) == 4
    assert found.digits[:, 0].min() > 28


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1e200*x^2 - 1e-200", [Fraction(1, 10**200), Fraction(-1, 10**200)]),
        ("x - 10^200", [Fraction(10**200)]),
        ("10^400*x - 3*10^400", [Fraction(3)]),
        ("x - 1e-320", [Fraction(1, 10**320)]),
        ("x^2 - 3e-150*x + 2e-300", [Fraction(1, 10**150), Fraction(2, 10**150)]),
    ],
)
def test_coefficients_and_solutions_of_any_size(text, values):
    """Bounds hold, also where limbs underflow."""
    found = series.solve(system(text, names="x"), precision="qd")
    assert found.is_certified.all()
    assert found.is_real.all()
    for x, error in zip(found.x[:, 0], found.error_bound[:, 0], strict=True):
        away = [abs(Fraction(*x.real.as_integer_ratio()) - value) for value in values]
        assert min(away) <= Fraction(float(error))
    assert len(found) == len(values)


def test_a_solution_outside_of_the_range_of_doubles():
    found = series.solve(system("x - 10^330", "y - 2"))
    assert not found.is_certified.any()
    assert np.isnan(found.digits).all()


def test_seventy_unknowns():
    """An array of as many axes there is none."""
    names = [f"x{i}" for i in range(70)]
    texts = [f"{name}+{names[(i + 1) % 70]}/3-{i}" for i, name in enumerate(names)]
    found = series.solve(series.System.from_strings(texts, names))
    assert found.is_certified.tolist() == [True]


@pytest.mark.parametrize(
    ("start", "base", "apart", "others"),
    [
        ("polyhedral", 0, 32, []),
        ("polyhedral", 1, 55, []),
        ("total_degree", 0, 12, []),
        ("total_degree", 0, 52, []),
        ("total_degree", 0, 54, [1]),
        ("total_degree", 0, 40, [3, 7]),
    ],
)
def test_clusters_beside_large_solutions(start, base, apart, others):
    """Units between the sizes of solutions suit none: plain ones are tried where paths are lost."""
    roots = [base + Fraction(k, 10**apart) for k in range(3)] + others
    text = "*".join(f"(x-{root})" for root in roots)
    found = series.solve(system(text, "y-2*x^2+4*x-1"), start=start, precision="od")
    assert found.info.failed == 0
    assert found.multiplicity.sum() == len(roots)
    for x, error in zip(found.x[:, 0], found.error_bound[:, 0], strict=True):
        value = Fraction(*x.real.as_integer_ratio())
        if not np.isnan(error):
            assert min(abs(value - root) for root in roots) <= Fraction(float(error))
