"""Kernels of CuPy's own, compiled ahead: the examples, and what stands in for CuPy's compiler."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.gpu.cupy_examples import candidates
from mdqr._backend.cuda.runtime import ahead, calls, cupy_kernels, examples
from mdqr._backend.cuda.runtime.calls import CallTable, call_of
from mdqr._backend.cuda.runtime.cupy_kernels import CupyCompilations, compilations
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS


class Program:
    """A compilation of CuPy's."""

    def __init__(self, src, method="cubin", name_expressions=None):
        self.src, self.method, self.name_expressions = src, method, name_expressions

    def compile(self, options=(), log_stream=None):
        return b"CuPy", None


class Pool:
    """Processes that compile when they are let."""

    def __init__(self):
        self.jobs, self.hurried, self.error = [], [], None
        self.let = threading.Event()
        self.let.set()

    def add(self, job, *, first):
        def finish():
            self.let.wait(10.0)
            with suppress(FileNotFoundError):  # when the test has ended
                Path(job.file).write_bytes(b"elsewhere")
            job.error = self.error
            job.done.set()

        self.jobs.append(job)
        threading.Thread(target=finish).start()
        return job

    def hurry(self, job):
        self.hurried.append(job)


class Device:
    compute_capability = "90"

    def __init__(self, number):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *given):
        pass


