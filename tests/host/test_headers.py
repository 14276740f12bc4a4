"""Every kernel header compiles alone, for the host and for sm_90, and includes no std header."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from compilers import device_compiler, host_compiler, needs_device_compiler

from mdqr._backend.sources import kernels_folder
from mdqr._precision import PRECISIONS

INCLUDE = kernels_folder() / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp"))
PROBE = (Path(__file__).parent / "device_probe.cu").read_text()


def test_headers_were_found():
    assert "mdqr/config.hpp" in HEADERS
    assert len(HEADERS) > 5


@pytest.mark.parametrize("header", HEADERS)
def test_no_std_header(header):
    text = (INCLUDE / header).read_text()
    included = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', text, flags=re.MULTILINE)
    assert [name for name in included if name not in HEADERS] == []
    assert "std::" not in text


@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone_on_the_host(header):
    source = f'#include "{header}"\n#include "{header}"\n'
    flags = ["-std=c++17", "-fsyntax-only", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        [host_compiler(), *flags, f"-I{INCLUDE}", "-x", "c++", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def warnings_of(log: str) -> list[str]:
    return [line for line in log.splitlines() if "warning" in line]


@needs_device_compiler
@pytest.mark.kernels
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone_for_sm_90(header, tmp_path):
    source = f'#include "{header}"\n#include "{header}"\nextern "C" __global__ void probe() {{}}\n'
    log = device_compiler()(source, INCLUDE, tmp_path)
    assert warnings_of(log) == []
    assert "registers" in log


@needs_device_compiler
@pytest.mark.kernels
@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_operations_compile_for_sm_90_without_spills(precision, tmp_path):
    log = device_compiler()(f"#define MDQR_LIMBS {precision.limbs}\n{PROBE}", INCLUDE, tmp_path)
    assert warnings_of(log) == []
    kernels = set(re.findall(r"^PROBE\((\w+)", PROBE, flags=re.MULTILINE))
    assert kernels == set(re.findall(r"entry function '(\w+)'", log))
    assert len(re.findall(r"Used \d+ registers", log)) >= len(kernels)
    # Products, quotients and roots by digits keep three arrays of them.
    most = 0 if precision.limbs <= 8 else 512
    assert max(map(int, re.findall(r"(\d+) bytes spill", log))) <= most
