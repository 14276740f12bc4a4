"""Powers of two that bring the equations, unknowns and orders of a system near one size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr.series._systems.system import System

# What is within 2**16 of 1 stays.
_NEAR = 16
# Lower rates are taken as they are.
_STEEP = 16


class Scale(NamedTuple):
    """The exponents of start points ``(sets, ...)``: one set if they are zeros for all.

    ``x = 2**unknowns y``, and an equation is ``2**equations`` times the one in y, whose terms are
    ``2**powers`` times those that were given.
    """

    equations: np.ndarray
    unknowns: np.ndarray
    powers: np.ndarray


def balanced(factors: np.ndarray, x: np.ndarray, system: System) -> Scale:
    """Find exponents so that the largest terms of equations, and derivatives, are near 1.

    `factors` ``(sets, terms)``, the sums of the moduli that they are made of, and the start points
    x ``(items, n)`` are moduli. More equations than unknowns are all scaled alike: their least
    squares stay.
    """
    n, m = x.shape[1], system.equations
    powers, equation = system._exponents, system._equation
    # Terms near 1 have derivatives near 1, unless an unknown is small.
    degree = powers.sum(axis=1).max(initial=1)
    if _far(factors) + degree * _far(x) <= _NEAR:
        return Scale(*[np.zeros((1, count), int) for count in (m, n, len(equation))])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _exponents(np.log2(factors.T), np.log2(x.T), system)
    rows, columns = (np.where(np.isinf(each), 0.0, np.rint(each)).astype(int) for each in found)
    far = np.maximum(*(abs(each).max(axis=1, initial=0) for each in (rows, columns))) > _NEAR
    rows, columns = (each * far[:, None] for each in (rows, columns))
    return Scale(rows, columns, columns @ powers.T - rows[:, equation])


def _exponents(f: np.ndarray, x: np.ndarray, system: System) -> tuple[np.ndarray, np.ndarray]:
    """Return the exponents of equations and unknowns, infinite where nothing tells them.

    Terms ``(terms, sets)`` and unknowns ``(n, items)`` are given by their logarithms.
    """
    m, n, items = system.equations, *x.shape
    term, variable = np.nonzero(system._exponents)
    row, count = system._equation[term], system._exponents[term, variable, None]
    zero = np.isinf(x)
    x = np.where(zero, 0.0, x)
    # Logarithms of terms and of derivatives; those of terms without factors that are zero.
    logs, zeros = (np.zeros((len(f), items)) for _ in range(2))
    np.add.at(logs, term, count * x[variable])
    np.add.at(zeros, term, count * zero[variable])
    logs = logs + f
    slopes = np.where(zeros[term] == zero[variable], logs[term] - x[variable], -np.inf)
    rows = np.full((m, items), -np.inf)
    np.maximum.at(rows, system._equation, np.where(zeros > 0, -np.inf, logs))
    columns = np.full((n, items), np.inf)
    for _ in range(2):
        if m > n:
            rows[:] = rows.max(axis=0)
        lost = np.isinf(rows[row])
        room = np.where(np.isinf(slopes) | lost, np.inf, rows[row] - slopes)
        np.minimum.at(columns, variable, room)
        # Equations all whose terms vanish are scaled by their derivatives.
        known = np.where(np.isinf(columns), 0.0, columns)
        np.maximum.at(rows, row, np.where(lost, slopes + known[variable], -np.inf))
    return rows.T, columns.T


def _far(sizes: np.ndarray) -> float:
    """Return the largest binary exponent of numbers, zeros left out."""
    held = sizes[sizes > 0]
    return float(max(np.log2(held.max()), -np.log2(held.min()))) if held.size else 0.0


def growth(sizes: np.ndarray) -> np.ndarray:
    """Return the binary logarithms of the rates at which orders ``(items, d + 1)`` grow.

    From the largest of both halves of the orders from 1 on: order 0 says nothing of the others, and
    single orders may be small. Zero where orders would differ by more without what they grow by.
    """
    half = (sizes.shape[1] - 1) // 2
    if not half:
        return np.array([_rate(row) for row in sizes])
    with np.errstate(invalid="ignore"):
        first = sizes[:, 1 : 1 + half].max(axis=1, initial=0.0)
        last = sizes[:, 1 + half : 1 + 2 * half].max(axis=1, initial=0.0)
        held = np.isfinite(sizes).all(axis=1) & (first > 0) & (last > 0)
    rates = np.zeros(len(sizes))
    rates[held] = (np.log2(last[held]) - np.log2(first[held])) / half
    rates[~held] = [_rate(row) for row in sizes[~held]]
    steep = np.flatnonzero(abs(rates) > _STEEP)
    rates[steep] = np.where(_is_nearer(sizes[steep], rates[steep]), rates[steep], 0.0)
    return rates


def _is_nearer(sizes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Tell whether orders differ by no more when they are scaled by rates."""
    orders = np.arange(1, sizes.shape[1])
    held = (sizes[:, 1:] > 0) & np.isfinite(sizes[:, 1:])
    before = np.log2(np.where(held, sizes[:, 1:], 1.0))
    after = before - rates[:, None] * orders
    spreads = [
        np.where(held, logs, -np.inf).max(axis=1) - np.where(held, logs, np.inf).min(axis=1)
        for logs in (before, after)
    ]
    return np.asarray(~(spreads[1] > spreads[0]))


def _rate(sizes: np.ndarray) -> float:
    """Return the rate of one series, some of whose orders are zero or left the range."""
    wrong = np.flatnonzero(~np.isfinite(sizes))
    if wrong.size and wrong[0] == 1:
        return 1024.0
    held = np.flatnonzero(sizes[: wrong[0] if wrong.size else None] > 0)
    held = held[held > 0]
    if not held.size:
        return 0.0
    logs = np.log2(sizes[held])
    if held.size == 1:
        return float(logs[0] / held[0])
    return float((logs[-1] - logs[0]) / (held[-1] - held[0]))
