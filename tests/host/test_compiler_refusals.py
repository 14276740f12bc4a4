"""Compilers that would change the value of an expression are refused by `config.hpp`."""

from __future__ import annotations

import platform
import subprocess

import pytest
from compilers import host_compiler

from mdqr._backend import sources


def refusal(*flags: str) -> str:
    """Return what the compiler says to an empty program with the header; "" if it takes it."""
    include = sources.kernels_folder() / "include"
    run = subprocess.run(
        [host_compiler(), *flags, "-std=c++17", f"-I{include}", "-x", "c++", "-fsyntax-only", "-"],
        input='#include "mdqr/config.hpp"\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode == 0) == (run.stderr == ""), run.stderr
    return run.stderr


def test_plain_flags_are_taken():
    assert refusal() == ""


def test_fast_math_is_refused():
    assert "-ffast-math deletes the error terms" in refusal("-ffast-math")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x87 is on x86")
def test_x87_is_refused():
    if "clang" in subprocess.check_output([host_compiler(), "--version"], text=True):
        pytest.skip("clang has no -mfpmath=387 on x86-64")
    assert "doubles must be evaluated as doubles" in refusal("-mfpmath=387")


@pytest.mark.parametrize("method", ["-1", "2", "128"])
def test_other_evaluation_methods_are_refused(method):
    flags = ("-U__FLT_EVAL_METHOD__", f"-D__FLT_EVAL_METHOD__={method}", "-w")
    assert "doubles must be evaluated as doubles" in refusal(*flags)


@pytest.mark.parametrize("method", ["0", "1", "16"])
def test_methods_that_leave_double_alone_are_taken(method):
    assert refusal("-U__FLT_EVAL_METHOD__", f"-D__FLT_EVAL_METHOD__={method}", "-w") == ""
