"""Texts of whole systems: plain, of PHCpack and of Bertini."""

from __future__ import annotations

import re
from typing import NamedTuple

from mdqr._errors import shortened

# A name, or a number: names first, as the 1 of x1 is no number.
_WORD = re.compile(r"(?P<name>[^\W\d]\w*)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_COUNTS = re.compile(r"\s*(\d{1,9})(?:[ \t]+(\d{1,9}))?[ \t]*(?:\n|$)")
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
        If the counts of PHCpack, or the functions of Bertini, are not those of the equations; if
        t may be an unknown of PHCpack.
    """
    lines = [re.sub(r"[#%].*", "", line).strip() for line in text.splitlines()]
    text = "\n".join(line for line in lines if line)
    counts = _COUNTS.match(text)
    if counts:
        return _phcpack(text[counts.end() :], int(counts[1]), variables, parameter)
    if re.search(r"^function\b", text, re.MULTILINE):
        return _bertini(text, variables, parameter)
    equations = text.split(";") if re.search(r";$", text, re.MULTILINE) else text.splitlines()
    equations = [part.strip() for part in equations if part.strip()]
    names = variables or [name for name in _names(equations) if name != (parameter or "t")]
    return SystemText(equations, names, parameter or "t")


def _phcpack(
    text: str, count: int, variables: list[str] | None, parameter: str | None
) -> SystemText:
    """Read as many equations as the text announces: a title and solutions may follow them."""
    *equations, rest = text.split(";", count)
    if len(equations) < count and rest.strip():
        equations.append(rest)
    equations = [part.strip() for part in equations]
    if len(equations) != count or "" in equations:
        found = sum(map(bool, equations))
        raise ValueError(f"the text announces {count} equations and has {found}")
    names = variables or _names(equations)
    if parameter is None and not variables and "t" in names and len(names) <= count:
        raise ValueError(
            f"there are {count} equations for {shortened(', '.join(names))}, so that t looks like "
            "an unknown; name what to expand in by parameter= (--parameter on the command line): "
            "another name, or t if it is t"
        )
    parameter = parameter or "t"
    names = variables or [name for name in names if name != parameter]
    return SystemText(equations, names, parameter)


def _names(equations: list[str]) -> list[str]:
    """Return all names in equations but the imaginary unit, in the order in which they come."""
    words = (match["name"] for equation in equations for match in _WORD.finditer(equation))
    return [name for name in dict.fromkeys(words) if name and name not in _IMAGINARY]


def _bertini(text: str, variables: list[str] | None, parameter: str | None) -> SystemText:
    statements = [part.strip() for part in text.replace("\n", " ").split(";")]
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