@contextmanager
def stream(*, non_blocking):
    yield SimpleNamespace(synchronize=lambda: None)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return compilations of a CuPy whose examples are sources, CuPy, and what it compiled."""
    program = type("_NVRTCProgram", (Program,), {"compile": Program.compile})
    cuda = SimpleNamespace(
        compiler=SimpleNamespace(_NVRTCProgram=program),
        Device=Device,
        Stream=stream,
        nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
    )
    xp, found = SimpleNamespace(__version__="14", cuda=cuda), {}

    def run(xp, text):
        found[text] = program(text).compile(("-O3",))[0]

    monkeypatch.setattr(examples, "run", run)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "cupy"))
    return CupyCompilations(xp, SimpleNamespace(pool=Pool())), program, found


def finish(futures):
    for future in futures:
        future.result(10.0)


def test_examples_are_compiled_elsewhere_and_once(made, tmp_path):
    kernels, program, found = made
    own = program.compile
    finish(kernels.expect(["a", "b"], 0))
    assert found == {"a": b"elsewhere", "b": b"elsewhere"}
    assert kernels.compiled == 2
    assert program.compile is own
    assert not list(kernels._folder.iterdir())
    # CuPy has no folder that could be marked; where it has, they are not made again.
    for count in (2, 0):
        (tmp_path / "cupy").mkdir(exist_ok=True)
        futures = kernels.expect(["a", "b"], 0)
        finish(futures)
        assert len(futures) == count


def test_who_needs_a_kernel_waits_for_it(made):
    kernels, program, found = made
    pool = kernels._cubins.pool
    pool.let.clear()
    futures = kernels.expect(["a"], 0)
    while not pool.jobs:
        pass
    assert program("other").compile(("-O3",)) == (b"CuPy", None)
    assert program("a").compile(("-O2",)) == (b"CuPy", None)
    threading.Timer(0.05, pool.let.set).start()
    assert program("a").compile(("-O3",)) == (b"elsewhere", None)
    finish(futures)
    assert found == {"a": b"elsewhere"}
    assert len(pool.jobs) == 1
    assert pool.hurried == pool.jobs


def test_cupy_says_what_is_wrong(made, monkeypatch):
    kernels, program, found = made
    kernels._cubins.pool.error = RuntimeError("a kernel does not compile")
    finish(kernels.expect(["a"], 0))
    assert found == {"a": b"CuPy"}

    def refuse(xp, text):
        raise AttributeError(text)

    monkeypatch.setattr(examples, "run", refuse)
    own = program.compile
    finish(kernels.expect(["b"], 0))
    assert program.compile is own


def test_what_cupy_compiles_otherwise_is_left_to_it(made, monkeypatch):
    kernels, program, found = made
    plain = program.__init__

    def named(self, src):
        plain(self, src, **kinds.pop())

    kinds = [{"method": "ptx"}, {"method": "lto"}, {"name_expressions": ["f<double>"]}]
    monkeypatch.setattr(program, "__init__", named)
    for text in ("a", "b", "c"):
        finish(kernels.expect([text], 0))
    assert set(found.values()) == {b"CuPy"}
    assert not kernels._cubins.pool.jobs


def test_another_compiler_of_cupy_is_left_alone(made, monkeypatch):
    kernels, program, _ = made
    assert compilations(kernels._xp) is program
    monkeypatch.setattr(program, "compile", lambda self, options, headers: None)
    assert compilations(kernels._xp) is None
    assert kernels.expect(["a"], 0) == []
    monkeypatch.delattr(kernels._xp.cuda.compiler, "_NVRTCProgram")
    assert compilations(kernels._xp) is None


def test_nothing_is_compiled_when_python_ends(made, monkeypatch, tmp_path):
    kernels, _, found = made
    (tmp_path / "cupy").mkdir()
    pool = kernels._cubins.pool
    pool.let.clear()
    futures = kernels.expect(["a", *"bcdefghijklmnopqrs"], 0)
    ends = threading.Event()
    monkeypatch.setattr(cupy_kernels, "_ends", ends)
    ends.set()
    finish(futures)
    pool.let.set()
    assert not found
    assert list((tmp_path / "cupy").iterdir()) == []
    assert kernels.expect(["a"], 0) == []


def test_mdqr_compile_has_a_device_make_them(monkeypatch):
    asked, steps = [], []

    class Compilations:
        compiled = 3

        def __init__(self, xp, cubins):
            pass

        def expect(self, texts, device):
            asked.append((texts, device))
            return [SimpleNamespace(result=lambda: None)] * len(texts)

    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())
    monkeypatch.setattr(ahead, "check_device", {"cuda:1": 1}.get)
    monkeypatch.setattr(ahead, "CupyCompilations", Compilations)
    nothing = SimpleNamespace(expect=lambda modules, target: [])
    monkeypatch.setattr(ahead, "_code_for", lambda device: (nothing, None))
    for device, texts in (("cuda:1", examples.TABLE.of_functions(["qr"], {2})), ("sm_90", [])):
        found = ahead.compile_kernels(["qr"], {2}, device, lambda *given: steps.append(given))
        assert found == (3, len(calls.modules_for(["qr"], {2})))
        assert asked.pop() == (texts, int(bool(texts)))
        assert steps == [("compiling", done, len(texts)) for done in range(len(texts))]
        steps.clear()


def test_the_table_has_calls_that_there_are():
    for function in ("lstsq", "solve", "qr", "svd", "eigh", "curve_fit"):
        for precision in PRECISIONS[1:3]:
            assert examples.TABLE.of(function, Kind(precision.limbs, False))
    texts = examples.TABLE.of_functions(calls.TABLE.functions, ())
    assert set(examples.TABLE.of_functions(["qr"], {2})) <= set(texts)
    with np.errstate(all="ignore"):
        for text in texts:
            examples.run(np, text)


def test_the_table_is_written_as_it_is_read(tmp_path):
    table = CallTable(tmp_path / "examples.json")
    table.write(
        {call_of("qr", Kind(2, False)): ["a", "b"], call_of("svd_small", Kind(4, True)): ["b"]}
    )
    assert table.functions == ["qr", "svd"]
    assert table.of("qr", Kind(2, False)) == ["a", "b"]
    assert table.of("qr", Kind(4, False)) == []
    assert table.of_functions(["svd"], {4}) == ["b"]
    assert table.of_functions(["svd"], {2}) == []
    assert table.of_functions(["qr", "svd"], ()) == ["a", "b"]


def test_operands_are_read_from_signatures():
    source = """
    extern "C" __global__ void cupy_where__bool_float64_float_float64(
    const CArray<bool, 2, 1, 1> _raw_in0, const CArray<thrust::complex<double>, 2, 0, 1> _raw_in1,
    const double in2, CArray<double, 2, 1, 1> _raw_out0, CIndexer<2, 1> _ind) { }
    """
    assert candidates(" ".join(source.split())) == ["where ?2 D2' float -> d2"]
    shapes = [np.empty(0), *(examples._operand(np, word) for word in ("q2", "d2'"))]
    assert [x.flags.c_contiguous for x in shapes] == [True, True, False]
    assert [x.shape for x in shapes] == [(0,), (3, 3), (3, 3)]
    assert examples._operand(np, "=d") == 1.0
    assert candidates("no kernel") == []
