"""Every module of the CUDA backend compiles without a GPU, and the hot kernels keep to registers.

The plain run compiles double-double real modules and those of floats for one architecture, but
for those that take many seconds, and a few for the oldest; everything else is `long`, and `.ci/run`
compiles a part of it. An architecture has the modules that its devices use, and the first of them
all: there one device stands in for others.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from compilers import device_compiler, needs_device_compiler, nvrtc_version
from emulation.modules import ARCHITECTURES, is_used, modules

from mdqr._backend.sources import kernels_folder
from mdqr._precision import PRECISIONS

CUDA = kernels_folder() / "cuda"
FIRST, OLDEST = "sm_90", "sm_75"
PAIR = PRECISIONS[1].limbs

# Where the time of factorisations, products and large arrays goes.
HOT = {f"products/{name}" for name in ("matmul", "matvec", "matvec_finish", "slices")}
HOT |= {f"triangular/{name}" for name in ("tile", "triangular")}
HOT |= {"products/exact_numbers", "products/exact_residues"}
HOT |= {"elimination/cholesky", "elimination/lu"}
HOT |= {"panel/panel", "reflect/reflect", "series/expand", "series/order"}
HOT |= {"window/rise", "window/window"}
HOT |= {
    f"tensorcore/{name}" for name in ("caqr", "cholesky", "reflector", "round", "scale", "vectors")
}
HOT_OPERATIONS = {"MDQR_BINARY=add", "MDQR_BINARY=multiply", "MDQR_REDUCE=sum"}
SLOW = {"tensorcore/caqr", "tensorcore/cholesky", "small/lstsq"}
# What is different where there are no FP64 tensor cores, and little shared memory.
OLDEST_SAMPLE = {"products/matmul", "products/exact_residues", "panel/panel", "window/window"}
SMALL_DEVICES = {"MDQR_GLOBAL", "MDQR_IN_TURN", "MDQR_INTEGERS"}
# Registers of a multiprocessor, and how many a warp takes at a time.
REGISTERS, REGISTERS_A_WARP = 65_536, 256
ELEMENTARY_SAMPLE = {"MDQR_UNARY=exp", "MDQR_UNARY=sin", "MDQR_BINARY=arctan2"}
# Bytes of spill stores in hot kernels, by architecture, then source, limbs and field: most are
# registers that called functions save. They must not grow on devices that use the module.
SPILLS: dict[str, Any] = json.loads((Path(__file__).parent / "spills.json").read_text())


def name_of(module) -> str:
    field = "complex" if module.kind.is_complex else "real"
    return "-".join([module.source, str(module.kind.limbs), field, *module.defines])


def is_plain(module, arch: str = FIRST) -> bool:
    """Say whether the plain run compiles a module: some seconds in all."""
    if module.kind.is_complex or module.source in SLOW:
        return False
    if arch == OLDEST:
        return module.source in OLDEST_SAMPLE and module.kind.limbs == PAIR
    if arch != FIRST or SMALL_DEVICES & set(module.defines):
        return False
    if module.source == "elementwise/elementary":
        return module.kind.limbs == PAIR and bool(ELEMENTARY_SAMPLE & set(module.defines))
    if module.source.startswith(
        ("tensorcore/", "floats/", "small/", "products/exact_lines", "elementwise/held")
    ):
        return True
    return module.kind.limbs == PAIR


# Two numbers of more limbs fill the registers of a thread: they are in local memory anyway.
MOST_IN_REGISTERS = 8


def is_hot(module) -> bool:
    if module.kind.limbs > MOST_IN_REGISTERS:
        return False
    return module.source in HOT or bool(HOT_OPERATIONS & set(module.defines))


CASES = [
    pytest.param(
        module,
        arch,
        id=f"{name_of(module)}-{arch}",
        marks=[] if is_plain(module, arch) else [pytest.mark.long],
    )
    for module in sorted(modules(), key=name_of)
    for arch in ARCHITECTURES
    if arch == FIRST or is_used(module, arch)
]


SOURCES = {path.relative_to(CUDA).with_suffix("").as_posix() for path in CUDA.rglob("*.cu")}


@cache
def entries(source: str) -> set[str]:
    return set(re.findall(r"^MDQR_KERNEL\((\w+)", (CUDA / f"{source}.cu").read_text(), flags=re.M))


def test_every_kernel_is_used_by_the_backend():
    """A kernel that no call of the protocol starts is dead, or the calls here leave a path out."""
    used = {}
    for module, names in modules().items():
        used.setdefault(module.source, set()).update(names)
    assert used == {source: entries(source) for source in SOURCES}


def test_the_plain_run_has_every_source():
    assert {m.source for m in modules() if is_plain(m)} | SLOW == SOURCES


def spilled(log: str) -> int:
    return sum(map(int, re.findall(r"(\d+) bytes spill stores", log)))


def blocks_that_fit(registers: int, threads: int) -> int:
    """Return how many blocks of so many threads the registers of a multiprocessor suffice for."""
    a_warp = -(-32 * registers // REGISTERS_A_WARP) * REGISTERS_A_WARP
    return REGISTERS // (a_warp * -(-threads // 32))


@needs_device_compiler
@pytest.mark.kernels
@pytest.mark.parametrize(("module", "arch"), CASES)
def test_module_compiles(module, arch, tmp_path):
    text = (CUDA / f"{module.source}.cu").read_text()
    options = [f"-I{CUDA}", *module.options]
    log = device_compiler()(text, kernels_folder() / "include", tmp_path, options, arch)
    assert [line for line in log.splitlines() if "warning" in line] == []
    found = re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", log, flags=re.S)
    registers = {name: int(count) for name, count in found}
    # A cooperative launch has a block on every multiprocessor.
    for name, threads in modules()[module].items():
        assert blocks_that_fit(registers[name], threads) >= 1, name
    # Another compiler has other spills.
    if is_hot(module) and is_used(module, arch) and nvrtc_version().startswith(SPILLS["nvrtc"]):
        assert spilled(log) <= SPILLS[arch].get("-".join(name_of(module).split("-")[:3]), 0), log
