"""The modules that functions of linear algebra launch, so that all are compiled at once.

`calls.json` has for each module the functions that launched it, with limb counts and fields, when
`python -m benchmarks.gpu.first_calls record` ran. A module that is missing in it is compiled when
it is launched; one that is not launched costs time of another processor.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from mdqr._backend.cuda.runtime.cubins import Module
from mdqr._limbs.planes import Kind

# Systems for one kernel are calls of their own, as are those for more of its threads.
SMALL, MIDDLE = "_small", "_middle"
# Macros that depend on data, and their steps.
_DATA = {"MDQR_PIECES": 2, "MDQR_WORDS": 1}


def function_of(call: str) -> str:
    """Return the function of a call, which may be one for small systems."""
    return call.split()[0].removesuffix(SMALL).removesuffix(MIDDLE)


def call_of(function: str, kind: Kind) -> str:
    """Return the name of a call: a function, limbs and field of its answer."""
    return f"{function} {name_of_kind(kind)}"


def name_of_kind(kind: Kind) -> str:
    """Return limbs and field as names have them."""
    return f"{kind.limbs}{'c' if kind.is_complex else 'r'}"


def kind_of(name: str) -> Kind:
    """Return the limbs and field of such a name."""
    return Kind(int(name[:-1]), name[-1] == "c")


class CallTable:
    """A JSON file that has for each thing, by its name, the calls that needed it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @cached_property
    def needed(self) -> dict[str, list[str]]:
        """The names of what each call needed."""
        found: dict[str, list[str]] = {}
        for name, calls in json.loads(self.file.read_text()).items():
            for call in calls:
                found.setdefault(call, []).append(name)
        return found

    @property
    def functions(self) -> list[str]:
        """The names of the functions in the file."""
        return sorted({function_of(call) for call in self.needed})

    def of(self, function: str, kind: Kind) -> list[str]:
        """Return what a call needs."""
        return self.needed.get(call_of(function, kind), [])

    def of_functions(self, functions: Iterable[str], limbs: Collection[int]) -> list[str]:
        """Return what functions need for results of limb counts; an empty one is all."""
        wanted, found = set(functions), dict[str, None]()
        for call, names in self.needed.items():
            limbs_of_call = kind_of(call.split()[1]).limbs
            if function_of(call) in wanted and (not limbs or limbs_of_call in limbs):
                found.update(dict.fromkeys(names))
        return [*found]

    def write(self, needed: Mapping[str, Iterable[str]]) -> None:
        """Write the file: the names of what each call needed."""
        calls: dict[str, set[str]] = {}
        for call, names in needed.items():
            for name in names:
                calls.setdefault(name, set()).add(call)
        lines = (f"{json.dumps(name)}: {json.dumps(sorted(calls[name]))}" for name in sorted(calls))
        self.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


TABLE = CallTable(Path(__file__).with_suffix(".json"))


def name_of(module: Module) -> str:
    """Return the name of a module in the file: its source, limbs, field and macros."""
    return " ".join([module.source, name_of_kind(module.kind), *module.defines])


def module_of(name: str) -> Module:
    """Return the module of such a name."""
    source, kind, *defines = name.split()
    return Module(source, kind_of(kind), tuple(defines))


def modules_of(function: str, kind: Kind) -> list[Module]:
    """Return the modules of a call: first those that take longest, last what data may add."""
    return _with_neighbours(map(module_of, TABLE.of(function, kind)))


def modules_for(names: Iterable[str], limbs: Collection[int]) -> list[Module]:
    """Return the modules of functions, for results of limb counts; an empty one is all."""
    return _with_neighbours(map(module_of, TABLE.of_functions(names, limbs)))


def _with_neighbours(modules: Iterable[Module]) -> list[Module]:
    found = dict.fromkeys(sorted(modules, key=_is_quick))
    found.update(dict.fromkeys(near for module in [*found] for near in _neighbours(module)))
    return [*found]


def _is_quick(module: Module) -> bool:
    return not module.source.startswith(("small/", "panel/", "reflect/", "products/mat"))


def _neighbours(module: Module) -> Iterator[Module]:
    """Yield what other data need: exact products with a few bits more or fewer."""
    for name, step in _DATA.items():
        for define in module.defines:
            if define.startswith(f"{name}="):
                count = int(define.split("=")[1])
                others = (n for n in (count - step, count + step) if n > 0)
                yield from (module._replace(defines=(f"{name}={n}",)) for n in others)
