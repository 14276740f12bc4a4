"""The modules that functions of linear algebra launch, so that all are compiled at once.

`calls.json` has for each module the functions that launched it, with limb counts and fields, when
`python -m benchmarks.gpu.first_calls record` ran. A module that is missing in it is compiled when
it is launched; one that is not launched costs time of another processor.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from mdqr._backend.cuda.runtime.cubins import Module
from mdqr._limbs.planes import Kind

# Systems for one kernel are calls of their own.
SMALL = "_small"
# Macros that depend on data, and their steps.
_DATA = {"MDQR_PIECES": 2, "MDQR_WORDS": 1}
FILE = Path(__file__).with_suffix(".json")


def name_of(module: Module) -> str:
    """Return the name of a module in the file: its source, limbs, field and macros."""
    return " ".join([module.source, _name_of_kind(module.kind), *module.defines])


def module_of(name: str) -> Module:
    """Return the module of such a name."""
    source, kind, *defines = name.split()
    return Module(source, kind_of(kind), tuple(defines))


def call_of(function: str, kind: Kind) -> str:
    """Return the name of a call in the file: a function, limbs and field of its answer."""
    return f"{function} {_name_of_kind(kind)}"


def _name_of_kind(kind: Kind) -> str:
    return f"{kind.limbs}{'c' if kind.is_complex else 'r'}"


def kind_of(name: str) -> Kind:
    """Return the limbs and field of such a name."""
    return Kind(int(name[:-1]), name[-1] == "c")


@cache
def _calls() -> dict[str, list[Module]]:
    found: dict[str, list[Module]] = {}
    for name, calls in json.loads(FILE.read_text()).items():
        module = module_of(name)
        for call in calls:
            found.setdefault(call, []).append(module)
    return found


def modules_of(function: str, kind: Kind) -> list[Module]:
    """Return the modules of a call: first those that take longest, last what data may add."""
    return _with_neighbours(_calls().get(call_of(function, kind), []))


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


def modules_for(names: Iterable[str], limbs: Collection[int]) -> list[Module]:
    """Return the modules of functions, for results of limb counts; an empty one is all."""
    wanted, found = set(names), dict[Module, None]()
    for call, modules in _calls().items():
        function, kind = call.split()
        if function.removesuffix(SMALL) in wanted and (not limbs or kind_of(kind).limbs in limbs):
            found.update(dict.fromkeys(modules))
    return _with_neighbours(found)


def functions() -> list[str]:
    """Return the names of the functions in the file."""
    return sorted({call.split()[0].removesuffix(SMALL) for call in _calls()})


def write(used: dict[str, Iterable[Module]], file: Path = FILE) -> None:
    """Write the file: the modules of each call, by its name."""
    calls: dict[str, set[str]] = {}
    for call, modules in used.items():
        for module in modules:
            calls.setdefault(name_of(module), set()).add(call)
    lines = (f"{json.dumps(name)}: {json.dumps(sorted(calls[name]))}" for name in sorted(calls))
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
