"""Krawczyk's test: what it says of points near known solutions, clusters and multiple ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from polynomial_systems import system

import mdqr
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.proofs.certify import certificates
from mdqr.series._homotopy.proofs.integers import Fixed, values

LESS = 2.0**-10


def terms_of(*equations, names="x,y"):
    return Problem.of(system(*equations, names=names), None).at([])


def points(*rows, precision="dd"):
    given = np.array([list(map(Fraction, row)) for row in rows], dtype=object)
    return mdqr.array(given, precision=precision).astype(dtype=complex)


def exact(value):
    return [Fraction(*part.as_integer_ratio()) for part in (value.real, value.imag)]


def random_case(rng):
    """Two unknowns, rational solutions, and terms that all unknowns are in."""
    a, b, c = (Fraction(int(k), int(q)) for k, q in rng.integers(1, 40, (3, 2)))
    if a == b:
        b += 1
    sign = "-" if rng.random() < 0.5 else "+"
    equations = (
        f"(x - {a})*(x {sign} {b})*(1 + x*y/{int(rng.integers(2, 9))})",
        f"y - {c}*x^2 + x/3",
    )
    root = a
    return equations, (root, c * root**2 - root / 3)


def test_errors_of_known_solutions():
    """The bounds hold at random distances of solutions, and a thousandth of them does not."""
    rng = np.random.default_rng(5)
    held = broken = 0
    for _ in range(60):
        equations, root = random_case(rng)
        terms = terms_of(*equations)
        size = max(map(abs, root))
        step = Fraction(10.0 ** float(rng.uniform(-28, -4))) * size
        near = [
            value + step * int(sign)
            for value, sign in zip(root, rng.choice([-1, 1], 2), strict=True)
        ]
        x = points(near)
        found = certificates(terms, x)
        if not found.certified[0]:
            continue
        held += 1
        away = [abs(exact(x[0, j])[0] - root[j]) for j in range(2)]
        assert all(float(d) <= bound for d, bound in zip(away, found.error[:, 0], strict=True))
        broken += any(float(d) > LESS * e for d, e in zip(away, found.error[:, 0], strict=True))
    assert held > 40
    assert broken > 0.9 * held


@pytest.mark.parametrize("size", ["0", "1e-40", "1e-77", "1e-130"])
def test_the_origin_is_certified(size):
    """Rounding errors around zero have no right digit, in no units."""
    terms = terms_of("(x-y)*(x+y-1)+2*(y-x^2)", "y-x^2")
    near = [Fraction(size), Fraction(size) / 2]
    found = certificates(terms, points(near))
    assert found.certified.all()
    assert all(float(value) <= bound for value, bound in zip(near, found.error[:, 0], strict=True))
    # (1, 1) is another solution.
    assert (found.unique < 1).all()
    doubled = terms_of("x^2 - y/1000000000000000000000000000000000000000000000000000000", "y - x")
    assert not certificates(doubled, points([Fraction("1e-60")] * 2)).error.max() < 1e-60


@pytest.mark.parametrize("precision", ["dd", "qd"])
@pytest.mark.parametrize("e", [5, 10, 20, 24, 30, 40, 45])
def test_clusters(e, precision):
    """Solutions 1 +- 2^-e are told apart, with large denominators; midpoints are none."""
    distance = Fraction(1, 2**e)
    terms = terms_of("x^2 - y", f"y - 2*x + 1 - 1/{4**e}")
    roots = [[1 + s * distance, (1 + s * distance) ** 2] for s in (-1, 1)]
    found = certificates(terms, points(*roots, [1, 1], precision=precision))
    assert found.certified.tolist() == [True, True, False]
    # The other solution is outside of the disks where there is only one.
    assert (found.unique[0, :2] < 2 * float(distance)).all()


@pytest.mark.parametrize(
    ("equations", "root"),
    [
        (("(x-1)^2", "y-2"), (1, 2)),
        (("(x-3)^3/7", "y^2-2*y+1/1000 - 1/1000 + 1"), (3, 1)),
        (("y*(x-y)", "x^2-y"), (0, 0)),
        (("29/16*x^3-2*x*y", "y-x^2"), (0, 0)),
    ],
)
@pytest.mark.parametrize("precision", ["d", "dd", "qd"])
def test_multiple_solutions_are_not_certified(equations, root, precision):
    terms = terms_of(*equations)
    rng = np.random.default_rng(1)
    rows = [root] + [
        [value + 10.0**-k * s for value, s in zip(root, rng.normal(size=2), strict=True)]
        for k in range(3, 31, 3)
    ]
    x = mdqr.array(np.array(rows, float), precision=precision).astype(dtype=complex)
    found = certificates(terms, x)
    assert not found.certified.any()
    assert np.isinf(found.error).all()
    assert not found.unique.any()


def test_points_that_are_no_solutions():
    """Random points are not certified; those near solutions are, with disks that hold them."""
    terms = terms_of("x^2 + y^2 - 5", "x*y - 2")
    rng = np.random.default_rng(2)
    x = mdqr.array(rng.normal(size=(200, 2)) * 3 + 1j * rng.normal(size=(200, 2)), precision="dd")
    found = certificates(terms, x)
    roots = np.array([[1, 2], [2, 1], [-1, -2], [-2, -1]])
    for i in np.flatnonzero(found.certified):
        apart = abs(roots - x[i].to_numpy())
        assert (apart <= found.error[:, i]).all(axis=1).sum() == 1
        assert (apart <= found.unique[:, i]).all(axis=1).sum() <= 1


def test_values_in_integers_are_exact():
    terms = terms_of("x^3*y/7 - 2*x + 1/3", "(1+2*i)*x*y - i/5")
    x = mdqr.array([[0.1 + 0.3j, -2.5 + 1e-3j]], precision="qd") / 3
    fixed = Fixed.of(x.T, 300)
    got = values(terms, fixed)[:, 0]
    re, im = ([Fraction(int(v[0]), 2**300) for v in part] for part in (fixed.real, fixed.imag))

    def times(p, q):
        return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]

    a, b = ((re[j], im[j]) for j in range(2))
    cube = times(times(times(a, a), a), b)
    first = [cube[k] / 7 - 2 * a[k] + (Fraction(1, 3) if k == 0 else 0) for k in range(2)]
    second = times((Fraction(1), Fraction(2)), times(a, b))
    want = [
        complex(*map(float, first)),
        complex(float(second[0]), float(second[1] - Fraction(1, 5))),
    ]
    assert abs(got - want).max() < 1e-14


def test_one_large_point_does_not_take_the_certificates_of_others():
    """Each is tested in units near it; bounds are of its size."""
    terms = terms_of("(x-1)*(x-2)*(x-10^45)", "y - x^2/3", names="x,y")
    rows = [[x, Fraction(x) ** 2 / 3] for x in (1, 2, 10**45)]
    found = certificates(terms, points(*rows))
    assert found.certified.all()
    sizes = np.array([[float(value) for value in row] for row in rows]).T
    assert (found.error < 1e-30 * sizes).all()
    assert (found.unique > 1e-3 * sizes).all()


def test_bounds_of_points_of_any_size_hold():
    """Points are certified far from a solution, too, with bounds that reach it."""
    terms = terms_of("x^2 - 2", "y - x*10^150")
    near = np.array([1.41, 1.5, 1.7, 3.0, 0.1])
    found = certificates(terms, points(*[[x, x * 1e150] for x in near], [1.5, -1.5e150]))
    assert found.certified[:2].all()
    assert not found.certified[4]
    away = abs(np.append(near, 1.5) - 2**0.5)
    assert (away <= found.error[0]).all()
    assert (away[:5] * 1e150 <= found.error[1, :5]).all()
    assert found.error[1, 5] > 2.8e150
