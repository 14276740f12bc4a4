"""Sections of docstrings that several functions share, each written once.

The docstring in the source has the sentence, the special values and the example; `help`, Sphinx
and notebooks show it with the sections that `documented` adds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])
_ORDER = (
    "Parameters",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "Warnings",
    "See Also",
    "Notes",
    "References",
    "Examples",
)


def documented(like: str | Callable[..., Any]) -> Callable[[_F], _F]:
    """Complete the docstring of a function by sections of a text or of another function.

    Parameters
    ----------
    like : str or function
        Its parameters, results and errors are taken unless the function has an entry of that name
        or, of results, any. Parameters follow the signature, and others are left out.

    Returns
    -------
    callable
        The decorator, which returns the function itself. An example without a heading at the end
        of a docstring gets one, and the import.
    """

    def complete(function: _F) -> _F:
        if function.__doc__ is None:  # python -OO
            return function
        shared = _shared_sections(like if isinstance(like, str) else like.__doc__ or "")
        names = _arguments(cast("FunctionType", function))
        head, own = _sections(function.__doc__)
        sections = {
            "Parameters": _parameters(own.get("Parameters"), shared.get("Parameters"), names),
            "Returns": own.get("Returns", shared.get("Returns", "")),
            "Raises": _errors(own.get("Raises"), shared, names),
        }
        own.update((key, text) for key, text in sections.items() if text)
        parts = [f"{key}\n{'-' * len(key)}\n{own[key]}" for key in _ORDER if key in own]
        function.__doc__ = "\n\n".join([head, *parts]) + "\n"
        return function

    return complete


def _arguments(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[: count + 2])
    if code.co_flags & CO_VARARGS:  # stands behind the keywords, and before them in a signature
        names.insert(code.co_argcount, names.pop(count))
        count += 1
    return tuple(names[: count + bool(code.co_flags & CO_VARKEYWORDS)])


@cache
def _shared_sections(text: str) -> dict[str, str]:
    return _sections(text)[1]


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Return the text in front of the first heading, and the sections by heading."""
    margin = text.rpartition("\n")[2]  # in front of the closing quotes
    text = text.replace(f"\n{margin}", "\n") if margin.isspace() else text
    first, *rest = f"{text}\n".split("\n---")
    head, _, heading = first.rpartition("\n")
    found = {}
    for part in rest:
        body, _, following = part.rpartition("\n")
        found[heading] = body.lstrip("-").strip("\n")
        heading = following
    if "Examples" not in found:
        last = next(reversed(found), "")
        before, prompt, example = (found.get(last) or head).partition("\n\n>>> ")
        if prompt:
            first = "" if example.startswith(("import ", "from ")) else ">>> import mdqr\n"
            found["Examples"] = f"{first}>>> {example}".rstrip("\n")
            if last:
                found[last] = before
            else:
                head = before
    return head.strip("\n"), found


@cache
def _entries(section: str | None) -> dict[str, str]:
    """Return the entries of a section by the names in front of the colon."""
    texts: list[str] = []
    for line in section.split("\n") if section else ():
        if line and line[0] != " ":
            texts.append(line)
        else:
            texts[-1] += f"\n{line}"
    return {text.partition("\n")[0].partition(" :")[0]: text for text in texts}


@cache
def _names(key: str) -> frozenset[str]:
    return frozenset(name.strip(" *") for name in key.split(","))


def _parameters(own: str | None, shared: str | None, names: tuple[str, ...]) -> str:
    """Return the entries of all parameters in the order of the signature, and no others."""
    entries = _entries(own)
    shared = f"{_PRECISION}\n{shared}" if shared else _PRECISION
    described = {name for key in entries for name in _names(key)}
    others = {key: text for key, text in _entries(shared).items() if not _names(key) & described}
    kept = {
        min(map(names.index, _names(key))): text
        for key, text in {**others, **entries}.items()
        if _names(key) <= set(names)
    }
    return "\n".join(kept[place] for place in sorted(kept))


def _errors(own: str | None, shared: dict[str, str], names: tuple[str, ...]) -> str:
    """Return the errors of both, without those of parameters that the function lacks."""
    entries = _entries(own)
    lacking = {name for key in _entries(shared.get("Parameters")) for name in _names(key)}
    lacking -= set(names)
    others = [
        text
        for key, text in _entries(shared.get("Raises")).items()
        if key not in entries and lacking.isdisjoint(text.split("`")[1::2])
    ]
    return "\n".join([*others, *entries.values()])


_PRECISION = """precision : Precision or str, optional
    The precision of the answer; required where no operand is an `MDArray`, and texts, numbers and
    NumPy arrays are converted to it. None means the highest of the operands, and those above it are
    used in full."""
COMPLEX_FUNCTION = """
Parameters
----------
x : MDArray or array_like
    The values, real or complex.

Returns
-------
MDArray
    A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
    ``10 * eps`` normwise.
"""
REAL_FUNCTION = """
Parameters
----------
x : MDArray or array_like
    Real values.

Returns
-------
MDArray
    A new array of the shape and precision of `x`. Relative error at most ``4 * eps``.

Raises
------
TypeError
    If `x` is complex.
"""
REAL_PAIR = """
Parameters
----------
x1, x2 : MDArray or array_like
    Real values.

Returns
-------
MDArray
    A new array of the broadcast shape.

Raises
------
TypeError
    If an operand is complex.
"""
NEW_ARRAY = """
Parameters
----------
a : MDArray or array_like
    The values.
m : MDArray or array_like
    The values.
val : MDArray or array_like
    The values.
x : MDArray or array_like
    The values.

Returns
-------
MDArray
    A new array.
"""
VIEW = NEW_ARRAY.replace("A new array.", "A view.").replace(" or array_like", "")
REDUCTION = """
Parameters
----------
a : MDArray or array_like
    The values.
x : MDArray or array_like
    The values.
axis : int, tuple of int or None, optional
    The axes to reduce, all by default.
keepdims : bool, optional
    Whether the reduced axes stay, with length 1.

Returns
-------
MDArray
    A new array.

Raises
------
AxisError
    If the axis does not exist.
"""
