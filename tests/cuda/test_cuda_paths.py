"""Homotopy paths by emulated threads: the bits of the host."""

from __future__ import annotations

import numpy as np
import pytest
from emulation.kernels import EmulatedKernels
from polynomial_systems import cyclic

from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.series.paths import Paths as PathKernel
from mdqr._backend.cuda.series.paths import _module
from mdqr._backend.host.backend import backend
from mdqr._backend.path_calls import PathGoal, PathPoints
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.starts.cells import ALL
from mdqr.series._homotopy.starts.polyhedral import cells_of
from mdqr.series._homotopy.starts.start import total_degree
from mdqr.series._homotopy.tables import path_system
from mdqr.series._homotopy.tracker import Paths

GOAL = PathGoal(0.3, 1e-5, 1e-10, 0.1)


def points(x, precision):
    """Paths at points, and those with the same points in a block."""
    paths = Paths.at(x, 1.0)
    block = array(x, precision=precision).astype(dtype=complex).limbs.copy()
    return PathPoints(block, *paths._parts()[1:])


def copied(given):
    return PathPoints(*(part.copy() for part in given))


@pytest.mark.parametrize("precision", PRECISIONS[:3], ids=str)
def test_paths_of_the_host(precision, kernel_folder):
    """The same bits: of all fields, where paths start, and where they go on."""
    homotopy, x = total_degree(Problem.of(cyclic(4), None).at([]), np.random.default_rng(2))
    system = homotopy.within(precision if precision.limbs > 1 else None).tables
    here, which = points(x, precision), np.arange(0, x.shape[1], 3)
    there, kernel = copied(here), PathKernel(EmulatedKernels(kernel_folder))
    for target in (0.6, 0.3 + 0.1j):
        goal = GOAL._replace(target=target)
        states = [
            each.follow_paths(system, given, which, goal)
            for each, given in ((backend(), here), (kernel, there))
        ]
        np.testing.assert_array_equal(*states)
        assert (states[0] == 1).all()
        for one, other in zip(here, there, strict=True):
            np.testing.assert_array_equal(one, other)


def test_weights_and_sets_of_the_host(kernel_folder):
    """Homotopies of cells: each path has weights of its own, and there is no patch."""
    rng = np.random.default_rng(3)
    cells = cells_of(Problem.of(cyclic(4), None).at([]), rng, ALL)
    supports = cells.supports
    coefficients = np.exp(2j * np.pi * rng.random(len(cells.lifting)))
    x, cell = cells.starts(coefficients)
    block = np.stack([coefficients.real, coefficients.imag])[:, None, None, :, None]
    system = path_system(supports.equation, supports.points, block, len(x), weight=cells.weights())
    paths = Paths.at(x, -8.0, set=cell)
    here = PathPoints(np.stack([x.real, x.imag])[:, None], *paths._parts()[1:])
    there, which = copied(here), np.arange(x.shape[1])
    goal = PathGoal(0.0, 1e-5, 1e-12, np.inf)
    states = [
        each.follow_paths(system, given, which, goal)
        for each, given in (
            (backend(), here),
            (PathKernel(EmulatedKernels(kernel_folder)), there),
        )
    ]
    np.testing.assert_array_equal(*states)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)


def test_all_precisions_are_compiled_when_the_first_is_used():
    """Their kernels depend on sizes of the system, and came one after the other."""

    class Noted(EmulatedKernels):
        def foresee(self, modules):
            foreseen.extend(modules)

        def launch(self, module, *given, **options):
            launched.append(module)

    kernel, foreseen, launched = PathKernel(Noted(None)), [], []
    homotopy, x = total_degree(Problem.of(cyclic(5), None).at([]), np.random.default_rng(2))
    assert kernel.follows_paths(homotopy.tables, 1000)
    assert not foreseen
    for p in PRECISIONS[:3]:
        system = homotopy.within(p if p.limbs > 1 else None).tables
        kernel.follow_paths(system, points(x, p), np.arange(2), GOAL)
    assert len(launched) == 3
    assert launched == foreseen[:3]


def test_few_paths_and_large_memory_stay_on_the_host():
    kernels = EmulatedKernels(None)
    homotopy, _ = total_degree(Problem.of(cyclic(4), None).at([]), np.random.default_rng(2))
    kernel = PathKernel(kernels)
    assert kernel.follows_paths(homotopy.tables, 1000)
    assert not kernel.follows_paths(homotopy.tables, 10)
    kernels.memory = 2**20
    assert not kernel.follows_paths(homotopy.tables, 1000)
    assert isinstance(kernels.device, Device)


def test_expected_kernels_are_those_of_all_precisions(monkeypatch):
    """Sizes of the kernels for more limbs are known from the tables of one."""
    expected, kernels = [], EmulatedKernels(None)
    monkeypatch.setattr(kernels, "foresee", expected.extend)
    homotopy, _ = total_degree(Problem.of(cyclic(4), None).at([]), np.random.default_rng(2))
    PathKernel(kernels).expect_paths(homotopy.tables, [1, 2, 4])
    tables = [homotopy.tables, *(homotopy.within(p).tables for p in PRECISIONS[1:3])]
    assert expected == [_module(system, system.coefficient.shape[1]) for system in tables]
    assert len(set(expected)) == 3
