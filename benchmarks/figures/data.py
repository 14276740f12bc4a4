"""What each figure shows: plain numbers, seconds but where it says otherwise, of recorded rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row

Recorded = Mapping[str, Sequence[Row]]
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
MULTIPLE = PRECISIONS[1:]
NAMES = tuple(p.name for p in MULTIPLE)
MIDDLE = "qd"  # whose line is drawn, in a band from the first to the last precision
TALL = 32768  # rows of the matrices that tensor cores factor


def of(rows: Sequence[Row], group: str, **wanted: str) -> list[Row]:
    """Return the rows of a group whose fields are as given; some there must be."""
    found = [
        row
        for row in rows
        if row.group == group and all(getattr(row, name) == v for name, v in wanted.items())
    ]
    if not found:
        raise ValueError(f"no row of {group} with {wanted}")
    return found


def value(row: Row) -> float:
    """Return the seconds of a row of time, else its value."""
    return row.value * SECONDS.get(row.unit, 1.0)


def one(rows: Sequence[Row], group: str, **wanted: str) -> float:
    """Return the value of the only row with these fields."""
    (row,) = of(rows, group, **wanted)
    return value(row)


def by_size(rows: Sequence[Row]) -> dict[int, float]:
    """Return values by the number that is their size."""
    return {int(row.size): value(row) for row in rows}


def line(times: Mapping[int, float]) -> dict[str, list[float]]:
    """Return sizes and times in two lists."""
    return {"sizes": list(times), "times": list(times.values())}


def band(rows: Sequence[Row], group: str, **wanted: str) -> dict[str, list[float]]:
    """Return values by size: those of `MIDDLE`, the least and the largest of all precisions."""
    each = [by_size(of(rows, group, precision=name, **wanted)) for name in NAMES]
    sizes = sorted(each[0])
    return {
        "sizes": list(sizes),
        "middle": [each[NAMES.index(MIDDLE)][n] for n in sizes],
        "low": [min(x[n] for x in each) for n in sizes],
        "high": [max(x[n] for x in each) for n in sizes],
    }


def spread(rows: Sequence[Row], group: str, **wanted: str) -> dict[str, float] | None:
    """Return the same of one size; None if it was not measured."""
    found = [row for row in rows if row.group == group and row.precision in NAMES]
    found = [row for row in found if all(getattr(row, name) == v for name, v in wanted.items())]
    if not found:
        return None
    values = {row.precision: value(row) for row in found}
    return {"middle": values[MIDDLE], "low": min(values.values()), "high": max(values.values())}


def solve_times(recorded: Recorded) -> dict[str, Any]:
    """Seconds of one system by its number of unknowns: bands of packages, NumPy's line."""
    rows = recorded["systems"]
    who = ("mdqr", "python-flint", "python-flint, approx", "mpmath")
    bands = {name: band(rows, "orders", what="solve", who=name) for name in who}
    numpy = by_size(of(rows, "orders", what="solve", who="numpy"))
    return {"bands": bands, "numpy": line(numpy)}


def price_of_digits(recorded: Recorded) -> dict[str, Any]:
    """Seconds of least squares by the precision of the answer, on a CPU and on a GPU."""
    cpu, gpu = recorded["systems"], recorded["gpu-systems"]
    what = "lstsq, float64 data"
    size = of(cpu, "large", what=what)[0].size
    peer = median(value(row) for row in of(cpu, "large", what=what, who="numpy"))
    found: dict[str, Any] = {"CPU": {"size": size, "float64": peer, "lines": {}}}
    for who, label in (("mdqr", "mdqr"), ("mdqr, householder", "by Householder QR")):
        times = [one(cpu, "large", what=what, who=who, precision=name) for name in NAMES]
        found["CPU"]["lines"][label] = times
    size = of(gpu, "large")[0].size
    peer = median(value(row) for row in of(gpu, "large", who="cupy qr and solve"))
    found["GPU"] = {"size": size, "float64": peer, "lines": {}}
    for power in ("04", "08", "12"):
        what = f"lstsq, condition 1e+{power}, float64 data"
        times = [one(gpu, "large", what=what, precision=name) for name in NAMES]
        found["GPU"]["lines"][f"condition 1e{int(power)}"] = times
    return found


def decompositions(recorded: Recorded) -> dict[str, Any]:
    """Seconds of functions of one matrix: mdqr, python-flint where it has the function, NumPy."""
    rows = recorded["dense"]
    names = ("eig", "eigh", "svd", "svdvals", "inv", "det", "cholesky", "lu_factor")
    found = {}
    for name in names:
        peer = [row for row in rows if (row.group, row.what, row.who) == ("single", name, "numpy")]
        found[name] = {
            "mdqr": spread(rows, "single", what=name, who="mdqr"),
            "python-flint": spread(rows, "single", what=name, who="python-flint"),
            "NumPy": value(peer[0]) if peer else None,
        }
    return {"size": of(rows, "single")[0].size, "functions": found}


