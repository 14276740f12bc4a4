"""Polynomial systems whose numbers of solutions are known."""

from __future__ import annotations

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
