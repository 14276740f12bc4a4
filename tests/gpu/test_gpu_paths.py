"""Homotopy paths on the device: the bits of the host's kernel, and the host's solutions."""

from __future__ import annotations

import gpu_cases as cases
import numpy as np
import pytest
from polynomial_systems import cyclic, katsura

from mdqr._backend.host import backend as host
from mdqr._backend.path_calls import PathGoal, PathPoints
from mdqr._functions.creation import array
from mdqr._precision import precisions_with_paths
from mdqr.series import System, solve
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.starts.start import total_degree
from mdqr.series._homotopy.tracker import Paths

pytestmark = pytest.mark.gpu

TEXTS = ["x^2 + a*y + b*x*y + 1", "y^2 + a*x + b", "z^2 + a*z*x - y"]


def same(one, other):
    for name in ("x", "is_real", "is_singular", "is_certified", "error_bound"):
        here, there = getattr(one, name), getattr(other, name)
        here, there = (getattr(part, "limbs", part) for part in (here, there))
        np.testing.assert_array_equal(here, there)


@pytest.mark.usefixtures("host", "cupy")
@pytest.mark.parametrize("precision", precisions_with_paths(), ids=str)
def test_bits_of_the_host(precision):
    from mdqr._backend.cuda import backend

    homotopy, x = total_degree(Problem.of(cyclic(5), None).at([]), np.random.default_rng(2))
    system = homotopy.within(precision if precision.limbs > 1 else None).tables
    paths, which = Paths.at(x, 1.0), np.arange(x.shape[1])
    block = array(x, precision=precision).astype(dtype=complex).limbs.copy()
    here = PathPoints(block, *paths._parts()[1:])
    there = PathPoints(*(part.copy() for part in here))
    for target in (0.6, 0.3 + 0.1j, 0.1):
        goal = PathGoal(target, 1e-5, 1e-10, 0.1)
        states = [
            each.backend().follow_paths(system, points, which, goal)
            for each, points in ((host, here), (backend, there))
        ]
        np.testing.assert_array_equal(*states)
        for one, other in zip(here, there, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(("given", "count"), [(cyclic(5), 70), (katsura(7), 128)])
def test_solutions_of_the_host(given, count):
    here, there = (solve(given, device=device) for device in ("cpu", cases.DEVICE))
    assert len(there) == count
    assert there.is_certified.all()
    same(here, there)


@pytest.mark.usefixtures("host")
def test_sweeps_from_points_on_the_device(rng, cupy):
    system = System.from_strings(TEXTS, ["x", "y", "z", "a", "b"])
    begin = [0.3 + 0.8j, -0.7 + 0.2j]
    base = solve(system, parameters=["a", "b"], target=begin)
    targets = rng.normal(size=(40, 2))
    points = cupy.asarray(base.to_numpy())
    here, there = (
        solve(system, parameters=["a", "b"], start=(start, begin), target=targets)
        for start in (base.to_numpy(), points)
    )
    assert there.is_certified.all()
    same(here, there)
