"""NIST's nonlinear regression sets: certified digits and times, with SciPy and lmfit in one run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.optimize

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.tables import Found, grid
from tests.optimize.nist import MODELS, load

Run = Callable[[], Any]
QUICK = ("Misra1a", "MGH10", "Thurber")
TIGHT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


def ours(name: str, found: dict[str, Any], start: int, precision: mdqr.Precision) -> Run:
    """Return a fit by mdqr."""
    top = precision.next
    x, y = (mdqr.array(found[key], precision=top) for key in ("x", "y"))
    x, y = (x[0] if len(x) == 1 else x), mdqr.log(y) if name == "Nelson" else y
    f = partial(_curve, MODELS[name], mdqr)
    run = partial(mdqr.optimize.curve_fit, f, x, y, found["start"][start], precision=precision)
    return lambda: run().popt.to_numpy()


def scipys(name: str, found: dict[str, Any], start: int, **options: Any) -> Run:
    """Return a fit by SciPy."""
    f, x, y, p0 = _in_float64(name, found, start)
    return lambda: scipy.optimize.curve_fit(f, x, y, p0, **options)[0]


def lmfits(name: str, found: dict[str, Any], start: int) -> Run:
    """Return a fit by lmfit."""
    f, x, y, p0 = _in_float64(name, found, start)
    lmfit = import_module("lmfit")
    parameters = lmfit.create_params(**{f"b{j}": value for j, value in enumerate(p0)})

    def residuals(p: Any) -> Any:
        return f(x, *(p[key].value for key in parameters)) - y

    return lambda: [p.value for p in lmfit.minimize(residuals, parameters).params.values()]


def _curve(model: Any, functions: Any, x: Any, *b: Any) -> Any:
    return model(functions, x, *b)


def _in_float64(name: str, found: dict[str, Any], start: int) -> tuple[Any, Any, Any, Any]:
    x, y = np.array(found["x"], dtype=float), np.array(found["y"], dtype=float)
    f = partial(_curve, MODELS[name], np)
    y = np.log(y) if name == "Nelson" else y
    return f, x[0] if len(x) == 1 else x, y, np.array(found["start"][start], dtype=float)


def measured(run: Run, certified: list[str]) -> tuple[float, float]:
    """Return certified digits of the worst parameter, at most 11, and seconds."""
    exact, best, digits = np.array(certified, dtype=float), np.inf, 0.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(3):
            begin = time.perf_counter()
            try:
                x = np.asarray(run(), dtype=float)
            except (RuntimeError, ValueError):
                return 0.0, time.perf_counter() - begin
            best = min(best, time.perf_counter() - begin)
        error = np.max(np.abs((x - exact) / exact))
        digits = float(np.clip(-np.log10(error), 0.0, 11.0)) if error > 0 else 11.0
    return digits, best


def sets(options: Options) -> Iterator[Row]:
    """All sets from both starting points."""
    for name, found in load().items():
        if options.quick and name not in QUICK:
            continue
        for start in range(2):
            runs = {("mdqr", p.name): ours(name, found, start, p) for p in PRECISIONS[1:]}
            runs["scipy lm", "d"] = scipys(name, found, start, method="lm", maxfev=100_000)
            runs["scipy trf", "d"] = scipys(
                name, found, start, method="trf", x_scale="jac", jac="3-point", **TIGHT
            )
            if find_spec("lmfit") is not None:
                runs["lmfit", "d"] = lmfits(name, found, start)
            for (who, precision), run in runs.items():
                digits, seconds = measured(run, found["certified"])
                details = {"seconds": seconds}
                what = f"{name} {start + 1}"
                yield Row("nonlinear", what, who, precision, "", digits, "digits", None, details)


def lines(rows: list[Row]) -> list[str]:
    """Return one table: a set and start a line."""
    found = Found(rows)
    columns = dict.fromkeys((row.who, row.precision) for row in rows)
    cells = []
    for what in dict.fromkeys(row.what for row in rows):
        picked = [found.row("nonlinear", what=what, who=w, precision=p) for w, p in columns]
        texts = [
            f"{row.value:.1f} / {1e3 * row.details['seconds']:.0f}" if row else "" for row in picked
        ]
        cells.append([what, *texts])
    head = "Certified digits of the worst parameter, of 11, and milliseconds."
    return [head, "", *grid(["set, start", *(f"{w} {p}" for w, p in columns)], cells)]


BENCHMARKS = {
    "nonlinear": Benchmark(
        "nonlinear", "Nonlinear regression sets of NIST", {"sets": sets}, lines=lines
    )
}
