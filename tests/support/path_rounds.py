"""Paths followed as the kernel does it, in NumPy and float64: a step of all of them at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mdqr.series._homotopy.homotopy import newton


def by_rounds(homotopy, paths, goal):
    """Follow all paths; return 1 for those that are there, 2 for lost ones."""
    x, s = paths.x, paths.s
    for _ in range(2):
        d, paths.tangent = newton(homotopy, x, s)
        x = x - d
    paths.x = x
    paths.held[:] = 1
    state = np.zeros(len(paths), int)
    while (state == 0).any():
        running = np.flatnonzero(state == 0)
        now = paths[running]
        state[running] = one_step(homotopy, now, goal)
        paths[running] = now
    return state


def one_step(homotopy, paths, goal):
    """Try one step of each path; return states."""
    way = goal.target - paths.s
    wanted = np.minimum(paths.step, goal.longest)
    last = wanted >= abs(way)
    s = np.where(last, goal.target, paths.s + way * (wanted / abs(way)))
    change = predicted(paths, s)
    corrections = []
    for _ in range(2):
        d, tangent = newton(homotopy, paths.x + change, s)
        change = change - d
        corrections.append(abs(d).max(axis=0))
    first, second = corrections / abs(paths.x + change).max(axis=0)
    good = (first < 8 * goal.tolerance) & ((second < 1e-3 * first) | (second < 1e-13))
    factor = 0.9 * (goal.tolerance / first) ** (0.5 / paths.held)
    taken = abs(s - paths.s)
    paths.step = np.where(
        good,
        np.maximum(taken * np.clip(factor, 0.3, 2.0), np.where(last, paths.step, 0.0)),
        taken * np.clip(factor, 0.1, 0.5),
    )
    for past, new in (
        (paths.past_x, np.zeros_like(change)),
        (paths.past_tangent, paths.tangent),
        (paths.past_s, paths.s),
    ):
        past[...] = np.where(good, np.concatenate([new[None], past[:-1]]), past)
    paths.past_x -= np.where(good, change, 0.0)
    paths.x = np.where(good, paths.x + change, paths.x)
    paths.tangent = np.where(good, tangent, paths.tangent)
    paths.s = np.where(good, s, paths.s)
    paths.held = np.where(good, np.minimum(paths.held + 1, 4), paths.held)
    paths.steps = paths.steps + good
    return np.where(good & last, 1, np.where(~good & (paths.step < goal.least), 2, 0))


def predicted(paths, s):
    """Return the change of x from here to s, by Hermite's interpolation of known points."""
    nodes = [paths.s, *paths.past_s]
    tangents = [paths.tangent, *paths.past_tangent]
    values = [0.0, *paths.past_x]
    z = [node for node in nodes for _ in range(2)]
    found = paths.tangent * (s - paths.s)
    weight = s - paths.s
    with np.errstate(divide="ignore", invalid="ignore"):
        # Newton's divided differences; those of nodes that are not known are left out.
        row = [tangents[0]]
        for k in range(1, len(nodes)):
            row += [(values[k] - values[k - 1]) / (nodes[k] - nodes[k - 1]), tangents[k]]
        for order in range(2, len(z)):
            pairs = enumerate(pairwise(row))
            row = [(right - left) / (z[i + order] - z[i]) for i, (left, right) in pairs]
            weight = weight * (s - z[order - 1])
            found += np.where(paths.held > order // 2, row[0] * weight, 0.0)
    return found
