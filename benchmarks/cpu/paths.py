"""All solutions of polynomial systems: counts, times beside Bertini 2, precisions of paths."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import with_times
from mdqr.linalg import LinAlgError, inv
from mdqr.series import Solutions, SolutionSweep, System, mixed_volume, solve
from mdqr.series._homotopy import endgame, follow
from mdqr.series._homotopy.endgame import REGULAR
from mdqr.series._homotopy.homotopy import Homotopy, doubles
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.refine import refined
from mdqr.series._homotopy.starts.start import total_degree
from tests.support.polynomial_systems import COUNTS, cyclic, eco, katsura, noon, system

# Seconds of processor time: no less than those on two idle cores, and the same on loaded ones.
AIMS = {"cyclic-5": 0.3, "katsura-7": 0.2, "cyclic-6": 2.0, "cyclic-7": 12.0, "katsura-10": 4.0}
TIMED = {
    "cyclic-5": (cyclic, 5), "katsura-7": (katsura, 7), "cyclic-6": (cyclic, 6),
    "cyclic-7": (cyclic, 7), "katsura-10": (katsura, 10),
}  # fmt: skip
# Bertini is given so many seconds, and these systems.
BERTINI_SECONDS, BERTINI = 60.0, ("cyclic-5", "katsura-7")
PROGRAM = """
import sys, time
import bertini
names, texts = sys.argv[1].split(","), sys.argv[2:]
made = bertini.System()
known = {name: bertini.Variable(name) for name in names}
made.add_variable_group(bertini.VariableGroup(list(known.values())))
for text in texts:
    made.add_function(eval(text, dict(known)))