def elementary_rates(recorded: Recorded) -> dict[str, Any]:
    """Values a second of elementary functions."""
    rows = recorded["elementary"]
    found = {}
    for name in ("exp", "log", "sin", "gamma", "erf"):
        peer = [row for row in rows if (row.group, row.what, row.who) == ("rates", name, "numpy")]
        found[name] = {
            "mdqr": spread(rows, "rates", what=name, who="mdqr"),
            "python-flint": spread(rows, "rates", what=name, who="arb"),
            "mpmath": spread(rows, "rates", what=name, who="mpmath"),
            "NumPy": value(peer[0]) if peer else None,
        }
    return {"functions": found}


def gpu_factors(recorded: Recorded) -> dict[str, Any]:
    """Seconds of Q and R: by precision beside PHCpack, and of float32 on tensor cores."""
    rows, low = recorded["gpu"], recorded["tensorcore"]
    what, size = "Q and R, real", "1024"
    found: dict[str, Any] = {"order": size, "by precision": {}}
    for who in ("mdqr", "PHCpack"):
        times = {
            p.name: one(rows, "factorisations", what=what, who=who, precision=p.name, size=size)
            for p in PRECISIONS
        }
        found["by precision"][who] = times
    peer = one(rows, "factorisations", what=what, who="cupy.linalg.qr", size=size)
    found["by precision"]["cuSOLVER"] = {PRECISIONS[0].name: peer}
    groups = {
        "cuSOLVER": ("Q and R", "cupy.linalg.qr", "float32"),
        "mdqr, two passes": ("orthonormal Q and R, cholesky", "mdqr", "fp16"),
        "mdqr, one pass": ("Q and R, cholesky", "mdqr", "fp16"),
    }
    found["columns"] = {}
    for label, (what, who, precision) in groups.items():
        rows = of(low, "factorisations", what=what, who=who, precision=precision)
        sizes = [[int(x) for x in row.size.split("x")] for row in rows]
        by_columns = {
            n: value(row)
            for row, (m, n) in zip(rows, sizes, strict=True)
            if m == TALL > n and row.unit in SECONDS
        }
        found["columns"][label] = line(by_columns)
    return found


def series_times(recorded: Recorded) -> dict[str, Any]:
    """Seconds of power series: beside mpmath on a CPU, and many start points on a GPU."""
    rows, gpu = recorded["series"], recorded["gpu-series"]
    found: dict[str, Any] = {"CPU": {}, "GPU": {}}
    for who in ("mdqr", "mpmath"):
        times = of(rows, "times", what="cyclic", who=who, precision=MIDDLE)
        found["CPU"][who] = line(by_size(times))
    for name in NAMES:
        batch = of(gpu, "batches", what="cyclic 7", precision=name)[0]
        what = "cyclic 7, one core in sequence / GPU"
        gain = one(gpu, "batches", what=what, precision=name)
        found["GPU"][name] = {"GPU": value(batch), "one core": gain * value(batch)}
    found["starts"] = batch.size
    return found


def rows_in_chunks(recorded: Recorded) -> dict[str, Any]:
    """Seconds of least squares by rows in one process, and of one and of two workers."""
    rows = recorded["distributed"]
    found: dict[str, Any] = {"rows": {}, "workers": {}}
    for name in NAMES:
        times = of(rows, "rows", precision=name)
        found["rows"][name] = line({int(row.size.split("x")[0]): value(row) for row in times})
    for row in of(rows, "workers", unit="s"):
        count = int(row.what.removeprefix("lstsq, ").split()[0])
        m = int(row.size.split("x")[0])
        of_size = found["workers"].setdefault(f"{m:,} rows, {row.precision}", {})
        of_size[str(count)] = value(row)
    return found


def refinement_steps(recorded: Recorded) -> dict[str, Any]:
    """Digits that a step of refinement gains, in the median, by the condition."""
    digits: dict[str, list[float]] = {}
    for row in of(recorded["systems"], "steps"):
        exponent = int(row.what.removeprefix("condition 1e"))
        digits.setdefault(f"1e{exponent}", []).append(row.value)
    return {cond: median(b - a for a, b in pairwise(found)) for cond, found in digits.items()}


def product_rates(recorded: Recorded) -> dict[str, Any]:
    """Return multiply-adds a second by precision and method."""
    rows = [*of(recorded["products"], "crossover"), *of(recorded["products"], "large")]
    return {
        name: {
            method: line(
                by_size([r for r in rows if (r.precision, r.who) == (name, f"mdqr, {method}")])
            )
            for method in ("exact", "direct")
        }
        for name in NAMES
    }


def path_precisions(recorded: Recorded) -> dict[str, Any]:
    """Conditions of the ends of paths, and the limbs that these took, by kind of system."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in of(recorded["paths"], "precisions"):
        kind = row.what.split()[0] if row.what.startswith(("Wilkinson", "pairs")) else "others"
        points = found.setdefault(kind, {"conditions": [], "limbs": []})
        points["conditions"].append(float(row.size))
        points["limbs"].append(row.value)
    return found


def path_times(recorded: Recorded) -> dict[str, Any]:
    """Seconds of katsura-n by the number of paths, on a CPU and with a GPU."""
    sources = {"CPU": "paths", "GPU": "gpu-paths"}
    return {name: line(by_size(of(recorded[s], "paths"))) for name, s in sources.items()}
