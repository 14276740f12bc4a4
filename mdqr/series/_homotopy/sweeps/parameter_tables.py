"""Homotopies between parameters, many targets at once, as tables for the kernel of paths."""

from __future__ import annotations

import numpy as np

from mdqr import stack
from mdqr._array.array import MDArray
from mdqr._backend.path_calls import PathSystem
from mdqr._functions.creation import array
from mdqr._precision import Precision
from mdqr.series._homotopy.homotopy import Parameters
from mdqr.series._homotopy.tables import path_system


class ParameterTables:
    """Tables with a set of coefficients for each of the targets ``(targets, parameters)``."""

    def __init__(self, homotopy: Parameters) -> None:
        self._homotopy, terms = homotopy, homotopy.terms
        v = homotopy.variables
        table = np.column_stack([terms.equation, terms.exponents[:, :v]])
        # Terms that differ in their parameters alone are one.
        self._rows, group = np.unique(table, axis=0, return_inverse=True)
        self._group = group.reshape(-1)
        self._powers = terms.exponents[:, v:]

    def paths(self, targets: np.ndarray) -> PathSystem:
        """Return the homotopies to all targets, in float64."""
        begin, constants = self._homotopy.begin, self._homotopy.terms.floats
        most = int(self._powers.sum(axis=1).max(initial=0))
        found = np.zeros((len(self._rows), len(targets), most + 1), complex)
        for place, c, row in zip(self._group, constants, self._powers, strict=True):
            polynomial = np.zeros((len(targets), most + 1), complex)
            polynomial[:, 0] = c
            for j in np.repeat(np.arange(len(row)), row):
                moved = (begin[j] - targets[:, j, None]) * polynomial[:, :-1]
                polynomial *= targets[:, j, None]
                polynomial[:, 1:] += moved
            found[place] += polynomial
        block = found.transpose(1, 0, 2)
        return self._system(np.stack([block.real, block.imag])[:, None], self._homotopy.gamma)

    def ends(self, targets: MDArray, precision: Precision) -> PathSystem:
        """Return the systems at all targets, which do not move, in a precision."""
        constants = self._homotopy.terms.rounded(precision)
        p = array(targets, precision=precision)
        sums: list[MDArray | None] = [None] * len(self._rows)
        for term, (place, row) in enumerate(zip(self._group, self._powers, strict=True)):
            value = constants[term] + np.zeros(len(p))
            for j in np.repeat(np.arange(len(row)), row):
                value = value * p[:, j]
            held = sums[place]
            sums[place] = value if held is None else held + value
        block = stack(sums, axis=1).limbs
        return self._system(block[..., None], 1.0)

    def _system(self, block: np.ndarray, gamma: complex) -> PathSystem:
        equations, patch = self._homotopy.variables - 1, self._homotopy.patch
        rows = self._rows[:, 0], self._rows[:, 1:], block, equations
        return path_system(*rows, gamma=gamma, patch=patch)
