"""Families of matrices: each makes integers ``(parts, m, n)`` and exponents from random draws.

The exact value of an entry is ``ints * 2**exponents``; it is rounded to limbs afterwards.
"""

from __future__ import annotations

import math

import numpy as np

from .draws import product


def _conditioned(r, parts, m, n, bits, spread):
    """A product whose condition is about 2**spread, from well-conditioned random factors."""
    inner = [r.randint(0, max(int(spread), 0)) for _ in range(n)]
    if n > 1:
        inner[0], inner[-1] = 0, max(int(spread), 0)
    scale = np.array([1 << (max(inner) - k) for k in inner], dtype=object)
    left, right = r.full((parts, m, n), bits), r.full((parts, n, n), 24)
    return product(left * scale, right)


def condition(r, parts, m, n, bits):
    return _conditioned(r, parts, m, n, bits, r.uniform(0, 1.05) * bits), 0


def stagnation(r, parts, m, n, bits):
    return _conditioned(r, parts, m, n, bits, r.uniform(0.55, 1.02) * bits), 0


def near_limit(r, parts, m, n, bits):
    """A condition at which refinement still contracts, but slowly."""
    return _conditioned(r, parts, m, n, bits, r.uniform(0.6, 0.9) * bits), 0


def full_width(r, parts, m, n, bits):
    return r.full((parts, m, n), bits), 0


