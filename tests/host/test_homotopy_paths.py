"""The kernel that follows homotopy paths: beside NumPy, in other orders and threads, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from path_rounds import by_rounds
from polynomial_systems import cyclic, system

from mdqr._backend.host.backend import backend
from mdqr._backend.path_calls import PathGoal, PathPoints
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.starts.start import parameters, total_degree
from mdqr.series._homotopy.tracker import Paths, by_kernel
from mdqr.series._systems.system import System
from mdqr.series._systems.terms import gaussian

GOAL = PathGoal(0.1, 1e-6, 1e-10, 0.1)


def homotopies():
    rng = np.random.default_rng(2)
    yield total_degree(Problem.of(cyclic(4), None).at([]), rng)
    yield total_degree(Problem.of(system("x^3*y-y^2+2", "x*y^2+3*x-1"), None).at([]), rng)
    text = ["x^2 + a*b*x + b^2", "y^2 - a*x"]
    problem = Problem.of(System.from_strings(text, ["x", "y", "a", "b"]), ["a", "b"])
    root = (np.sqrt(5) - 3) / 2
    start = np.array([[root, 1j * np.sqrt(-3 * root)]])
    begin, end = ([gaussian(v) for v in pair] for pair in ((3, 1), (2, "1.5")))
    yield parameters(problem, start, begin, end, np.zeros(2, int), rng)


@pytest.mark.parametrize(("homotopy", "x"), list(homotopies()))
def test_the_kernel_does_what_rounds_do(homotopy, x):
    """The same points, tangents and numbers of steps, but for roundings."""
    which = np.arange(x.shape[1])
    one, other = Paths.at(x, 1.0), Paths.at(x, 1.0)
    states = by_kernel(homotopy.tables, one, which, GOAL), by_rounds(homotopy, other, GOAL)
    assert (states[0] == 1).all()
    assert (states[1] == 1).all()
    size = abs(one.x).max(axis=0)
    assert (abs(one.x - other.x) < 1e-10 * size).all()
    assert (abs(one.tangent - other.tangent) < 1e-7 * abs(one.tangent).max(axis=0)).all()
    assert (abs(one.steps - other.steps) <= 2).all()
    h, hx, hs = homotopy.jet(one.x, one.s)
    assert abs(h).max() < 1e-12
    left = (hx @ one.tangent.T[..., None])[..., 0] + hs
    assert abs(left).max() < 1e-6 * abs(hs).max()


@pytest.mark.parametrize("precision", PRECISIONS[1:3], ids=str)
@pytest.mark.parametrize(("homotopy", "x"), list(homotopies()))
def test_more_limbs(homotopy, x, precision):
    """The same paths in more limbs: two corrections double the digits of predictions twice."""
    which = np.arange(x.shape[1])
    one, other = Paths.at(x, 1.0), Paths.at(array(x, precision=precision), 1.0)
    wide, goal = homotopy.within(precision), GOAL._replace(tolerance=1e-8)
    by_kernel(homotopy.tables, one, which, GOAL)
    assert (by_kernel(wide.tables, other, which, goal) == 1).all()
    assert abs(one.x - other.x.to_numpy()).max() < 1e-10
    h, _, _ = wide.jet(other.x, other.s)
    assert abs(h.to_numpy()).max() < 1e-22


def test_paths_do_not_depend_on_their_neighbours():
    """Other paths in the other lanes, another order, other threads: the same bits."""
    homotopy, x = next(homotopies())
    every, extension = np.arange(x.shape[1]), pytest.importorskip("_mdqr_host")
    whole, parts, mixed = (Paths.at(x, 1.0) for _ in range(3))
    threads = extension.num_threads()
    by_kernel(homotopy.tables, whole, every, GOAL)
    try:
        extension.set_num_threads(1)
        for place in every:
            by_kernel(homotopy.tables, parts, every[place : place + 1], GOAL)
    finally:
        extension.set_num_threads(threads)
    by_kernel(homotopy.tables, mixed, every[::-1].copy(), GOAL)
    for other in (parts, mixed):
        assert (other.x == whole.x).all()
        assert (other.past_x == whole.past_x).all()
        assert (other.step == whole.step).all()


def test_lost_paths_are_said():
    """Through a branch point at s = 1/2 no path leads, and none ends in time if steps are few."""
    homotopy, x = next(homotopies())
    every = np.arange(x.shape[1])
    state = by_kernel(homotopy.tables, Paths.at(x, 1.0), every, GOAL._replace(most=3))
    assert (state == 2).all()
    state = by_kernel(homotopy.tables, Paths.at(x, 1.0), every, GOAL._replace(tolerance=0.0))
    assert (state == 2).all()


def test_tables_that_do_not_fit_are_refused():
    homotopy, x = next(homotopies())
    paths, which = Paths.at(x, 1.0), np.arange(x.shape[1])
    block = np.stack([x.real, x.imag])[:, None]
    tables, points = homotopy.tables, PathPoints(block, *paths._parts()[1:])
    far = tables.variable + 100
    for wrong in (
        tables._replace(variable=far),
        tables._replace(power=tables.power + 100),
        tables._replace(start=tables.start[:-1].copy()),
        tables._replace(patch=None),
        tables._replace(factor_start=tables.factor_start + 1),
    ):
        with pytest.raises(ValueError, match="it wants"):
            backend().follow_paths(wrong, points, which, GOAL)
    with pytest.raises(ValueError, match="path"):
        backend().follow_paths(tables, points, which + 1, GOAL)
    with pytest.raises(ValueError, match="set"):
        backend().follow_paths(tables, points._replace(set=paths.set + 3), which, GOAL)
