"""All 16 solutions of katsura-4, by paths from the solutions of ``x^2 = 1``."""

from __future__ import annotations

from itertools import product

import numpy as np

from mdqr.series import System, track

NUMBER = 4


def katsura(number: int) -> tuple[list[str], list[str]]:
    """Return the equations and unknowns: magnetic fields in a model of spins."""
    names = [f"u{i}" for i in range(number + 1)]
    around = range(-number, number + 1)
    equations = [
        " + ".join(f"{names[abs(i)]}*{names[abs(m - i)]}" for i in around if abs(m - i) <= number)
        + f" - {names[m]}"
        for m in range(number)
    ]
    return [*equations, " + ".join(names[abs(i)] for i in around) + " - 1"], names


def homotopy(equations: list[str], names: list[str]) -> tuple[System, np.ndarray]:
    """Return a homotopy from one quadratic equation an unknown, the last linear; and its starts.

    The complex constant keeps paths apart for t below 1.
    """
    degrees = [2] * (len(names) - 1) + [1]
    mixed = [
        f"(3/5 + 4/5*i)*(1-t)*({name}^{d} - 1) + t*({equation})"
        for name, d, equation in zip(names, degrees, equations, strict=True)
    ]
    starts = [[1.0, -1.0] if d == 2 else [1.0] for d in degrees]
    return System.from_strings(mixed, names), np.array(list(product(*starts)))


def main(number: int = NUMBER) -> None:
    """Print the ends of all paths."""
    system, starts = homotopy(*katsura(number))
    ends = []
    for path in track(system, starts, precision="dd"):
        ends.append(path.x[-1])
        values = " ".join(f"{complex(value):.4f}" for value in path.x[-1].to_numpy())
        print(f"{len(path.t) - 1:3} steps, {path.message}: {values}")
    points = np.array([x.to_numpy() for x in ends])
    apart = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(len(points))
    real = int((abs(points.imag).max(axis=1) < 1e-20).sum())
    print(f"{len(ends)} ends, at least {apart.min():.2f} apart; {real} are real")


if __name__ == "__main__":
    main()
