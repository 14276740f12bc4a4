"""Homotopies as tables for the kernel that follows paths."""

from __future__ import annotations

import numpy as np

from mdqr._backend.path_calls import PathSystem
from mdqr._precision import PRECISIONS, Precision
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import rounded


def path_system(
    equation: np.ndarray,
    exponents: np.ndarray,
    coefficient: np.ndarray,
    equations: int,
    *,
    gamma: complex = 1.0,
    weight: np.ndarray | None = None,
    patch: np.ndarray | None = None,
) -> PathSystem:
    """Return the tables of equations whose terms are sorted by equation.

    Parameters
    ----------
    equation : numpy.ndarray
        ``(terms,)``: the equation of each term.
    exponents : numpy.ndarray
        ``(terms, v)``.
    coefficient : numpy.ndarray
        Block of ``(sets, terms, orders)``: polynomials in ``u = gamma s / (gamma s + 1 - s)``.
    equations : int
        Their number: v, or one less with a patch.
    gamma : complex, optional
        See `coefficient`.
    weight : numpy.ndarray, optional
        ``(sets, terms)``: coefficients are multiplied by ``exp(weight s)``.
    patch : numpy.ndarray, optional
        ``(v,)``: the last equation is ``patch . x = 1``.
    """
    most = np.maximum(exponents.max(axis=0, initial=0), 1)
    power_start = np.concatenate([[0], np.cumsum(most + 1)])
    place, variable = np.nonzero(exponents)
    factors = np.bincount(place, minlength=len(exponents))
    return PathSystem(
        start=np.searchsorted(equation, np.arange(equations + 1)).astype(np.int64),
        factor_start=np.concatenate([[0], np.cumsum(factors)]).astype(np.int64),
        variable=variable.astype(np.int64),
        power=(power_start[variable] + exponents[place, variable]).astype(np.int64),
        power_start=power_start.astype(np.int64),
        coefficient=np.ascontiguousarray(coefficient),
        weight=None if weight is None else np.ascontiguousarray(weight, float),
        patch=None if patch is None else np.ascontiguousarray(patch, complex),
        gamma=complex(gamma),
    )


def merged(
    equation: np.ndarray,
    exponents: np.ndarray,
    orders: list[list[Gaussian]],
    precision: Precision | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the coefficients of equal terms, sort them by equation, and round.

    `orders` has the coefficients of each term, exactly. The last result is the block of
    ``(1, terms, orders)`` in a precision; None is one limb.
    """
    found: dict[tuple[int, ...], list[Gaussian]] = {}
    keys = np.column_stack([equation, exponents]).tolist()
    for key, row in zip(map(tuple, keys), orders, strict=True):
        held = found.get(key)
        found[key] = row if held is None else [a + b for a, b in zip(held, row, strict=True)]
    table = np.array(sorted(found), np.int64)
    values = [value for key in sorted(found) for value in found[key]]
    block = rounded(values, precision or PRECISIONS[0]).limbs
    return table[:, 0], table[:, 1:], block.reshape(*block.shape[:2], 1, len(table), -1)
