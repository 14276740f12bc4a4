"""How each figure is drawn, of the numbers of `data`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.common.precisions import PRECISIONS
from benchmarks.figures import style
from benchmarks.figures.data import MIDDLE, MULTIPLE, NAMES
from benchmarks.figures.style import COLORS, label

Data = Mapping[str, Any]
DIGITS = {p.name: f"{p.digits}" for p in PRECISIONS}
BAND = f"lines {DIGITS[MIDDLE]} digits, bands from {DIGITS[NAMES[0]]} to {DIGITS[NAMES[-1]]}"


def solve_times(data: Data) -> Any:
    """Draw bands of packages, labelled at their right ends."""
    figure, (axes,) = style.panels([3.9])
    styles = {"python-flint, approx": ("python-flint", "--", "python-flint,\napprox")}
    for who, band in data["bands"].items():
        name, dashes, text = styles.get(who, (who, "-", who))
        color, x = COLORS[name], band["sizes"]
        axes.fill_between(x, band["low"], band["high"], color=color, alpha=0.25, linewidth=0)
        axes.loglog(x, band["middle"], dashes, color=color)
        label(axes, text, (x[-1], band["middle"][-1]), color)
    x, times = data["numpy"].values()
    axes.loglog(x, times, ":", color=COLORS["float64"])
    label(axes, "NumPy,\nfloat64", (x[-1], times[-1]), COLORS["float64"])
    axes.set(xlabel="unknowns", xlim=(7, 2600))
    axes.set_title(f"one system: {BAND}", fontsize=9)
    style.named(axes.xaxis, x, [str(n) for n in x])
    style.units(axes.yaxis, "s")
    return figure


def price_of_digits(data: Data) -> Any:
    """Draw times against digits, a panel for the CPU and one for the GPU."""
    figure, both = style.panels([2.6, 2.7])
    peers = {"CPU": "numpy.linalg.lstsq", "GPU": "QR and solve of CuPy"}
    looks = (("o-", "below"), ("s--", "above"), ("^:", "above"))
    digits, x = [p.digits for p in PRECISIONS], [p.digits for p in MULTIPLE]
    for axes, (device, panel) in zip(both, data.items(), strict=True):
        axes.axhline(panel["float64"], color=COLORS["float64"], linestyle=":")
        axes.plot(digits[0], panel["float64"], "D", color=COLORS["float64"])
        label(axes, peers[device], (x[1], panel["float64"]), COLORS["float64"], "below")
        for (mark, place), (name, times) in zip(looks, panel["lines"].items(), strict=False):
            axes.plot(x, times, mark, color=COLORS["mdqr"])
            label(axes, name, (x[-1], times[-1]), COLORS["mdqr"], place)
        axes.set_yscale("log")
        axes.set(title=f"least squares, {panel['size']}, on a {device}", xlim=(8, 160))
        axes.set_ylim(panel["float64"] / 1.8, 2.2 * max(map(max, panel["lines"].values())))
        style.named(axes.xaxis, digits, list(DIGITS.values()))
        style.units(axes.yaxis, "s", (1, 2, 5))
    both[-1].set_xlabel("decimal digits of the answer")
    return figure


def dots(axes: Any, functions: Data, labels: Mapping[str, tuple[str, str, str]]) -> None:
    """Draw a line a function: dots of packages, bars from the first to the last precision.

    `labels` has by package the function beside whose dot its name stands, and where.
    """
    names = list(functions)[::-1]
    markers = {"mdqr": "o", "python-flint": "s", "mpmath": "^", "NumPy": "D"}
    for y, name in enumerate(names):
        for who, found in functions[name].items():
            if found is None:
                continue
            color = COLORS.get(who, COLORS["float64"])
            at = found if isinstance(found, float) else found["middle"]
            if not isinstance(found, float):
                axes.hlines(y, found["low"], found["high"], color=color, alpha=0.4, linewidth=5)
            axes.plot(at, y, markers[who], color=color)
            function, text, place = labels[who]
            if function == name:
                label(axes, text, (at, y), color, place, 7)
    axes.set_xscale("log")
    style.named(axes.yaxis, range(len(names)), names)
    axes.grid(visible=False, axis="x")


def decompositions(data: Data) -> Any:
    """Draw a line a function."""
    figure, (axes,) = style.panels([3.6])
    labels = {
        "mdqr": ("eig", "mdqr", "above"),
        "python-flint": ("eig", "python-flint", "above"),
        "NumPy": ("eig", "NumPy, float64", "above"),
    }
    dots(axes, data["functions"], labels)
    axes.set_title(f"one matrix of order {data['size']}:\n{marks()}", fontsize=9)
    axes.set_ylim(-0.5, len(data["functions"]) - 0.2)
    style.units(axes.xaxis, "s")
    return figure


def marks() -> str:
    """Say what marks and bars of `dots` are."""
    return BAND.replace("lines", "marks").replace("bands", "bars")


def elementary_rates(data: Data) -> Any:
    """Draw a line a function."""
    figure, (axes,) = style.panels([2.9])
    labels = {
        "mdqr": ("gamma", "mdqr", "right"),
        "python-flint": ("exp", "python-flint", "above"),
        "mpmath": ("exp", "mpmath", "above"),
        "NumPy": ("log", "NumPy, float64", "left"),
    }
    dots(axes, data["functions"], labels)
    axes.set_title(f"values a second:\n{marks()}", fontsize=9)
    axes.set_ylim(-0.5, len(data["functions"]) - 0.2)
    style.units(axes.xaxis, "")
    return figure


def gpu_factors(data: Data) -> Any:
    """Draw multiple doubles above, tensor cores below."""
    figure, (above, below) = style.panels([2.7, 3.0])
    places = {name: i for i, name in enumerate(DIGITS)}
    markers = {"mdqr": "o-", "PHCpack": "s-", "cuSOLVER": "D"}
    for who, found in data["by precision"].items():
        color = COLORS.get(who, COLORS["float64"])
        x, times = [places[name] for name in found], list(found.values())
        above.semilogy(x, times, markers[who], color=color)
        label(above, who, (x[-1], times[-1]), color, "below" if len(x) == 1 else "right")
    n = data["order"]
    above.set(title=f"Q and R of {n} x {n}", xlim=(-0.4, 3.9), ylim=(1.5e-3, 15))
    style.named(above.xaxis, list(places.values()), [f"{p}\n{DIGITS[p]} digits" for p in places])
    style.units(above.yaxis, "s")
    for who, mark in (("cuSOLVER", "D:"), ("mdqr, two passes", "s--"), ("mdqr, one pass", "o-")):
        x, times = data["columns"][who].values()
        color = COLORS.get(who.split(",")[0], COLORS["float64"])
        below.loglog(x, times, mark, color=color)
        label(below, who, (x[-1], times[-1]), color)
    below.set(title="Q and R of 32768 rows of float32", xlabel="columns", xlim=(100, 200000))
    style.named(below.xaxis, x[::2], [str(n) for n in x[::2]])
    style.units(below.yaxis, "s")
    return figure


def series_times(data: Data) -> Any:
    """Draw one start beside mpmath above, many on a GPU below."""
    figure, (above, below) = style.panels([2.4, 1.9])
    for who, found in data["CPU"].items():
        x, times = found.values()
        above.semilogy(x, times, "o-" if who == "mdqr" else "^-", color=COLORS[who])
        label(above, who, (x[-1], times[-1]), COLORS[who])
    title = f"cyclic n-roots to order 31, {DIGITS[MIDDLE]} digits, CPU"
    above.set(title=title, xlabel="unknowns", xlim=(4.5, 12.6))
    style.named(above.xaxis, x, [str(n) for n in x])
    style.units(above.yaxis, "s")
    names = list(data["GPU"])[::-1]
    markers = {"GPU": ("o", COLORS["mdqr"]), "one core": ("D", COLORS["float64"])}
    for y, name in enumerate(names):
        for who, time in data["GPU"][name].items():
            marker, color = markers[who]
            below.plot(time, y, marker, color=color)
            if y == len(names) - 1:
                text = "all at once on a GPU" if who == "GPU" else "in sequence on one core"
                label(below, text, (time, y), color, "above")
    below.set_xscale("log")
    below.set(title=f"{data['starts']} start points of cyclic 7-roots")
    below.set(xlim=(8e-4, 90), ylim=(-0.5, len(names) - 0.2))
    below.grid(visible=False, axis="x")
    style.named(below.yaxis, range(len(names)), [f"{x}, {DIGITS[x]} digits" for x in names])
    style.units(below.xaxis, "s")
    return figure


def rows_in_chunks(data: Data) -> Any:
    """Draw times against rows above, against workers below."""
    figure, (above, below) = style.panels([2.6, 1.7])
    for name, found in data["rows"].items():
        x, times = found.values()
        above.loglog(x, times, "o-", color=COLORS["mdqr"])
        label(above, f"{DIGITS[name]} digits", (x[-1], times[-1]), COLORS["mdqr"])
    above.set(title="least squares with 20 columns", xlabel="rows", xlim=(x[0] / 1.3, 3 * x[-1]))
    style.named(above.xaxis, x, [f"{n:,}" for n in x])
    style.units(above.yaxis, "s")
    names = list(data["workers"])[::-1]
    markers = {"1": ("D", COLORS["float64"]), "2": ("o", COLORS["mdqr"])}
    for y, name in enumerate(names):
        for count, time in data["workers"][name].items():
            marker, color = markers[count]
            below.plot(time, y, marker, color=color)
            if y == len(names) - 1:
                label(below, f"{count} worker{'s' * (count != '1')}", (time, y), color, "above")
    every = [time for found in data["workers"].values() for time in found.values()]
    below.set_xscale("log")
    below.set(
        title="in processes of 1 GiB",
        xlim=(min(every) / 1.5, 1.5 * max(every)),
        ylim=(-0.5, len(names) - 0.2),
    )
    below.grid(visible=False, axis="x")
    style.named(below.yaxis, range(len(names)), names)
    style.units(below.xaxis, "s", (1, 2, 5))
    return figure


def refinement_steps(data: Data) -> Any:
    """Draw the gain against the condition."""
    figure, (axes,) = style.panels([2.8])
    conditions = [float(name) for name in data]
    axes.semilogx(conditions, list(data.values()), "o", color=COLORS["mdqr"])
    axes.set(title="decimal digits that a step gains", xlabel="condition of the matrix")
    axes.set(ylim=(0, 17), yticks=(0, 5, 10, 15))
    style.named(axes.xaxis, conditions, list(data))
    return figure


def product_rates(data: Data) -> Any:
    """Draw rates of both methods by the order of the matrices."""
    figure, (axes,) = style.panels([3.9])
    for name, methods in data.items():
        for method, dashes in (("exact", "o-"), ("direct", "s--")):
            x, rates = methods[method].values()
            axes.loglog(x, rates, dashes, color=COLORS["mdqr"], markersize=3)
            text = f"{DIGITS[name]} digits" if method == "exact" else ""
            label(axes, text, (x[-1], rates[-1]), COLORS["mdqr"])
    axes.set(xlabel="order of the matrices", ylabel="multiply-adds a second", xlim=(56, 2600))
    axes.set_title("lines through residues, dashes of limbs", fontsize=9)
    x = [n for n in x if n.bit_count() == 1]
    style.named(axes.xaxis, x, [str(n) for n in x])
    return figure


def path_precisions(data: Data) -> Any:
    """Draw a dot for each path: condition to the right, digits upward."""
    figure, (axes,) = style.panels([2.2])
    looks = {
        "others": ("o", COLORS["float64"], "cyclic, katsura, noon, eco"),
        "Wilkinson": ("s", COLORS["mpmath"], "Wilkinson"),
        "pairs": ("^", COLORS["mdqr"], "pairs of close solutions"),
    }
    limbs = [p.limbs for p in PRECISIONS]
    looks_at = {"others": "right", "Wilkinson": "right", "pairs": "above"}
    for shift, (kind, (mark, color, text)) in enumerate(looks.items()):
        x = data[kind]["conditions"]
        # One above the other, where kinds have the same precision.
        y = [limbs.index(int(n)) + 0.16 * (shift - 1) for n in data[kind]["limbs"]]
        axes.semilogx(x, y, mark, color=color, fillstyle="none")
        last = max(range(len(x)), key=x.__getitem__)
        label(axes, text, (x[last], y[last]), color, looks_at[kind])
    axes.set(title="precision of a path", xlabel="condition of its end", ylim=(-0.6, 2.6))
    style.named(axes.yaxis, range(3), [f"{p.digits} digits" for p in PRECISIONS[:3]])
    return figure


def path_times(data: Data) -> Any:
    """Draw times against paths."""
    figure, (axes,) = style.panels([2.6])
    looks = {
        "CPU": ("o-", COLORS["mdqr"], "processor time\nwithout a GPU", "above"),
        "GPU": ("s--", COLORS["python-flint"], "with a GPU", "right"),
    }
    for device, (mark, color, text, place) in looks.items():
        x, times = data[device].values()
        axes.loglog(x, times, mark, color=color)
        label(axes, text, (x[-1], times[-1]), color, place)
    title = f"katsura-n, {DIGITS['dd']} digits, certified"
    axes.set(title=title, xlabel="paths", xlim=(x[0] / 1.3, 3 * x[-1]), ylim=(0.02, 30))
    style.named(axes.xaxis, x[::2], [f"{int(n):,}" for n in x[::2]])
    style.units(axes.yaxis, "s")
    return figure