def clusters(r, parts, m, n, bits):
    """Singular values of 1 and a cluster 10^-8 or so below."""
    low = r.choice([27, 27, bits // 4, bits // 2, bits - 4])
    few = r.randint(1, n)
    scale = np.array([1 << (low if j < few else 0) for j in range(n)], dtype=object)
    return product(r.full((parts, m, n), bits) * scale, r.full((parts, n, n), 24)), 0


def _nodes(r, m):
    start, step = r.choice([(1, 1), (0, 1), (-(m // 2), 1), (1, 2), (-m, 2)])
    return [start + step * i for i in range(m)]


def vandermonde(r, parts, m, n, bits):
    """Powers of small integers, or of eighths or full-width nodes in [0, 1]."""
    kind = r.random()
    if kind < 0.6:
        t = _nodes(r, m)
        a = [[x ** (n - 1 - j) for j in range(n)] for x in t]
        return _dressed(r, parts, np.array(a, dtype=object)), 0
    scale = 3 if kind < 0.8 else bits // 2
    t = [r.randint(0, 1 << scale) for _ in range(m)]
    a = [[x**j << (scale * (n - 1 - j)) for j in range(n)] for x in t]
    return _dressed(r, parts, np.array(a, dtype=object)), -scale * (n - 1)


def vandermonde_transposed(r, parts, m, n, bits):
    a, exponents = vandermonde(r, parts, n, m, bits)
    return a.swapaxes(-1, -2).copy(), exponents


def hilbert(r, parts, m, n, bits):
    """1 / (i + j + 1), rounded; or the whole numbers that their common multiple makes of it."""
    shift = r.choice([0, 0, 1, 3])
    if r.chance(0.5):
        unit, exponent = math.lcm(*range(1, m + n + shift)), 0
    else:
        unit, exponent = 1 << (bits + 10), -(bits + 10)
    a = [[unit // (i + j + 1 + shift) for j in range(n)] for i in range(m)]
    return _dressed(r, parts, np.array(a, dtype=object)), exponent


def blocks(r, parts, m, n, bits):
    """A block diagonal, of blocks whose scales differ by up to 2**900."""
    m = max(m, n)
    a = np.zeros((parts, m, n), dtype=object)
    exponents = np.zeros((m, n), dtype=np.int64)
    first = row = 0
    far = r.choice([0, 20, 60, 200, 900])
    while first < n:
        width = min(r.randint(1, 3), n - first)
        last = first + width == n
        height = (
            m - row if last else min(r.randint(width, width + 3), m - row - (n - first - width))
        )
        part = r.full((parts, height, width), r.choice([2, 3, bits]))
        rows, columns = slice(row, row + height), slice(first, first + width)
        a[:, rows, columns] = part
        exponents[rows, columns] = r.randint(-far, far)
        row, first = row + height, first + width
    return a, exponents


def graded(r, parts, m, n, bits):
    """Rows and columns times powers of two."""
    a = r.full((parts, m, n), r.choice([4, bits]))
    most = r.choice([8, 30, 120, 450])
    rows = r.exponents((m, 1), most if r.chance(0.7) else 0)
    columns = r.exponents((1, n), most if r.chance(0.5) else 0)
    if r.chance(0.4):
        rows = np.sort(rows, axis=0)[:: r.choice([-1, 1])]
    return a, rows + columns


def simple(r, parts, m, n, bits):
    """Identities, permutations, diagonals and triangles, with zeros below."""
    kind = r.choice(["identity", "permutation", "diagonal", "upper", "lower"])
    m = m if r.chance(0.3) else n
    m = max(m, n)
    a = np.zeros((parts, m, n), dtype=object)
    exponents = np.zeros((m, n), dtype=np.int64)
    if kind in ("identity", "permutation"):
        a[0, :n, :n] = np.eye(n, dtype=int)
    else:
        a[:, :n, :n] = r.full((parts, n, n), r.choice([1, 3, bits]))
        far = r.choice([0, 30, 300, 900])
        exponents[:n, :n] = r.exponents((n, n), far)
        keep = {"diagonal": np.eye(n), "upper": np.tri(n).T, "lower": np.tri(n)}[kind]
        a[:, :n, :n] *= keep.astype(int)
    if kind == "permutation":
        order = r.sample(range(m), m)
        a = a[:, order]
        exponents = exponents[order]
    return a, exponents


def small_integers(r, parts, m, n, bits):
    return r.small((parts, m, n), r.choice([1, 3, 9, 1000])), 0


def sparse(r, parts, m, n, bits):
    """Powers of two among zeros."""
    a = r.small((parts, m, n), 1)
    return a, r.exponents((m, n), r.choice([3, 30, 300]))


def triangles(r, parts, m, n, bits):
    """Blocks on and above a diagonal, rows and columns in any order."""
    width = r.choice([1, 2, 3])
    a = r.full((parts, m, n), r.choice([3, bits])) * np.array(
        [[r.chance(0.5) for _ in range(n)] for _ in range(m)]
    )
    a *= np.arange(m)[:, None] // width <= np.arange(n) // width
    few = np.arange(min(m, n))
    a[0, few, few] = r.choice([1, -1, 3]) << r.choice([3, bits])
    a = a[:, r.sample(range(m), m)][:, :, r.sample(range(n), n)]
    return a, r.exponents((m, n), r.choice([0, 0, 30, 300]))


def dependent(r, parts, m, n, bits):
    """A column that depends on the others exactly, or is zero, or but for a small distance."""
    few = r.choice([2, 20, bits - 8])
    a = r.full((parts, m, n), max(few, 1))
    j = r.randrange(n)
    combined = r.small((1, n, 1), 3)
    combined[:, j] = 0
    a[:, :, j] = product(a, combined)[:, :, 0]
    if r.chance(0.5):
        return a, 0
    distance = int(r.uniform(0.5, 1.5) * bits)
    a = a << distance
    a[:, :, j] += r.full((parts, m), few)
    return a, -distance


def zero_column(r, parts, m, n, bits):
    a = r.full((parts, m, n), bits)
    a[:, :, r.randrange(n)] = 0
    return a, 0


def laeuchli(r, parts, m, n, bits):
    """A row of ones above a small multiple of the identity."""
    small = int(r.uniform(0.1, 1.1) * bits)
    a = np.zeros((max(m, n + 1), n), dtype=object)
    a[0] = 1 << small
    a[1 : n + 1] = np.eye(n, dtype=int)
    return _dressed(r, parts, a), -small


def kahan(r, parts, m, n, bits):
    """Kahan's triangle, with sine and cosine cut to few bits."""
    angle = r.uniform(0.05, 1.5)
    width = 40
    s, c = (int(f(angle) * (1 << width)) for f in (math.sin, math.cos))
    a = np.zeros((max(m, n), n), dtype=object)
    for i in range(n):
        unit = s**i << (width * (n - 1 - i))
        a[i, i] = unit << width
        a[i, i + 1 :] = -c * unit
    return _dressed(r, parts, a), -width * n


def _dressed(r, parts, a):
    """Make a real matrix complex: columns times units or ``1 + i``, or zero imaginary parts."""
    if parts == 1:
        return a[None]
    turns = [
        r.choice([(1, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1)]) for _ in range(a.shape[1])
    ]
    re, im = (np.array([turn[part] for turn in turns], dtype=object) for part in (0, 1))
    return np.stack([a * re, a * im])


FAMILIES = (
    (condition, 14),
    (stagnation, 10),
    (full_width, 8),
    (clusters, 4),
    (vandermonde, 10),
    (vandermonde_transposed, 4),
    (hilbert, 5),
    (blocks, 7),
    (graded, 8),
    (simple, 8),
    (small_integers, 8),
    (sparse, 3),
    (dependent, 7),
    (zero_column, 1),
    (laeuchli, 3),
    (kahan, 2),
)
