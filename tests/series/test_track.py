"""Paths: all solutions of katsura, near misses, singular ends."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr.series import NotASolutionError, SingularJacobianError, System, track


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
    with pytest.raises(ValueError, match=r"shape \(1,\) or \(paths, 1\); got \(1, 1, 1\)"):
        track(system, [[[0.0]]])


def test_too_many_steps(monkeypatch):
    """A path that needs more stops where it is; others go on."""
    monkeypatch.setattr("mdqr.series._solver.track._MOST_STEPS", 12)
    system = System.from_strings(["x^2 - 1 - t/1000", "y^2 - (t-1/2)^2 - 1e-4"], ["x", "y"])
    (path,) = track(system, [[1.0, np.hypot(0.5, 0.01)]])
    assert path.reason == "more than 12 steps"
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
