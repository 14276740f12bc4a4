"""Polynomial systems whose numbers of solutions are known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
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


def conics(seed, tangent=5):
    """Conics tangent to 2 to 5 random ones, through points: 36, 184, 816, 3264 (Steiner's problem).

    A of ``z^T A z = 0``, and places t of contact on the given ones, ``z = M (1, t, t^2)``. On the
    first one the polar of z is its tangent, ``A z = z x z'``: double lines are at infinity.
    """
    draws = random.Random(seed)
    names = {(i, j): f"a{i}{j}" for i in range(3) for j in range(i, 3)}
    places = [f"t{k}" for k in range(tangent)]
    t = places[0]
    equations = [
        "+".join(f"{names[min(i, j), max(i, j)]}*({z})" for j, z in enumerate(("1", t, f"{t}^2")))
        + f"-({right})"
        for i, right in enumerate((f"{t}^2", f"-2*{t}", "1"))
    ]
    for t in places[1:]:
        rows = [[draws.randint(-9, 9) for _ in range(3)] for _ in range(3)]
        z = [f"({a}+({b})*{t}+({c})*{t}^2)" for a, b, c in rows]
        slope = [f"({b}+({2 * c})*{t})" for _, b, c in rows]
        half = _form(names, slope, z)
        equations += [half, f"2*({_form(names, z, z)})-{t}*({half})"]
    for _ in range(5 - tangent):
        z = [str(draws.randint(-9, 9)) for _ in range(3)]
        equations.append(_form(names, z, z))
    return System.from_strings(equations, [*names.values(), *places])


def _form(names, x, z):
    """Return ``x^T A z`` as text."""
    pairs = product(range(3), range(3))
    return "+".join(f"{names[min(i, j), max(i, j)]}*({x[i]})*({z[j]})" for i, j in pairs)


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


def rps(seed):
    """Points of a serial chain on a circular hyperboloid, ten positions of its end: 1,024.

    H.-J. Su, J. M. McCarthy and L. T. Watson (2004). ``q0 P.P + 2 P.Q - (P.G)^2`` is the same for
    all positions ``P = R p + d``, and G is scaled by a linear equation.
    """
    draws = random.Random(seed)
    names = ["g1", "g2", "g3", "p1", "p2", "p3", "q0", "q1", "q2", "q3"]
    texts = [_on_hyperboloid(draws) for _ in range(10)]
    equations = [f"({text})-({texts[0]})" for text in texts[1:]]
    scale = "+".join(f"{draws.randint(1, 9)}*g{i}" for i in (1, 2, 3)) + "-1"
    return System.from_strings([*equations, scale], names)


def _on_hyperboloid(draws):
    """Return the polynomial of one position, a rational rotation and translation."""
    a, b, c, d = (draws.randint(-5, 5) for _ in range(4))
    a += 1 if a >= 0 else -1
    size = a * a + b * b + c * c + d * d
    rows = [
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ]
    shift = [draws.randint(-9, 9) for _ in range(3)]
    places = [
        "+".join(f"({r})/{size}*p{i + 1}" for i, r in enumerate(row)) + f"+({t})"
        for row, t in zip(rows, shift, strict=True)
    ]
    square = "+".join(f"({place})^2" for place in places)
    axis = "+".join(f"({place})*g{i + 1}" for i, place in enumerate(places))
    moment = "+".join(f"2*({place})*q{i + 1}" for i, place in enumerate(places))
    return f"q0*({square})+{moment}-({axis})^2"


@dataclass(frozen=True)
class Known:
    """A system whose solutions are known: how many regular ones, and the multiplicities of others.

    `sets` are paths that end on sets of solutions, and `paths` those of the start that is named.
    """

    name: str
    system: Callable[[], System]
    solutions: int
    paths: int
    start: str = "auto"
    multiple: tuple[int, ...] = ()
    sets: int = 0

    @property
    def known(self):
        """The known count, as text."""
        parts = [f"{self.solutions} known"]
        parts += [f"of multiplicity {m}" for m in self.multiple]
        return ", ".join(parts + ["a curve"] * bool(self.sets))

    def holds(self, found):
        """Tell whether solutions are as many, regular ones certified, and no path lost."""
        info = found.info
        multiple = sorted(found.multiplicity[found.is_singular].tolist())
        return (
            int(found.is_certified.sum()) == self.solutions
            and int((~found.is_singular).sum()) == self.solutions
            and multiple == sorted(self.multiple)
            and info.positive_dimensional == self.sets
            and info.failed == 0
            and info.paths == self.paths
        )


def _of(name, numbers, family, count, paths):
    return [Known(f"{name}-{n}", lambda n=n: family(n), count(n), paths(n)) for n in numbers]


def _roots(k):
    return lambda: system("*".join(f"(x-{i})" for i in range(1, k + 1)), names="x")


_GROUPS = "multihomogeneous"
COUNTS = [
    *_of("katsura", range(2, 11), katsura, lambda n: 2**n, lambda n: 2**n),
    *_of("cyclic", (3, 5, 6, 7), cyclic, *2 * [{3: 6, 5: 70, 6: 156, 7: 924}.get]),
    *_of("noon", (3, 4, 5, 6), noon, lambda n: 3**n - 2 * n, {3: 21, 4: 81, 5: 243, 6: 729}.get),
    *_of("eco", range(5, 11), eco, *2 * [lambda n: 2 ** (n - 2)]),
    *_of("chandra", range(4, 9), chandra, *2 * [lambda n: 2 ** (n - 1)]),
    Known("rps-10", lambda: rps(1), 1024, 1024),
    Known("lines on a cubic surface", lambda: lines(1), 27, 45),
    Known("conics on two points, tangent to three", lambda: conics(0, 3), 184, 216, _GROUPS),
    Known("conics tangent to five (Steiner)", lambda: conics(0), 3264, 7776, _GROUPS),
    Known("Wilkinson 19", _roots(19), 19, 19),
    Known("(x-3)^12", lambda: system("(x-3)^12", names="x"), 0, 12, multiple=(12,)),
    Known("(x-1)^2", lambda: system("(x-1)^2", names="x"), 0, 2, multiple=(2,)),
    Known("y(x-y)", lambda: system("y*(x-y)", "x^2-y"), 1, 4, multiple=(3,)),
    Known("griewank-osborne", lambda: system("29/16*x^3-2*x*y", "y-x^2"), 0, 6, multiple=(3,)),
    Known("cyclic-4, by degrees", lambda: cyclic(4), 0, 24, "total_degree", sets=20),
    Known("cyclic-4", lambda: cyclic(4), 0, 16, sets=16),
]
