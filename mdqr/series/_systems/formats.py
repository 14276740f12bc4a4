"""Texts of whole systems: plain, of PHCpack and of Bertini."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_IMAGINARY = {"i", "I", "j"}
_DECLARATIONS = ("variable_group", "variable", "hom_variable_group", "pathvariable", "function")


class SystemText(NamedTuple):
    """Equations, their unknowns, and the parameter."""

    equations: list[str]
    variables: list[str]
    parameter: str


def system_text(text: str, variables: list[str] | None, parameter: str | None) -> SystemText:
    """Split a text into equations, and find the unknowns.

    Parameters
    ----------
    text : str
        See `mdqr.series.System.from_text`.
    variables : list of str or None
        The unknowns; None: all names but the parameter, in the order in which they come.
    parameter : str or None
        The parameter; None: Bertini's path variable, or t.

    Raises
    ------
    ValueError
        If the counts of PHCpack, or the functions of Bertini, are not those of the equations.
    """
    lines = [re.sub(r"[#%].*", "", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if any(re.match(r"function\b", line) for line in lines):
        return _bertini(lines, variables, parameter)
    counts = lines[0].split() if lines else []
    is_phcpack = bool(counts) and all(count.isdigit() for count in counts) and len(counts) < 3
    if is_phcpack or any(line.endswith(";") for line in lines):
        equations = [part.strip() for part in " ".join(lines[is_phcpack:]).split(";")]
        equations = [part for part in equations if part]
    else:
        equations = lines
    if is_phcpack and len(equations) != int(counts[0]):
        raise ValueError(f"the text announces {counts[0]} equations and has {len(equations)}")
    parameter = parameter or "t"
    return SystemText(equations, variables or _names(equations, parameter), parameter)


def _names(equations: list[str], parameter: str) -> list[str]:
    text = _NUMBER.sub(" ", " ".join(equations)) if equations else ""
    found = dict.fromkeys(_NAME.findall(text))
    return [name for name in found if name not in _IMAGINARY and name != parameter]


def _bertini(lines: list[str], variables: list[str] | None, parameter: str | None) -> SystemText:
    statements = [part.strip() for part in " ".join(lines).split(";")]
    declared: dict[str, list[str]] = {key: [] for key in _DECLARATIONS}
    found: dict[str, str] = {}
    for statement in statements:
        name, equals, value = statement.partition("=")
        words = re.sub(r"^INPUT\s+", "", statement).split(None, 1)
        if words and words[0] in declared:
            declared[words[0]] += [part.strip() for part in "".join(words[1:]).split(",")]
        elif equals and name.strip() in declared["function"]:
            found[name.strip()] = value.strip()
    missing = [name for name in declared["function"] if name not in found]
    if missing:
        raise ValueError(f"the function {missing[0]} is declared, but has no equation")
    unknowns = [name for key in _DECLARATIONS[:3] for name in declared[key]]
    parameter = parameter or next(iter(declared["pathvariable"]), "t")
    equations = [found[name] for name in declared["function"]]
    return SystemText(equations, variables or unknowns, parameter)
