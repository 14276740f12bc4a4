"""The run over all mutants: what notices each, and which survive."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterable
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.environment import environment
from mdqr._precision import PRECISIONS, Precision
from mutants.judges import Claims
from mutants.mutant import Mutant, applied
from mutants.registry import CLOSE, COVERED

# Judges compare logarithms to base 2 of numbers of thousands of bits in float64.
_EQUAL = 1e-9
_QUICK = ("dd", "d", "qd", "od", "hd")


class Outcome(NamedTuple):
    """A mutant in a precision, the name of the judge that noticed it, or "", and the seconds."""

    mutant: Mutant
    precision: Precision
    judge: str
    seconds: float

    @property
    def is_wrong(self) -> bool:
        """True if it survives, or is noticed against the registry."""
        return bool(self.judge) == bool(self.mutant.survives)

    def row(self) -> str:
        """Return it as a row of a table."""
        noticed = self.judge or ("covered" if self.mutant.survives else "SURVIVES")
        return f"| {self.mutant} | {self.precision} | {noticed} | {self.seconds:.2f} |"


def precisions_of(mutant: Mutant) -> list[Precision]:
    """Return those in which a mutant is tried."""
    return [p for p in PRECISIONS if not mutant.precisions or p.name in mutant.precisions]


def first_false(ratios: Iterable[float]) -> int | None:
    """Return the place of the first false claim, of log2 of errors over bounds; or None."""
    return next((i for i, ratio in enumerate(ratios) if ratio > _EQUAL), None)


def tried(mutant: Mutant, precision: Precision) -> Outcome:
    """Apply a mutant and ask its judges, one after the other."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for judge in mutant.judges:
            with applied(mutant):
                place = first_false(judge(precision))
            if place is not None:
                _require_true(judge, precision, place + 1)
                return Outcome(mutant, precision, str(judge), time.perf_counter() - begin)
    return Outcome(mutant, precision, "", time.perf_counter() - begin)


# Of judges in a precision, how many claims are known to be true without a mutant.
_true: dict[tuple[Any, Precision], int] = {}


def _require_true(judge: Any, precision: Precision, count: int) -> None:
    """Demand that the first claims are true without a mutant: else they say nothing of one."""
    if _true.get((judge, precision), 0) >= count:
        return
    if first_false(islice(judge(precision), count)) is not None:
        raise RuntimeError(f"{judge} finds a false claim in {precision} without a mutant")
    _true[judge, precision] = count


def closest(mutants: list[Mutant]) -> dict[str, dict[str, float]]:
    """Return how near to its bound the largest error comes without mutants, as log2.

    Of `Claims` alone: families and tests are run without mutants elsewhere.
    """
    found: dict[str, dict[str, float]] = {}
    pairs = {(judge, p): None for m in mutants for judge, p in product(m.judges, precisions_of(m))}
    for judge, precision in pairs:
        if not isinstance(judge, Claims):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            largest = max(judge(precision), default=float("-inf"))
        found.setdefault(str(judge), {})[precision.name] = round(largest, 2)
        print(f"{judge}, {precision}: nearest 2^{largest:.1f}", flush=True)
    return found


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one precision of each, no COVERED")
    parser.add_argument("--only", default="", metavar="TEXT", help="those with it in their names")
    parser.add_argument("--list", action="store_true", help="print the names and what notices them")
    parser.add_argument("--output", type=Path, help="a JSON file for the outcomes")
    options = parser.parse_args()
    mutants = [m for m in (*CLOSE, *COVERED) if options.only in f"{m.target} {m}"]
    if options.list:
        for mutant in mutants:
            print(f"{mutant}: {mutant.survives or ', '.join(map(str, mutant.judges))}")
        return
    command = f"python -m tests.mutants {' '.join(sys.argv[1:])}".rstrip()
    record: dict[str, Any] = environment(command)
    if options.quick:
        mutants = [m for m in mutants if not m.survives]
        pairs = [(m, _first(precisions_of(m))) for m in mutants]
    else:
        pairs = [(m, p) for m in mutants for p in precisions_of(m)]
        record["nearest"] = closest(mutants)
    outcomes = []
    print("| mutant | precision | noticed by | s |\n|---|---|---|--:|")
    for pair in pairs:
        outcomes.append(tried(*pair))
        print(outcomes[-1].row(), flush=True)
    wrong = [each for each in outcomes if each.is_wrong]
    record["outcomes"] = [(str(m), p.name, judge, round(s, 2)) for m, p, judge, s in outcomes]
    if options.output is not None:
        options.output.write_text(json.dumps(record, indent=1) + "\n")
    print(f"\n{len(outcomes)} tried, {len(wrong)} not as the registry says")
    for each in wrong:
        print(each.row())
    sys.exit(bool(wrong))


def _first(precisions: list[Precision]) -> Precision:
    return min(precisions, key=lambda p: _QUICK.index(p.name))
