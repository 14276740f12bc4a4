"""Counts and distributions of verdicts, as JSON and as tables of text."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np

PERCENTILES = (1, 10, 50, 90, 99)
_OFFENDERS = 12
# Conditions as powers of 1 / eps of the work, and their names.
_POWERS = (0.25, 0.5, 0.75, 1.0, math.inf)


class Findings:
    """What was found of many problems, one call of `add` each."""

    def __init__(self):
        self.counts, self.outcomes, self.flags = Counter(), Counter(), Counter()
        self.violations, self.false = Counter(), Counter()
        self.by = defaultdict(Counter)
        self.gaps, self.understated = defaultdict(list), defaultdict(list)
        self.warned, self.needless = Counter(), Counter()
        self.raised, self.offenders = [], defaultdict(list)

    def add(self, problem, verdict):
        """Count one verdict."""
        self.counts.update({"problems": 1, "components": verdict.components})
        self.outcomes[verdict.outcome] += 1
        self.flags.update(verdict.flags)
        self.violations.update(verdict.violations)
        self.false.update(verdict.false)
        answer = problem.answer.name
        for names, values in ((self.gaps, verdict.gaps), (self.understated, verdict.understated)):
            for kind, value in values:
                names[f"{answer} {kind}"].append(value)
        for kind, name in (
            ("family", problem.family),
            ("side", problem.side),
            ("data -> answer", f"{problem.data} -> {answer}"),
        ):
            self.by[kind, name].update({"tried": 1, **dict.fromkeys(verdict.flags, 1)})
        if "warned" in verdict.flags and verdict.outcome == "solved":
            needless = "needless_warning" in verdict.flags
            (self.needless if needless else self.warned)[_power(verdict.condition, problem)] += 1
        if verdict.outcome == "regular_raised":
            self.raised.append(verdict.condition * problem.work.eps * problem.a.shape[-1])
        worst = {
            "bound_violated": verdict.excess,
            "false_digits": verdict.overclaim,
            "lost_more": verdict.overclaim,
            "silent_error": verdict.silent,
        }
        for flag in verdict.flags - {"warned", "rank_warning"}:
            self.offenders[flag].append((worst.get(flag, 0.0), problem.seed, problem.index))

    def merge(self, other):
        """Add what another process found."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(value, Counter):
                mine.update(value)
            elif isinstance(value, list):
                mine.extend(value)
            else:
                for key, part in value.items():
                    mine[key].update(part) if isinstance(part, Counter) else mine[key].extend(part)

    def record(self):
        """Return everything as a dictionary that JSON can hold."""
        by = defaultdict(dict)
        for (kind, name), counts in sorted(self.by.items()):
            by[kind][name] = _sorted(counts)
        worst = {
            flag: sorted(values, key=lambda value: (-value[0], value[2]))[:_OFFENDERS]
            for flag, values in sorted(self.offenders.items())
        }
        return {
            **self.counts,
            "outcomes": _sorted(self.outcomes),
            "findings": _sorted(self.flags),
            "components beyond their bound": _sorted(self.violations),
            "components with false digits": _sorted(self.false),
            "log10(bound / error)": _distributions(self.gaps),
            "digits understated": _distributions(self.understated),
            "warnings right, by condition": _sorted(self.warned),
            "warnings needless, by condition": _sorted(self.needless),
            "condition n eps of regular problems that raised": sorted(self.raised)[:20],
            "by": by,
            "worst": {flag: [list(value) for value in values] for flag, values in worst.items()},
        }


def _sorted(counts):
    return dict(sorted(counts.items()))


def _power(condition, problem):
    power = math.log2(max(condition, 1.0)) / -math.log2(problem.work.eps)
    above = next(limit for limit in _POWERS if power <= limit)
    return f"up to eps^-{above}" if above < math.inf else "beyond 1 / eps"


def _distributions(samples):
    found = {}
    for name, values in sorted(samples.items()):
        points = np.percentile(values, PERCENTILES).round(2).tolist()
        found[name] = {"components": len(values)} | dict(
            zip((f"{p} %" for p in PERCENTILES), points, strict=True)
        )
    return found


def table(name, record):
    """Return a record as Markdown."""
    lines = [f"## {name}: {record['problems']} problems, {record['components']} components", ""]
    for title in (
        "outcomes",
        "findings",
        *(key for key in record if key.startswith("components ")),
    ):
        if record[title]:
            lines += _rows((title, ""), record[title].items())
    for title in ("log10(bound / error)", "digits understated"):
        if record[title]:
            head = (title, "components", *(f"{p} %" for p in PERCENTILES))
            lines += _rows(head, ((k, *v.values()) for k, v in record[title].items()))
    right, needless = (record[f"warnings {kind}, by condition"] for kind in ("right", "needless"))
    if right or needless:
        names = sorted(right | needless, key=lambda key: (key[0] == "b", key))
        rows = ((key, right.get(key, 0), needless.get(key, 0)) for key in names)
        lines += _rows(("warnings at a condition", "right", "needless"), rows)
    for kind, names in record["by"].items():
        flags = sorted({flag for counts in names.values() for flag in counts} - {"tried"})
        rows = ((n, c["tried"], *(c.get(f, 0) for f in flags)) for n, c in names.items())
        lines += _rows((kind, "tried", *(flag.replace("_", " ") for flag in flags)), rows)
    lines += ["Worst, as (size, seed, index):", ""]
    for flag, values in record["worst"].items():
        found = ", ".join(f"({size:.1f}, {seed}, {index})" for size, seed, index in values[:6])
        lines.append(f"- {flag}: {found}")
    return "\n".join([*lines, ""])


def _rows(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]
