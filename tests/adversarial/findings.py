"""Counts and distributions of verdicts, as JSON and as a table of text."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

PERCENTILES = (1, 10, 50, 90, 99)
_OFFENDERS = 12


class Findings:
    """What was found of many problems, one call of `add` each."""

    def __init__(self):
        self.tried = self.components = self.violations = self.false = 0
        self.outcomes, self.flags = Counter(), Counter()
        self.by = {"family": defaultdict(Counter), "side": defaultdict(Counter)}
        self.by["data -> answer"] = defaultdict(Counter)
        self.gaps = defaultdict(list)
        self.warned, self.needless, self.raised = [], [], []
        self.offenders = defaultdict(list)

    def add(self, problem, verdict):
        """Count one verdict."""
        self.tried += 1
        self.components += verdict.components
        self.violations += verdict.violations
        self.false += verdict.false
        self.outcomes[verdict.outcome] += 1
        kinds = {
            "family": problem.family,
            "side": problem.side,
            "data -> answer": f"{problem.data} -> {problem.answer}",
        }
        self.flags.update(verdict.flags)
        for kind, name in kinds.items():
            self.by[kind][name]["tried"] += 1
            self.by[kind][name].update(verdict.flags)
        self.gaps[problem.answer.name].extend(verdict.gaps)
        relative = verdict.condition * problem.work.eps
        if "warned" in verdict.flags:
            (self.needless if "needless_warning" in verdict.flags else self.warned).append(relative)
        if verdict.outcome == "regular_raised":
            self.raised.append(relative * problem.a.shape[-1])
        worst = {
            "bound_violated": verdict.excess,
            "false_digits": verdict.overclaim,
            "silent_error": verdict.silent,
        }
        for flag in verdict.flags - {"warned", "needless_warning"}:
            self.offenders[flag].append((worst.get(flag, 0.0), problem.seed, problem.index))

    def merge(self, other):
        """Add what another run found."""
        for name in ("tried", "components", "violations", "false"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.outcomes += other.outcomes
        self.flags += other.flags
        for kind, names in other.by.items():
            for name, counts in names.items():
                self.by[kind][name].update(counts)
        for name, values in other.gaps.items():
            self.gaps[name].extend(values)
        for name in ("warned", "needless", "raised"):
            getattr(self, name).extend(getattr(other, name))
        for flag, values in other.offenders.items():
            self.offenders[flag].extend(values)

    def record(self):
        """Return everything as a dictionary that JSON can hold."""
        worst = {
            flag: [
                list(value) for value in sorted(values, key=lambda v: (-v[0], v[2]))[:_OFFENDERS]
            ]
            for flag, values in sorted(self.offenders.items())
        }
        return {
            "problems": self.tried,
            "components": self.components,
            "components_beyond_bound": self.violations,
            "components_with_false_digits": self.false,
            "outcomes": dict(sorted(self.outcomes.items())),
            "flags": dict(sorted(self.flags.items())),
            "log10_bound_over_error": {
                name: {"components": len(values), **percentiles(values)}
                for name, values in sorted(self.gaps.items())
                if values
            },
            "warnings": {
                "right": len(self.warned),
                "needless": len(self.needless),
                "needless_below_condition_eps**-0.5": _share(self.needless, self.warned),
            },
            "regular_raised_condition_n_eps": sorted(self.raised)[:20],
            "by": {
                kind: {name: dict(sorted(c.items())) for name, c in sorted(names.items())}
                for kind, names in self.by.items()
            },
            "worst": worst,
        }


def percentiles(values):
    return dict(
        zip(
            map(str, PERCENTILES), np.percentile(values, PERCENTILES).round(2).tolist(), strict=True
        )
    )


def _share(needless, right):
    """Counts of needless and of all warnings at conditions far below what the work carries."""
    low = [sum(value < 1e-8 for value in values) for values in (needless, right)]
    return {"needless": low[0], "all": sum(low), "limit": "condition * eps < 1e-8"}


def table(name, record):
    """Return a record as Markdown."""
    lines = [f"## {name}: {record['problems']} problems, {record['components']} components", ""]
    lines += _rows(("outcome", "problems"), record["outcomes"].items())
    lines += _rows(("finding", "problems"), record["flags"].items())
    lines += [
        f"components beyond their bound {record['components_beyond_bound']}, "
        f"with false digits {record['components_with_false_digits']}; "
        f"warnings {record['warnings']}",
        "",
        "log10(bound / error), components in the normal range:",
        "",
    ]
    head = ("answer", "components", *(f"{p} %" for p in PERCENTILES))
    lines += _rows(head, ((k, *v.values()) for k, v in record["log10_bound_over_error"].items()))
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
