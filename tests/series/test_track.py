"""Paths: all solutions of katsura, near misses, singular ends."""

from __future__ import annotations

import numpy as np
import pytest
from families import katsura, total_degree

import mdqr
from mdqr.series import System, track


def residuals(system, points):
    """The largest value of an equation, relative to the sum of its terms or to 1."""
    exponents, terms = system.float64(1.0)
    found = []
    for x in points:
        total = mdqr.zeros((system.equations,), precision=x.precision, dtype=complex)
        size = np.zeros(system.equations)
        for powers, place, c in zip(exponents, system.term_equations, terms, strict=True):
            term = mdqr.array(complex(c), precision=x.precision)
            for i, e in enumerate(powers):
                term = term * x[i] ** int(e)
            total[int(place)] += term
            size[place] += float(abs(term))
        found.append((abs(total).to_numpy() / np.maximum(size, 1.0)).max())
    return max(found)


@pytest.mark.parametrize(
    ("number", "precision"),
    [
        (2, "d"),
        (2, "dd"),
        pytest.param(3, "dd", marks=pytest.mark.long),
        pytest.param(4, "dd", marks=pytest.mark.long),
        pytest.param(4, "d", marks=pytest.mark.long),
        pytest.param(5, "dd", marks=pytest.mark.long),
    ],
)
def test_all_solutions_of_katsura(number, precision):
    equations, names = katsura(number)
    homotopy, starts = total_degree(equations, names, [2] * number + [1])
    paths = track(homotopy, starts, precision=precision)
    assert [path.success for path in paths] == [True] * 2**number
    ends = np.array([path.x[-1].to_numpy() for path in paths])
    apart = np.linalg.norm(ends[:, None] - ends[None], axis=2) + np.eye(len(ends))
    assert apart.min() > 0.05
    plain = System.from_strings(equations, names)
    bound = {"d": 1e-14, "dd": 1e-28}[precision]
    assert residuals(plain, [path.x[-1] for path in paths]) <= bound


@pytest.mark.parametrize("exponent", [1, 3, 6])
def test_near_misses(exponent):
    """Between two branches that come as near as p: no jump, and steps of the distance."""
    p = 10.0**-exponent
    system = System.from_strings([f"x^2 - (t-1/2)^2 - 1e-{2 * exponent}"], ["x"])
    start = np.hypot(0.5, p)
    path = track(system, [start], precision="d")
    assert path.success
    assert float(path.x[-1, 0]) == pytest.approx(start)
    assert len(path.t) - 1 <= 70
    assert float(path(0.5)[0]) == pytest.approx(p, rel=0.02)
    assert path.reason == "the path has its end"


def test_singular_ends():
    """There is no solution beyond t = 1/2."""
    path = track(System.from_strings(["x^2 - 1 + 2*t"], ["x"]), [1.0], precision="dd")
    assert not path.success
    assert 0.499 < path.t[-1] < 0.5
    assert "singularity at a distance of about" in path.reason


def test_paths_backwards():
    path = track(System.from_strings(["x^2 - 1 - 3*t"], ["x"]), [2.0], t0=1, t_end=0)
    assert abs(path.x[-1, 0] - 1) <= 4 * mdqr.dd.eps
    assert float(path(0.5)[0]) == pytest.approx(np.sqrt(2.5), abs=1e-3)
    with pytest.raises(ValueError, match=r"the path goes from 1\.0 to 0\.0; got 2"):
        path(2)


def test_callbacks_count_paths():
    calls = []
    system = System.from_strings(["x^2 - 1 - t"], ["x"])
    paths = track(system, [[1], [-1]], callback=lambda *call: calls.append(call))
    assert calls == [("paths", 1, 2), ("paths", 2, 2)]
    assert float(paths[1].x[-1, 0]) == pytest.approx(-np.sqrt(2))


def test_wrong_requests():
    with pytest.raises(ValueError, match="2 equations in 1 unknowns"):
        track(System.from_strings(["x - t", "x^2 - t^2"], ["x"]), [0.0])
    system = System.from_strings(["x - t"], ["x"])
    with pytest.raises(ValueError, match="approximant must be two degrees"):
        track(system, [0.0], approximant=(0, 0))
