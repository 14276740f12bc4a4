"""Decisions of updates by the cost model, and by plain thresholds, over all measured rows.

    python -m benchmarks.update.thresholds [--fit] [FILE-cpu.json FILE-cuda.json ...]

A threshold takes the update where a measure of its size is at most a constant of the kind of update
and of its form. Constants are fitted to the rows that they are judged by, which flatters them; so
they are fitted again without each precision and judged by that one alone. Then, for each precision,
the least gains by the cost model; with --fit, the rates of `mdqr.linalg._shared.tuning` that
explain the times best, none of them negative.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.common.rows import RESULTS
from benchmarks.common.tables import grid
from benchmarks.update import model, replay
from benchmarks.update.replay import Decision, Row
from mdqr.linalg._update.arithmetic.engine import Engine

Key = tuple[str, ...]
Rule = Callable[[Decision], float]


def lengths(made: Decision) -> tuple[int, int, int]:
    """Return n, p and the columns from the place of the update on; all of them for rows."""
    row = made.row
    if "ways" not in row:
        n, p, kind, k = (row[name] for name in ("n", "p", "kind", "k"))
        return n, p, (n - k if kind.endswith("col") else n)
    n, p = int(row["size"].split(" x ")[1]), row["p"]
    kind = row["what"].split(", ")[0]
    k = {"insert col": n // 2, "delete col": (n - p) // 2}.get(kind, 0)
    return n, p, n - k


def by_rest(made: Decision) -> float:
    """Return p over the columns from the place of the update on."""
    _, p, rest = lengths(made)
    return p / rest if rest else math.inf


def by_columns(made: Decision) -> float:
    """Return p over all columns."""
    n, p, _ = lengths(made)
    return p / n


RULES: dict[str, Rule] = {"p <= c (n - k)": by_rest, "p <= c n": by_columns}


def key_of(made: Decision) -> Key:
    """Return the kind and the form of an update."""
    if "ways" in made.row:
        return tuple(made.row["what"].split(", "))
    return made.row["kind"], made.name


def fitted(found: list[Decision], rule: Rule) -> dict[Key, float]:
    """Return the constants with the least worst loss, and of those with the least mean loss."""
    constants = {}
    for name in dict.fromkeys(map(key_of, found)):
        some = [made for made in found if key_of(made) == name]
        sizes = sorted({rule(made) for made in some})
        between = (math.sqrt(a * b) if b < math.inf else 2 * a for a, b in pairwise(sizes))

        def losses(c: float, some: list[Decision] = some) -> tuple[float, float]:
            lost = [made.loss(rule(made) <= c) for made in some]
            return round(max(lost), 3), sum(map(math.log, lost))

        constants[name] = min([0.0, *between, sizes[-1]], key=losses)
    return constants


def score(name: str, count: int, choices: list[tuple[Decision, bool]]) -> list[str]:
    """Return a line: constants, decisions, wrong ones, losses, and what the model would save."""
    lost = [made.loss(by_update) for made, by_update in choices]
    most = max(made.loss(way) / made.loss(made.by_model) for made, way in choices)
    wrong = [loss for loss in lost if loss > 1.0]
    counts = (count, len(lost), len(wrong), sum(loss > 1.05 for loss in lost))
    numbers = [max(lost), most, statistics.geometric_mean(lost), statistics.median(lost)]
    numbers += [statistics.median(wrong)] if wrong else [1.0]
    return [name, *map(str, counts), *(f"{loss:.3f}" for loss in numbers)]


def report(found: list[Decision]) -> list[str]:
    """Return the scores of the model and of thresholds, and the constants of thresholds."""
    cells = [score("cost model", 0, [(made, made.by_model) for made in found])]
    cells.append(score("always update", 0, [(made, True) for made in found]))
    shown = []
    for name, rule in RULES.items():
        constants = fitted(found, rule)
        some = [(made, rule(made) <= constants[key_of(made)]) for made in found]
        cells.append(score(name, len(constants), some))
        others = list(unseen(found, rule))
        if others:
            cells.append(score(f"{name}, unseen", len(constants), others))
        values = (f"{', '.join(what)} {c:.3g}" for what, c in constants.items())
        shown.append(f"{name}: {'; '.join(values)}")
    head = ["rule", "constants", "decisions", "wrong", "by more than 5 %", "worst loss"]
    head += ["worst beside the model", "mean", "median", "median of wrong ones"]
    return [*grid(head, cells), "", *shown]


def unseen(found: list[Decision], rule: Rule) -> Iterator[tuple[Decision, bool]]:
    """Yield choices by constants that were fitted to the other precisions."""
    for name in dict.fromkeys(made.row["precision"] for made in found):
        constants = fitted([made for made in found if made.row["precision"] != name], rule)
        for made in found:
            if made.row["precision"] == name and key_of(made) in constants:
                yield made, rule(made) <= constants[key_of(made)]


def worst(name: str, found: list[Decision]) -> list[str]:
    """Return the least gains of a precision by the model."""
    lines = sorted(found, key=lambda made: made.gain)[:5]
    few = sum(made.gain < 0.9 for made in found)
    return [f"{name}: {few} gains of {len(found)} below 0.9", *(f"  {made}" for made in lines)]


def rates(engine: Engine, rows: list[Row]) -> list[str]:
    """Return the rates that explain the times."""
    names = ("a multiply-add", "a column", "an entry", "a window", "a call")
    values = zip(names, replay.fitted(engine, rows), strict=True)
    return ["  seconds " + ", ".join(f"{name} {value:.3g}" for name, value in values)]


def main() -> None:
    """Score the recorded results, or those of the files that are given; floats by themselves."""
    parser = argparse.ArgumentParser(description=__doc__)
    recorded = [RESULTS / f"update-{device}.json" for device in ("cpu", "cuda")]
    parser.add_argument("results", nargs="*", type=Path, default=recorded)
    parser.add_argument("--fit", action="store_true", help="fit rates to the times")
    options = parser.parse_args()
    for file in options.results:
        kinds: dict[str, list[Decision]] = {}
        lines, rows = [], replay.measured(file)
        for name in dict.fromkeys(row["precision"] for row in rows):
            engine = model.engine_of(name, file.stem.rpartition("-")[2])
            some = [row for row in rows if row["precision"] == name]
            found = [made for row in some for made in replay.replayed(engine, row)]
            kind = "floats" if name.startswith("float") else "multiple doubles"
            kinds.setdefault(kind, []).extend(made for made in found if made.fresh < math.inf)
            lines += worst(name, found) + (rates(engine, some) if options.fit else [])
        for kind, found in kinds.items():
            print("\n".join([f"{file.name}, {kind}:", "", *report(found), ""]))
        print("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
