"""Paths: all solutions of katsura, near misses, singular ends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdqr
from mdqr.series import NotASolutionError, SingularJacobianError, System, track
from mdqr.series._solver.steps import Distances, Predictor


def test_singular_ends():
    """There is no solution beyond t = 1/2."""
    path = track(System.from_strings(["x^2 - 1 + 2*t"], ["x"]), [1.0], precision="dd")
    assert not path.success
    assert 0.499 < path.t[-1] < 0.5
    assert "singularity at a distance of about" in path.message


def test_paths_backwards():
    path = track(System.from_strings(["x^2 - 1 - 3*t"], ["x"]), [2.0], t0=1, t_end=0)
    assert abs(path.x[-1, 0] - 1) <= 4 * mdqr.dd.eps
    assert float(path(0.5)[0]) == pytest.approx(np.sqrt(2.5), abs=1e-3)
    with pytest.raises(ValueError, match=r"the path goes from 1\.0 to 0\.0; got 2"):
        path(2)


def test_paths_in_a_line_and_their_ends():
    """Steps of 0.1 added up to 0.9999999999999999, and one of 1e-16 followed."""
    path = track(System.from_strings(["x^2 - 1 - 3*t"], ["x"]), [1.0])
    assert len(path.t) == 11
    assert path.t[-1] == 1.0
    assert np.diff(path.t).min() > 0.09
    nearest = path.t[path.radius.argmin()]
    assert repr(path).split("\n  ") == [
        "<Path from t = 0 to 1, dd",
        "1 unknown, 10 steps of 0.1 to 0.1",
        f"nearest singularity {path.radius.min():.2g} away, at t = {nearest:g}",
        "at the end x = [2]",
        "the path has its end>",
    ]
    at_start = track(System.from_strings(["x^2 - 1 - 3*t"], ["x"]), [1.0], t_end=0.0)
    assert len(repr(at_start).splitlines()) == 5
    assert repr(path.pieces[0]) == "<Piece from t = 0 to 0.1, approximants [5/1]>"
    with pytest.warns(UserWarning, match="track: the solution at t0 is at a relative distance"):
        track(System.from_strings(["x^2 - 1 - 3*t"], ["x"]), [1.5])


def test_progress_counts_paths():
    calls = []
    system = System.from_strings(["x^2 - 1 - t"], ["x"])
    paths = track(system, [[1], [-1]], progress=lambda *call: calls.append(call))
    assert calls == [("paths", 1, 2), ("paths", 2, 2)]
    assert float(paths[1].x[-1, 0]) == pytest.approx(-np.sqrt(2))


def test_wrong_requests():
    with pytest.raises(ValueError, match="2 equations in 1 unknowns"):
        track(System.from_strings(["x - t", "x^2 - t^2"], ["x"]), [0.0])
    system = System.from_strings(["x - t"], ["x"])
    with pytest.raises(ValueError, match=r"shape \(1,\) or \(paths, 1\); got \(1, 1, 1\)"):
        track(system, [[[0.0]]])


def test_too_many_steps(monkeypatch):
    """A path that needs more stops where it is; others go on."""
    monkeypatch.setattr("mdqr.series._solver.track._MOST_STEPS", 12)
    system = System.from_strings(["x^2 - 1 - t/1000", "y^2 - (t-1/2)^2 - 1e-4"], ["x", "y"])
    (path,) = track(system, [[1.0, np.hypot(0.5, 0.01)]])
    assert path.message == "more than 12 steps"
    assert len(path.t) == 13
    assert not path.success


def test_starts_without_series():
    """As `newton_series` says it, of any start."""
    system = System.from_strings(["x^2 - t"], ["x"])
    with pytest.raises(SingularJacobianError, match="no power series in t"):
        track(system, [[0.0]])
    with pytest.raises(NotASolutionError, match="not near a solution"):
        track(System.from_strings(["x^2 + 1 - t"], ["x"]), [[0.3], [0.4]])


def test_paths_that_stop_alone():
    """One branch ends in a singularity, the other paths of the batch do not."""
    system = System.from_strings(["(x^2 - 1 + 2*t)*(x - 3 - t)"], ["x"])
    paths = track(system, [[1.0], [3.0], [-1.0]], precision="dd")
    assert [path.success for path in paths] == [False, True, False]
    assert abs(paths[1].x[-1, 0] - 4) <= 8 * mdqr.dd.eps
    assert len({len(path.t) for path in paths}) > 1


def test_a_jacobian_that_float64_takes_for_singular_ends():
    """Once its distance over an error of zero was NaN, and the path went on for ever."""
    equations = ["x + y - 2 - t", "x + (1 + 1/10^20)*y - 2 - 1/10^20 - t", "z^2 - 1"]
    system = System.from_strings(equations, ["x", "y", "z"])
    (path,) = track(system, [[1, 1, 1]], precision=mdqr.qd)
    assert path.success == (path.t[-1] == 1.0)


@pytest.mark.parametrize("precision", ["d", "dd", "qd"])
def test_straight_paths(precision):
    """Rounding errors of higher orders made poles, before which a path stopped."""
    system = System.from_strings(
        ["(x - 1/3 - t/7)*(x + 2)", "(y - 2/3 - t/9)*(y + 3*x + 1)"], ["x", "y"]
    )
    path = track(system, [1 / 3, 2 / 3], precision=precision)
    assert path.success
    assert np.isinf(path.radius).all()
    assert len(path.t) <= 12
    np.testing.assert_allclose(path.x[-1].to_numpy(), [10 / 21, 7 / 9], rtol=1e-15)


def test_paths_of_any_size(rng):
    """x y = 1 + t, x - y = t/2 with other units: the same steps."""
    lengths = set()
    for a, b in [(1.0, 1.0), *10.0 ** rng.integers(-120, 120, (8, 2))]:
        x, y = f"x*({1 / Fraction(a)})", f"y*({1 / Fraction(b)})"
        system = System.from_strings([f"{x}*{y} - 1 - t", f"{x} - {y} - t/2"], ["x", "y"])
        for sign in (1, -1):
            path = track(system, [sign * a, sign * b])
            assert path.success
            u = (0.5 + sign * np.sqrt(8.25)) / 2
            np.testing.assert_allclose(path.x[-1].to_numpy(), [u * a, (u - 0.5) * b], rtol=1e-14)
            lengths.add(len(path.t))
    assert max(lengths) <= 13


def test_small_paths_that_pass_each_other():
    """Nearness was compared with 1: a path of 1e-5 might have been any other."""
    system = System.from_strings(["x^2 - 1e-10*((t - 1/2)^2 + 1e-6)"], ["x"])
    start = 1e-5 * np.sqrt(0.25 + 1e-6)
    for path in track(system, [[start], [-start]]):
        assert path.success
        assert path.x[-1, 0] * path.x[0, 0] > 0


@pytest.mark.parametrize("noise", [1e-20, 1e-40])
def test_a_path_from_noise_in_place_of_zero(noise):
    """What steps left of 1e-40 was the unit of x: no step was short enough."""
    system = System.from_strings(["x*y - t", "y + x^2*y - 1 - t"], ["x", "y"])
    paths = track(system, [[0, 1], [noise, 1]], t_end=0.9)
    assert all(path.success for path in paths)
    assert len({len(path.t) for path in paths}) == 1


def test_a_path_out_of_range_ends_alone():
    """LAPACK refuses infinite numbers: one path took all others with it."""
    system = System.from_strings(["(x^2 - t)*(x - 3 - t)"], ["x"])
    first, second = track(system, [[1e-150], [3.0]], t0=1e-300)
    assert first.message == "coefficients or derivatives leave the range of doubles"
    assert not first.success
    assert second.success


def test_distances_of_many_paths(monkeypatch):
    """They are found for some paths after the others; NaN is where derivatives are not finite."""
    system = System.from_strings(["x^2*y - 1 - t", "x + y^3 - 2"], ["x", "y"])
    x, t = np.random.default_rng(1).normal(size=(2, 7, 2))
    x[3] = 1e200
    distances = Distances(system)
    powers = np.zeros((7, 5), int)
    together = distances(x, t[:, 0], powers)
    np.testing.assert_array_equal(np.isnan(together), np.arange(7) == 3)
    monkeypatch.setattr("mdqr.series._solver.steps._ENTRIES", 40)
    np.testing.assert_array_equal(distances(x, t[:, 0], powers), together)
    plan = Predictor.of(np.ones((3, 1, 9)), 5, 1, longest=0.1, eps=2.0**-53)
    plan.denominator[1] = np.nan
    np.testing.assert_array_equal(np.isnan(plan.radius()), [False, True, False])


def test_no_paths():
    assert track(System.from_strings(["x^2 - 1 - t"], ["x"]), np.zeros((0, 1))) == []
    with pytest.raises(ValueError, match=r"got \(0, 2\)"):
        track(System.from_strings(["x^2 - 1 - t"], ["x"]), np.zeros((0, 2)))


@pytest.mark.parametrize("ends", [{"t0": np.nan}, {"t_end": np.inf}, {"t_end": np.nan}])
def test_ends_that_are_no_numbers(ends):
    with pytest.raises(ValueError, match="t0 and t_end must be finite"):
        track(System.from_strings(["x^2 - 1 - t"], ["x"]), [1.0], **ends)


def test_steps_too_short_for_the_parameter():
    """A step of 0.1 does not change 1e17."""
    path = track(System.from_strings(["x - 1 - t"], ["x"]), [1e17], t0=1e17, t_end=2e17)
    assert "steps below" in path.message
    assert len(path.t) == 1