solver = bertini.nag_algorithm.ZeroDimCauchyDoublePrecisionTotalDegree(made)
start, clock = time.perf_counter(), time.process_time()
solver.solve()
print(time.perf_counter() - start, time.process_time() - clock)
"""


def counts(options: Options) -> Iterator[Row]:
    """The numbers of solutions of systems where these are known."""
    wrong = []
    for one in COUNTS:
        if options.quick and one.paths > 100:
            continue
        found, wall, cpu = with_times(partial(solve, one.system(), start=one.start))
        info = found.info
        details = {
            "known": one.solutions, "certified": int(found.is_certified.sum()), "wall": wall,
            "paths": info.paths, "at_infinity": info.at_infinity, "failed": info.failed,
            "positive_dimensional": info.positive_dimensional,
        }  # fmt: skip
        if not one.holds(found):
            wrong.append(one.name)
        text = f"{info.paths} paths, {details['certified']} certified, {info.at_infinity} to inf."
        yield Row("counts", f"{one.name}: {len(found)}, {text}", f"mdqr, {info.method}",
                  "dd", one.known, cpu, "s of processor time", None, details)  # fmt: skip
    if wrong:
        raise AssertionError(f"wrong counts: {', '.join(wrong)}")


def times(options: Options) -> Iterator[Row]:
    """Seconds of all solutions in dd, certified, beside Bertini 2 in double."""
    for name, (family, n) in TIMED.items():
        given = family(n)
        solve(given)
        walls, clocks = [], []
        for _ in range(1 if options.quick else 5):
            found, wall, cpu = with_times(partial(solve, given))
            walls.append(wall)
            clocks.append(cpu)
        if not found.is_certified.all() or found.info.failed:
            raise AssertionError(f"{name}: {found.info}")
        size = f"{found.paths} paths"
        yield Row("times", name, "mdqr", "dd", size, float(np.median(walls)), "s")
        yield Row("times", f"{name}, load", "mdqr", "dd", size, os.getloadavg()[0], "processes")
        cpu = float(np.median(clocks))
        what = f"{name}, processor time"
        yield Row("times", what, "mdqr", "dd", size, cpu, "s", AIMS[name])
        if name in BERTINI and not options.quick:
            yield from _bertini(name, given)


def _bertini(name: str, given: System) -> Iterator[Row]:
    """Time Bertini 2 in a process of its own, if it is installed."""
    texts = [_python(given, row) for row in range(given.equations)]
    command = [sys.executable, "-c", PROGRAM, ",".join(given.variables), *texts]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=BERTINI_SECONDS, check=True
        )
        wall, cpu = map(float, done.stdout.split()[-2:])
        yield Row("times", name, "bertini 2", "d", "total degree", wall, "s")
        what = f"{name}, processor time"
        yield Row("times", what, "bertini 2", "d", "total degree", cpu, "s")
    except subprocess.TimeoutExpired:
        what = f"{name}, stopped"
        yield Row("times", what, "bertini 2", "d", "total degree", BERTINI_SECONDS, "s")
    except subprocess.CalledProcessError as error:
        if "No module named 'bertini'" not in error.stderr:
            raise


def _python(given: System, row: int) -> str:
    """Return an equation as an expression of Python."""
    terms = Problem.of(given, None).at([])
    parts = []
    for i in np.flatnonzero(terms.equation == row).tolist():
        powers = zip(given.variables, terms.exponents[i].tolist(), strict=True)
        factors = [f"{name}**{power}" for name, power in powers if power]
        number = int(terms.coefficients[i].real)
        parts.append("*".join([f"({number})", *factors]))
    return "+".join(parts)


def paths(options: Options, device: str | None = None) -> Iterator[Row]:
    """Seconds against the number of paths: katsura-n has 2^n. On a CPU of processor time."""
    what = "katsura" if device else "katsura, processor time"
    for n in range(4, 9 if options.quick else 13):
        given = katsura(n)
        call = partial(solve, given, device=device)
        seconds = min(_seconds(call, processor=device is None) for _ in range(3 if n < 11 else 1))
        yield Row("paths", what, "mdqr", "dd", f"{2**n}", seconds, "s")


def _seconds(call: Callable[[], Solutions | SolutionSweep], *, processor: bool) -> float:
    found, wall, cpu = with_times(call)
    if not found.is_certified.all() or found.info.failed:
        raise AssertionError(str(found.info))
    return cpu if processor else wall


def precisions(options: Options) -> Iterator[Row]:
    """The most limbs that a path took, by the condition of its end."""
    given = {"cyclic-5": cyclic(5), "katsura-5": katsura(5), "eco-6": eco(6), "noon-4": noon(4)}
    for k in (10, 15, 19):
        given[f"Wilkinson {k}"] = system("*".join(f"(x-{i})" for i in range(1, k + 1)), names="x")
    for name, one in given.items():
        for condition, limbs in _of_paths(one):
            yield Row("precisions", name, "mdqr", "dd", f"{condition:.3g}", float(limbs), "limbs")
    for e in range(1, 30, 2):
        pair = system(f"(x-1)*(x-1-1/10^{e})*(x-3)", "y-x^2+x", names="x,y")
        with _noted() as taken:
            found = solve(pair)
        condition = max(_condition(pair, x[None]) for x in found.x)
        row = partial(Row, "precisions", "pairs", "mdqr", "dd", f"{condition:.3g}")
        yield row(float(max(taken)), "limbs")


def _of_paths(given: System) -> Iterator[tuple[float, int]]:
    """Yield the condition of each regular end, and the most limbs that its path took."""
    terms = Problem.of(given, None).at([])
    homotopy, x = total_degree(terms, np.random.default_rng(0))
    for j in range(x.shape[1]):
        with _noted() as taken:
            ends = follow.follow(homotopy, x[:, [j]], PRECISIONS[-1], None).ends
        if ends.kind[0] == REGULAR:
            yield _condition(given, (ends.x[1:] / ends.x[0]).T), max(taken)


@contextmanager
def _noted() -> Iterator[set[int]]:
    """Note the limbs of all points that are followed meanwhile."""
    taken = {1}
    with ExitStack() as stack:
        for module in (follow, endgame):
            inner = partial(_noting, taken, module.advance)
            stack.enter_context(mock.patch.object(module, "advance", inner))
        yield taken


def _noting(
    taken: set[int], inner: Callable[..., Any], h: Homotopy, *args: Any, **more: Any
) -> Any:
    taken.add((h.precision or PRECISIONS[0]).limbs)
    return inner(h, *args, **more)


def _condition(given: System, x: Any) -> float:
    """Return the condition of the Jacobian in the infinity norm, rows of one size."""
    terms, od = Problem.of(given, None).at([]), PRECISIONS[-1]
    _, slopes = terms.precise(od)(refined(terms, x, PRECISIONS[2]).astype(od))
    jacobian = slopes[0]
    moduli = terms.moduli(abs(doubles(x)).T.astype(complex))[1].real.sum(axis=1)[:, 0]
    try:
        inverse = inv(jacobian)
    except LinAlgError:
        return np.inf
    return float((abs(doubles(inverse)) * moduli).sum(axis=1).max())


def volumes(options: Options) -> Iterator[Row]:
    """Seconds of mixed volumes."""
    for n in (5, 6, 7):
        given = cyclic(n)
        volume, seconds, _ = with_times(partial(mixed_volume, given))
        yield Row("volumes", f"cyclic-{n}: {volume}", "mdqr", "", f"{n}", seconds, "s")


BENCHMARKS = {
    "paths": Benchmark(
        "paths",
        "All solutions of polynomial systems on a CPU",
        {
            "counts": counts,
            "times": times,
            "paths": paths,
            "precisions": precisions,
            "volumes": volumes,
        },
    )
}
