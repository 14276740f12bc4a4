"""Compiling ahead: the table of modules, the processes that compile, what is kept on disk."""

from __future__ import annotations

import json
import re
import threading
from types import SimpleNamespace

import pytest
from compilers import nvrtc_library
from stand_ins import STAND_INS

import mdqr
from mdqr._backend.cuda.runtime import archive, calls, cubins, nvrtc
from mdqr._backend.cuda.runtime.calls import CallTable, call_of
from mdqr._backend.cuda.runtime.cubins import Module, Target
from mdqr._backend.cuda.runtime.kernels import CupyKernels
from mdqr._backend.sources import kernels_folder
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._shared import first_calls

SIGNS = Module("floats/signs", Kind(1, False))
# Kernels of hexa-double are not recorded: each is compiled when it is launched.
RECORDED = [mdqr.dd, mdqr.qd, mdqr.od]
WRONG = Module("elementwise/elementwise", Kind(2, False), ("MDQR_BINARY=nonsense",))
TARGET = Target("sm_90")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return machine code in an empty folder, by the wheel of NVRTC."""
    library = nvrtc_library()
    if library is None:
        pytest.skip("NVRTC's wheel is not installed")
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cubins, "_LINGER", 0.05)
    yield cubins.Cubins(library._name)
    # Who feeds a process ends with it.
    for thread in threading.enumerate():
        if thread.name == "mdqr-compile":
            thread.join(10.0)


def test_the_table_names_kernels_there_are():
    folder = kernels_folder() / "cuda"
    text = "".join(path.read_text() for path in folder.rglob("*.?*") if path.is_file())
    macros = set(re.findall(r"\bMDQR_\w+", text))
    limbs = {p.limbs for p in PRECISIONS} | {2 * p.limbs for p in PRECISIONS}
    for function in calls.TABLE.functions:
        assert hasattr(mdqr.linalg, function) or function == "curve_fit"
        for precision in RECORDED:
            assert calls.modules_of(function, Kind(precision.limbs, False))
        assert calls.modules_of(function, Kind(4, True)) or function == "curve_fit"
    for module in calls.modules_for(calls.TABLE.functions, ()):
        assert (folder / f"{module.source}.cu").exists()
        assert {define.split("=")[0] for define in module.defines} <= macros
        assert module.kind.limbs in limbs
        assert calls.module_of(calls.name_of(module)) == module


@pytest.mark.kernels
def test_subnormal_float32_numbers_count_as_zeros(made):
    """Panels of float32 gave NaN without: `rsqrt.approx.ftz` has infinity for subnormal numbers."""
    module = Module("tensorcore/cholesky", Kind(1, False))
    code, _ = made.get(module, Target("compute_90"))
    products = re.findall(r"\b(?:mul|fma|add|sub)\.[a-z.]*f32\b", code.decode())
    assert products
    assert all(".ftz" in product for product in products)


def test_modules_of_a_call_are_those_of_the_table(tmp_path, monkeypatch):
    table = CallTable(tmp_path / "calls.json")
    signs, wrong = map(calls.name_of, (SIGNS, WRONG))
    table.write(
        {call_of("qr", Kind(2, False)): [signs, wrong], call_of("svd", Kind(2, False)): [wrong]}
    )
    monkeypatch.setattr(calls, "TABLE", table)
    exact = Module("products/exact_numbers", Kind(2, False), ("MDQR_PIECES=2",))
    assert list(calls._neighbours(exact)) == [exact._replace(defines=("MDQR_PIECES=4",))]
    assert set(calls.modules_of("qr", Kind(2, False))) == {SIGNS, WRONG}
    assert calls.modules_of("qr", Kind(4, False)) == []
    assert calls.modules_for(["svd"], {2}) == [WRONG]
    assert calls.modules_for(["svd"], {4}) == []


def test_architectures():
    known = [75, 80, 86, 90, 100]
    names = {(7, 5): "sm_75", (8, 9): "sm_86", (9, 0): "sm_90", (10, 3): "sm_100"}
    for capability, name in names.items():
        assert cubins.arch_of(capability, known) == name
    assert cubins.arch_of((12, 0), known) == "compute_100"
    with pytest.raises(RuntimeError, match="nothing below"):
        cubins.arch_of((7, 0), known)


def test_what_is_expected_is_compiled_once_and_kept(made):
    jobs = made.expect([SIGNS, SIGNS], TARGET)
    code, is_kept = made.get(SIGNS, TARGET)
    assert is_kept
    assert code.startswith(b"\x7fELF")
    for job in jobs:
        job.result()
    assert made.expect([SIGNS], TARGET) == []
    assert made.file(SIGNS, TARGET).read_bytes() == code
    assert made.file(SIGNS, Target("sm_80")) != made.file(SIGNS, TARGET)
    folder, count, size = cubins.kept()
    assert (folder, count, size) == (made.file(SIGNS, TARGET).parent, 1, len(code))
    with pytest.raises(RuntimeError, match="nonsense"):
        made.get(WRONG, TARGET)
    assert made.get(SIGNS, Target("compute_80"))[0].lstrip().startswith(b"//")


def test_first_calls_take_quick_code_of_long_kernels(made, monkeypatch):
    monkeypatch.setattr(cubins, "_LONG_SOURCES", "floats/signs")
    monkeypatch.setattr(cubins, "_QUICK_SINCE", (12, 0))
    monkeypatch.setattr(cubins, "_QUICK", ("-DQUICK",))
    jobs = made.expect([SIGNS], TARGET, quick=True)
    assert [json.loads(job.line)["options"].count("-DQUICK") for job in jobs] == [1, 0]
    early, _ = made.get(SIGNS, TARGET)
    jobs[1].result()
    code, is_kept_now = made.get(SIGNS, TARGET)
    assert early.startswith(b"\x7fELF")
    assert code.startswith(b"\x7fELF")
    assert is_kept_now
    assert made.file(SIGNS, TARGET, quick=True).exists()


def test_archives(made, tmp_path, monkeypatch):
    """Modules of one folder come to another, for devices that run their code."""
    file = tmp_path / "kernels.tar.xz"
    code, _ = made.get(SIGNS, TARGET)
    archive.pack(file, made, [SIGNS], TARGET)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "other"))
    other, newer = cubins.Cubins(made._library), Target("sm_100")
    assert archive.unpack(file, other, TARGET) == (1, 0)
    assert archive.unpack(file, other, TARGET) == (0, 1)
    assert other.expect([SIGNS], TARGET) == []
    assert other.get(SIGNS, TARGET) == (code, True)
    with pytest.raises(ValueError, match=r"code for sm_90, which sm_100 does not run"):
        archive.unpack(file, other, newer)
    monkeypatch.setattr(archive, "_sources", lambda: ["others"])
    with pytest.raises(ValueError, match="another version"):
        archive.unpack(file, other, TARGET)
    for content in (b"text", file.read_bytes()[:200]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="not an archive of kernels"):
            archive.unpack(file, other, TARGET)


def test_threads_wait_for_one_job(made):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(made.get(SIGNS, TARGET)[0])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 4


def test_this_process_compiles_where_no_other_can(made, monkeypatch):
    def refuse(library):
        raise OSError("no more processes")

    monkeypatch.setattr(cubins, "_start", refuse)
    assert made.get(SIGNS, TARGET)[0].startswith(b"\x7fELF")


def test_a_process_that_ends_is_replaced(made, monkeypatch):
    monkeypatch.setattr(nvrtc, "__file__", "no such file")
    assert made.get(SIGNS, TARGET)[0].startswith(b"\x7fELF")


def test_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cubins.folder() == tmp_path / "mdqr" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cubins.folder() == tmp_path / ".cache" / "mdqr" / "kernels"
    (tmp_path / "file").write_text("")
    assert cubins._usable(tmp_path / "file" / "below").is_dir()


def test_calls_on_a_device_are_expected(monkeypatch):
    class Array:
        dtype = SimpleNamespace(kind="c")
        shape = (4, 9, 3)

    expected = []
    backend = SimpleNamespace(expect=lambda *given: expected.append(given))
    monkeypatch.setattr(first_calls, "for_block", lambda block: backend)
    monkeypatch.setattr(first_calls, "is_cuda_array", lambda x: isinstance(x, Array))
    first_calls.expect("qr", mdqr.ones((2, 2), precision="dd"), None)
    first_calls.expect("qr", [[1.0]], "dd")
    assert expected == []
    first_calls.expect("qr", Array(), "qd")
    sizes = {
        ("lstsq", (256, 64), False): ["lstsq_small"],
        ("lstsq", (65, 65), False): ["lstsq"],
        ("lstsq", (257, 3), False): ["lstsq"],
        ("solve", (64, 64), False): ["solve_small"],
        ("solve", (65, 65), False): ["solve_middle", "solve"],
        ("solve", (65, 65), True): ["solve"],
        ("solve", (129, 129), False): ["solve"],
    }
    assert {call: first_calls._calls(*call) for call in sizes} == sizes
    first_calls.expect("svd", mdqr.ones(2, precision="dd")._like(Array()), None)
    first_calls.expect("solve", Array(), "qd")
    assert expected.pop() == ("solve_small", Kind(4, True))
    assert expected == [("qr", Kind(4, True)), ("svd", Kind(2, False))]


class Loaded:
    """A module of CuPy's."""

    def load(self, code):
        self.code = code

    def get_function(self, name):
        return SimpleNamespace(ptr=(self.code, name))


