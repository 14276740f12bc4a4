"""How figures look: colours for light and dark pages, direct labels, units, captions.

Files have no background. Every colour keeps a contrast of 3 with white and with the dark theme of
the docs, and that of text more than 4; the hues are those of M. Okabe and K. Ito, which readers
with colour blindness can tell apart.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

TEXT, GRID = "#7a7a7a", "#8080804d"
COLORS = {
    "mdqr": "#1f83c4",
    "python-flint": "#d55e00",
    "PHCpack": "#d55e00",
    "mpmath": "#009e73",
    "float64": "#7a7a7a",
}
WIDTH = 4.8  # inches: a phone shows two thirds of it, which leaves letters of 7 points
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "mdqr",  # the same file for the same rows
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": TEXT,
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "axes.titlecolor": TEXT,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}
LINE, GAP = 0.15, 0.08  # inches of a line of the caption, and above it
COLUMNS = 72  # letters of a line of the caption


def settings() -> Any:
    """Return the context in which figures are drawn."""
    return mpl.rc_context(SETTINGS)


def panels(heights: Sequence[float]) -> tuple[Any, list[Any]]:
    """Return a figure and its axes, one below the other, of heights in inches."""
    figure, axes = plt.subplots(
        len(heights),
        1,
        figsize=(WIDTH, sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    return figure, list(axes[:, 0])


def units(axis: Any, unit: str, steps: Sequence[float] = (1.0,)) -> None:
    """Write numbers of a logarithmic axis with the prefixes of SI; `steps` of each decade."""
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(EngFormatter(unit=unit))
    axis.set_minor_locator(NullLocator())


def named(axis: Any, positions: Sequence[float], names: Sequence[str]) -> None:
    """Have ticks at these places alone."""
    axis.set_ticks(list(positions), list(names))
    axis.set_minor_locator(NullLocator())


def label(
    axes: Any, text: str, at: tuple[float, float], color: str, to: str = "right", by: float = 6
) -> None:
    """Write beside a point, so many points away: to its right or left, above or below it."""
    places = {
        "right": ((by, 0), "left", "center"),
        "left": ((-by, 0), "right", "center"),
        "above": ((0, by), "center", "bottom"),
        "below": ((0, -by), "center", "top"),
    }
    offset, horizontal, vertical = places[to]
    axes.annotate(
        text, at, offset, textcoords="offset points", color=color, ha=horizontal, va=vertical
    )


def captioned(figure: Any, caption: str) -> None:
    """Write a caption below the axes, and make room for it."""
    lines = [x for line in caption.split("\n") for x in textwrap.wrap(line, COLUMNS)]
    width, height = figure.get_size_inches()
    room = LINE * len(lines) + GAP
    figure.set_size_inches(width, height + room)
    rectangle = (0, room / (height + room), 1, height / (height + room))
    figure.get_layout_engine().set(rect=rectangle)
    text = "\n".join(lines)
    figure.text(0.01, 0.02 / (height + room), text, fontsize=8, va="bottom", linespacing=1.25)
