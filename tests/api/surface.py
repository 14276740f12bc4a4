"""The public surface as text, a line for each name: ``python -m tests.api.surface`` writes it.

``surface.txt`` has the surface of the last release (before the first one, of some commit). A test
compares: each name that differs has to be in the part Unreleased of the changelog, in backticks.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from mdqr._cli.main import _parser
from mdqr.linalg._shared.info import WithInfo

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("surface.txt")
MODULES = (
    *(
        "mdqr",
        "mdqr.array_api",
        "mdqr.array_api.fft",
        "mdqr.array_api.linalg",
        "mdqr.array_api.special",
        "mdqr.config",
    ),
    *(
        "mdqr.linalg",
        "mdqr.optimize",
        "mdqr.pandas",
        "mdqr.plot",
        "mdqr.approx",
        "mdqr.fft",
        "mdqr.quadrature",
        "mdqr.random",
        "mdqr.series",
        "mdqr.series.plot",
        "mdqr.sparse",
    ),
    *("mdqr.tensorcore", "mdqr.testing"),
)
# Of every class, tuple and exception.
_COMMON = {*dir(tuple), *dir(dict), *dir(Exception), *dir(object)}
_PLAIN = (bool, int, float, complex, str, type(None))


def surface() -> str:
    """Return the lines of all modules and of the command."""
    lines = [line for name in MODULES for line in _module(importlib.import_module(name))]
    return "\n".join([*lines, *_command()]) + "\n"


def _module(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        yield from _entry(f"{module.__name__}.{name}", getattr(module, name))


def _entry(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"{path} module"
    elif inspect.isclass(value):
        yield from _class(path, value)
    elif callable(value):
        yield path + _signature(value)
    else:
        yield f"{path} {type(value).__name__}"


def _class(path: str, kind: type) -> Iterator[str]:
    bases = (each for each in kind.__mro__[1:] if each.__name__[0] != "_")
    base = next(each for each in bases if each is not WithInfo)
    fields = getattr(kind, "_fields", ())
    yield f"{path} class({base.__name__})" + (f" [{', '.join(fields)}]" if fields else "")
    if kind.__module__.partition(".")[0] != "mdqr":
        return
    if "Parameters\n" in (kind.__doc__ or ""):
        yield path + _signature(kind)
    noted = (name for each in kind.__mro__ for name in inspect.get_annotations(each))
    there = (name for name in dir(kind) if hasattr(kind, name))  # others only raise an error
    own = {name for each in kind.__mro__ if _is_ours(each) for name in vars(each)}
    theirs = {name for each in kind.__mro__ if not _is_ours(each) for name in vars(each)} - own
    for name in sorted({*there, *noted} - _COMMON - {*fields} - theirs):
        if name[0] != "_":
            yield f"{path}.{name}{_member(inspect.getattr_static(kind, name, None))}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("mdqr", "builtins", "typing", "numpy")


def _member(member: Any) -> str:
    if isinstance(member, (classmethod, staticmethod)):
        skipped = isinstance(member, classmethod)
        return f"{_signature(member.__func__, skipped)} {type(member).__name__}"
    if isinstance(member, (property, cached_property)) or not callable(member):
        return ""
    return _signature(member, 1)


def _signature(function: Any, skipped: int = 0) -> str:
    """Return the parameters: names, kinds and defaults, without annotations."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values()][skipped:]
    parameters = [
        p if p.default is p.empty else p.replace(default=_Default(p.default)) for p in parameters
    ]
    return str(inspect.Signature(parameters))


class _Default:
    """A default whose text is the same on every machine."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        if isinstance(self._value, _PLAIN) or self._value == ():
            return repr(self._value)
        return f"<{type(self._value).__name__}>"


def _command() -> Iterator[str]:
    """Return the options of the command line."""
    (commands,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    for command, parser in sorted(commands.choices.items()):
        yield f"$ mdqr {command}"
        for action in parser._actions[1:]:
            name = ", ".join(action.option_strings) or (action.metavar or action.dest).upper()
            choices = f" {{{','.join(map(str, action.choices))}}}" if action.choices else ""
            default = f" = {action.default}" if isinstance(action.default, _PLAIN[:-1]) else ""
            yield f"$ mdqr {command} {name}{choices}{default}"


def changed(before: str, after: str) -> set[str]:
    """Return the names whose lines are not in both."""
    return {_name(line) for line in {*before.splitlines()} ^ {*after.splitlines()}}


def _name(line: str) -> str:
    """Return the name of a line: ``mdqr.linalg.qr``, ``--precision``, a command."""
    if line.startswith("$"):
        words = line.replace(",", "").split()
        return words[3] if len(words) > 3 else words[2]
    return re.split(r"[ (]", line, maxsplit=1)[0]


def unreleased(changelog: str) -> set[str]:
    """Return the names in backticks of the part Unreleased."""
    part = changelog.partition("## [Unreleased]")[2].partition("\n## [")[0]
    spans = re.findall(r"`([^`]+)`", part)
    return {word for span in spans for word in re.findall(r"--[\w-]+|\w+", span)}


def unnamed(names: set[str], changelog: str) -> list[str]:
    """Return the names of which the changelog does not have the last part."""
    known = unreleased(changelog)
    return sorted(name for name in names if name.rpartition(".")[2] not in known)


def main() -> None:
    """Write the surface, and print the names that the changelog does not have."""
    before, after = FILE.read_text() if FILE.exists() else "", surface()
    for name in unnamed(changed(before, after), (ROOT / "CHANGELOG.md").read_text()):
        print(f"not in the changelog: {name}")
    FILE.write_text(after)


if __name__ == "__main__":
    main()