class OneDevice(CupyKernels):
    """Kernels of a device that is not there."""

    def __init__(self, made):
        driver = SimpleNamespace(
            funcGetAttribute=lambda attribute, function: 0,
            funcSetAttribute=lambda *given: None,
        )
        cuda = SimpleNamespace(
            driver=driver,
            function=SimpleNamespace(Module=Loaded),
            runtime=SimpleNamespace(getDevice=lambda: 0),
        )
        self.xp, self.limit = SimpleNamespace(cuda=cuda), None
        self._modules, self._early, self._functions = {}, {}, {}
        self._devices = {0: STAND_INS["a100"]}
        self.__dict__["cubins"] = made


def test_better_code_replaces_that_of_first_calls(tmp_path):
    class Made:
        architectures = (80,)
        answers = iter([(b"early", False), (b"kept", True)])

        def get(self, module, target):
            return next(self.answers)

        def file(self, module, target):
            return tmp_path / "kept"

    kernels = OneDevice(Made())
    for _ in range(2):
        assert kernels._function(SIGNS, "name").ptr == (b"early", "name")
    assert not kernels._functions
    assert kernels.launched == {SIGNS}  # the table of calls once lacked such modules
    (tmp_path / "kept").write_text("")
    for _ in range(2):
        assert kernels._function(SIGNS, "name").ptr == (b"kept", "name")
    assert len(kernels._functions) == 1
    assert list(Made.answers) == []
