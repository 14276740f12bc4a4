"""The figure of the landing page and the README: digits of fits with Hilbert matrices.

python -m docs.figures.hilbert [FILE]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import mdqr
from benchmarks.figures.style import COLORS, TEXT, WIDTH, settings

FILE = Path(__file__).with_suffix(".svg")
HUES = {mdqr.dd: COLORS["mpmath"], mdqr.qd: COLORS["python-flint"], mdqr.od: COLORS["mdqr"]}
STEP = 2


def problem(n: int, precision: mdqr.Precision) -> tuple[mdqr.MDArray, mdqr.MDArray]:
    """Return the Hilbert matrix of order n, and a right-hand side whose solution is all ones."""
    i = mdqr.arange(1, n + 1, precision=precision)
    a = 1 / (i[:, None] + i - 1)
    return a, a.sum(axis=1)


def right_digits(x: np.ndarray | mdqr.MDArray) -> float:
    """Return the digits of the worst component that are right."""
    return -float(mdqr.log10(abs(mdqr.array(x, precision="od") - 1).max()))


def in_float64(n: int) -> float:
    """Return the digits that `numpy.linalg.lstsq` gets right."""
    a, b = problem(n, mdqr.d)
    return right_digits(np.linalg.lstsq(a.to_numpy(), b.to_numpy())[0])


def in_multiple_doubles(n: int, precision: mdqr.Precision) -> tuple[float, float]:
    """Return the digits that `mdqr.linalg.lstsq` gets right, and those that it claims."""
    a, b = problem(n, precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)  # the figure says the same
        x, _, _, info = mdqr.linalg.lstsq(a, b)
    right, claimed = right_digits(x), float(info.data_digits.min())
    assert claimed <= right
    return right, claimed


def until_refused(precision: mdqr.Precision) -> Iterator[tuple[float, float]]:
    """Yield right and claimed digits for larger and larger matrices, while `lstsq` answers."""
    for n in count(STEP, STEP):
        try:
            yield in_multiple_doubles(n, precision)
        except mdqr.linalg.LinAlgError:
            return


def draw() -> Figure:
    """Return the figure."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6), layout="constrained")
    for precision, color in HUES.items():
        right, claimed = zip(*until_refused(precision), strict=True)
        orders = range(STEP, STEP * (len(right) + 1), STEP)
        axes.plot(orders, right, "o", color=color, markersize=3.5)
        axes.plot(orders, claimed, "-", color=color, linewidth=1)
        axes.plot(orders[-1] + STEP, 0, "x", color=color, clip_on=False, zorder=3)
        place = (orders[1], right[1])
        axes.annotate(precision.name, place, (8, 0), textcoords="offset points", color=color)
    orders = range(STEP, orders[-1] + STEP, STEP)
    axes.plot(orders, [in_float64(n) for n in orders], ".", color=TEXT, markersize=3.5)
    axes.annotate("NumPy, float64", (48, 7))
    axes.plot([], [], "o", color=TEXT, markersize=3.5, label="digits that are right")
    axes.plot([], [], "-", color=TEXT, linewidth=1, label="digits that mdqr claims (data_digits)")
    axes.plot([], [], "x", color=TEXT, linewidth=1, label="no answer: LinAlgError")
    axes.legend(frameon=False)
    axes.set(xlabel="order of the Hilbert matrix", ylabel="decimal digits, worst component")
    axes.set(xlim=(0, None), ylim=(0, 132))
    return figure


def main() -> None:
    """Write the figure, without a background: the README and the docs have a dark theme too."""
    mpl.use("svg")
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    with settings():
        draw().savefig(target, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main()
