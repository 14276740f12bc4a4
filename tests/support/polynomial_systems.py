"""Polynomial systems whose numbers of solutions are known."""

from __future__ import annotations

import random
from itertools import product
from math import comb

from mdqr.series import System


def system(*equations, names="x,y"):
    return System.from_strings(equations, names.split(","))


def katsura(n):
    names = [f"u{i}" for i in range(n + 1)]
    equations = ["+".join(["u0"] + [f"2*u{i}" for i in range(1, n + 1)]) + "-1"]
    for m in range(n):
        terms = [f"u{abs(k)}*u{abs(m - k)}" for k in range(-n, n + 1) if abs(m - k) <= n]
        equations.append("+".join(terms) + f"-u{m}")
    return System.from_strings(equations, names)


def cyclic(n):
    names = [f"x{i}" for i in range(n)]
    equations = [
        "+".join("*".join(names[(i + j) % n] for j in range(k)) for i in range(n))
        for k in range(1, n)
    ]
    return System.from_strings([*equations, "*".join(names) + "-1"], names)


def noon(n):
    names = [f"x{i}" for i in range(n)]
    equations = []
    for name in names:
        squares = "+".join(f"{other}^2" for other in names if other != name)
        equations.append(f"{name}*({squares})-1.1*{name}+1")
    return System.from_strings(equations, names)


def eco(n):
    names = [f"x{i}" for i in range(1, n + 1)]
    equations = []
    for k in range(1, n):
        terms = [f"x{k}", *(f"x{i}*x{i + k}" for i in range(1, n - k))]
        equations.append(f"({'+'.join(terms)})*x{n}-{k}")
    return System.from_strings([*equations, "+".join(names[:-1]) + "+1"], names)


def chandra(n):
    names = [f"H{i}" for i in range(1, n + 1)]
    equations = []
    for k in range(1, n + 1):
        terms = "+".join(f"{k}/{k + i}*H{i}" for i in range(1, n))
        equations.append(f"{2 * n}*H{k}-0.51234*H{k}*(1+{terms})-{2 * n}")
    return System.from_strings(equations, names)


def lines(seed):
    """Lines on a random cubic surface: 27. Points are (s, t, a s + b t, c s + d t)."""
    draws = random.Random(seed)
    equations = [{} for _ in range(4)]
    for i, j, k, m in product(range(4), repeat=4):
        if i + j + k + m != 3:
            continue
        factor = draws.randint(-9, 9)
        for u, w in product(range(k + 1), range(m + 1)):
            powers = u, k - u, w, m - w
            value = factor * comb(k, u) * comb(m, w)
            equations[i + u + w][powers] = equations[i + u + w].get(powers, 0) + value
    texts = [
        "+".join(f"({c})*a^{e[0]}*b^{e[1]}*c^{e[2]}*d^{e[3]}" for e, c in row.items())
        for row in equations
    ]
    return System.from_strings(texts, list("abcd"))


def eigenpairs(matrix):
    """Eigenvectors with a linear condition: as many as rows, of degrees (1, 1) in two groups."""
    n = len(matrix)
    names = [f"x{i}" for i in range(n)]
    texts = [
        "+".join(f"({int(c)})*{x}" for c, x in zip(row, names, strict=True)) + f"-z*x{i}"
        for i, row in enumerate(matrix)
    ]
    condition = "+".join(f"{i + 2}*{x}" for i, x in enumerate(names)) + "-1"
    return System.from_strings([*texts, condition], [*names, "z"])


def neurons():
    """S. Boon's system of six unknowns from neurophysiology: 8 solutions, a mixed volume of 20."""
    texts = ["s^2+g^2-1", "u^2+h^2-1"]
    powers = [("g^3", "h^3", "6/5"), ("s^3", "u^3", "6/5"), ("g^2*s", "h^2*u", "7/10")]
    powers.append(("g*s^2", "h*u^2", "7/10"))
    texts += [f"C*{one}+D*{other}-{value}" for one, other, value in powers]
    return System.from_strings(texts, ["s", "g", "u", "h", "C", "D"])
