"""NIST's 27 nonlinear regression sets (Statistical Reference Datasets, public domain).

`nist.json` has the data, starting points and certified values as decimal strings, and the minima
to 60 digits that ``python -m tests.optimize.nist`` computes with mpmath: by Newton's method with
derivatives by differences in 250 digits, from the certified values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("nist.json")
MODELS: dict[str, Any] = {
    "Bennett5": lambda m, x, a, b, c: a * m.exp(-m.log(b + x) / c),
    "BoxBOD": lambda m, x, a, b: a * (1 - m.exp(-b * x)),
    "Chwirut1": lambda m, x, a, b, c: m.exp(-a * x) / (b + c * x),
    "Chwirut2": lambda m, x, a, b, c: m.exp(-a * x) / (b + c * x),
    "DanWood": lambda m, x, a, b: a * m.exp(b * m.log(x)),
    "ENSO": lambda m, x, a, b, c, d, e, f, g, h, i: (
        a
        + b * m.cos(2 * m.pi * x / 12)
        + c * m.sin(2 * m.pi * x / 12)
        + e * m.cos(2 * m.pi * x / d)
        + f * m.sin(2 * m.pi * x / d)
        + h * m.cos(2 * m.pi * x / g)
        + i * m.sin(2 * m.pi * x / g)
    ),
    "Eckerle4": lambda m, x, a, b, c: a / b * m.exp(-(((x - c) / b) ** 2) / 2),
    "Hahn1": lambda m, x, a, b, c, d, e, f, g: (
        (a + x * (b + x * (c + x * d))) / (1 + x * (e + x * (f + x * g)))
    ),
    "Kirby2": lambda m, x, a, b, c, d, e: (a + x * (b + x * c)) / (1 + x * (d + x * e)),
    "MGH09": lambda m, x, a, b, c, d: a * (x * x + x * b) / (x * x + x * c + d),
    "MGH10": lambda m, x, a, b, c: a * m.exp(b / (x + c)),
    "MGH17": lambda m, x, a, b, c, d, e: a + b * m.exp(-x * d) + c * m.exp(-x * e),
    "Misra1a": lambda m, x, a, b: a * (1 - m.exp(-b * x)),
    "Misra1b": lambda m, x, a, b: a * (1 - 1 / (1 + b * x / 2) ** 2),
    "Misra1c": lambda m, x, a, b: a * (1 - 1 / m.sqrt(1 + 2 * b * x)),
    "Misra1d": lambda m, x, a, b: a * b * x / (1 + b * x),
    "Nelson": lambda m, x, a, b, c: a - b * x[0] * m.exp(-c * x[1]),
    "Rat42": lambda m, x, a, b, c: a / (1 + m.exp(b - c * x)),
    "Rat43": lambda m, x, a, b, c, d: a / m.exp(m.log(1 + m.exp(b - c * x)) / d),
    "Roszman1": lambda m, x, a, b, c, d: a - b * x - m.arctan(c / (x - d)) / m.pi,
    "Thurber": lambda m, x, a, b, c, d, e, f, g: (
        (a + x * (b + x * (c + x * d))) / (1 + x * (e + x * (f + x * g)))
    ),
}
for _k in "123":
    MODELS[f"Gauss{_k}"] = lambda m, x, a, b, c, d, e, f, g, h: (
        a * m.exp(-b * x) + c * m.exp(-(((x - d) / e) ** 2)) + f * m.exp(-(((x - g) / h) ** 2))
    )
    MODELS[f"Lanczos{_k}"] = lambda m, x, a, b, c, d, e, f: (
        a * m.exp(-b * x) + c * m.exp(-d * x) + e * m.exp(-f * x)
    )


def load() -> dict[str, Any]:
    """Return the sets: starts, certified, deviations, std, y, x, and minimum to 60 digits."""
    return dict(json.loads(FILE.read_text()))


class _Mpmath:
    """Functions of mpmath by the names of NumPy."""

    def __getattr__(self, name: str) -> Any:
        import mpmath

        return getattr(mpmath, {"arctan": "atan"}.get(name, name))


def minimum(name: str, found: dict[str, Any]) -> list[str]:
    """Return the minimum of a set to 60 digits."""
    from mpmath import lu_solve, matrix, mp, mpf, nstr

    mp.dps = 250
    functions, model = _Mpmath(), MODELS[name]
    y = [mpf(v) for v in found["y"]]
    y = [mp.log(v) for v in y] if name == "Nelson" else y
    xs = [[mpf(v) for v in row] for row in found["x"]]
    points = list(zip(*xs, strict=True)) if len(xs) > 1 else xs[0]
    b = [mpf(v) for v in found["certified"]]
    n, h = len(b), mpf(10) ** -60

    def residuals(b):
        return [model(functions, x, *b) - v for x, v in zip(points, y, strict=True)]

    while True:
        # Central differences over 1e-60: errors of 1e-120, relative to the values.
        steps = [h * abs(v) for v in b]

        def moved(*changes, b=b, steps=steps):
            c = list(b)
            for j, sign in changes:
                c[j] += sign * steps[j]
            return residuals(c)

        r = residuals(b)
        plus = [moved((j, 1)) for j in range(n)]
        minus = [moved((j, -1)) for j in range(n)]
        jac = [
            [(p - q) / (2 * steps[j]) for p, q in zip(plus[j], minus[j], strict=True)]
            for j in range(n)
        ]
        hessian = matrix(n, n)
        for j in range(n):
            for k in range(j, n):
                second = mp.mpf(0)
                if j == k:
                    terms = zip(plus[j], minus[j], r, strict=True)
                    second = sum(s * (p + q - 2 * s) for p, q, s in terms) / steps[j] ** 2
                else:
                    both = moved((j, 1), (k, 1))
                    terms = zip(both, plus[j], plus[k], r, strict=True)
                    second = sum(s * (t - p - q + s) for t, p, q, s in terms)
                    second /= steps[j] * steps[k]
                products = sum(p * q for p, q in zip(jac[j], jac[k], strict=True))
                hessian[j, k] = hessian[k, j] = products + second
        gradient = matrix([sum(p * s for p, s in zip(jac[j], r, strict=True)) for j in range(n)])
        step = lu_solve(hessian, -gradient)
        b = [v + s for v, s in zip(b, step, strict=True)]
        if max(abs(s / v) for s, v in zip(step, b, strict=True)) < mpf(10) ** -75:
            return [nstr(v, 80, min_fixed=0, max_fixed=0) for v in b]


def main() -> None:
    """Write the minima into the file."""
    sets = load()
    for name, found in sets.items():
        found["minimum"] = minimum(name, found)
        FILE.write_text(json.dumps(sets, indent=0) + "\n")


if __name__ == "__main__":
    main()
