"""Pickles name one function, and those of earlier states are read."""

from __future__ import annotations

import copy
import copyreg
import inspect
import io
import pickle
import pickletools
import re
import sys
import tarfile
import warnings
from fractions import Fraction
from importlib import import_module
from typing import Any

import fake_device
import numpy as np
import pytest

import mdqr
from mdqr._pickles import KINDS, restore
from tests.api.kept import objects
from tests.api.kept.write import HERE

ALLOWED = {
    ("mdqr._pickles", "restore"),
    ("fractions", "Fraction"),
    ("builtins", "complex"),
    ("_codecs", "encode"),
    ("__builtin__", "bytes"),
    ("__builtin__", "complex"),
}
# By NumPy and BLAS, where the precision is "d".
COMPUTED = ("standard_errors", "covariance", "residual_std", "r_squared")
KEPT = sorted(HERE.glob("*.tar.xz"))


@pytest.fixture(scope="module")
def every() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(objects.every())


class Names(pickle.Unpickler):
    """An unpickler that takes note of what is imported."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.names: set[tuple[str, str]] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.names.add((module, name))
        return super().find_class(module, name)


def test_pickles_name_one_function(every: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Opcodes of imports are those of `restore`, NumPy and Python alone.

    Unless another package, as Dask does, has registered its own pickles of all exceptions.
    """
    table = copyreg.dispatch_table
    for kind in [each for each in table if each.__module__.startswith("mdqr")]:
        monkeypatch.delitem(table, kind)
    for name, found in every.items():
        for protocol in (2, 4, 5):
            reader = Names(pickle.dumps(found, protocol))
            reader.load()
            others = {x for x in reader.names - ALLOWED if not x[0].startswith("numpy")}
            assert not others, (name, protocol, others)
        data = pickle.dumps(found, 4)
        count = sum(op.name == "STACK_GLOBAL" for op, _, _ in pickletools.genops(data))
        texts = [arg for op, arg, _ in pickletools.genops(data) if "UNICODE" in op.name]
        private = [t for t in texts if "mdqr." in t and "_" in t and t != "mdqr._pickles"]
        assert not private, (name, private)
        assert count


def test_every_public_class_has_a_kind() -> None:
    """The table has all public classes, and leads to each."""
    for kind, home in KINDS.items():
        assert hasattr(getattr(import_module(home), kind.rpartition(".")[2]), "_restored"), kind
    for part in ("", "linalg", "series", "tensorcore", "testing", "array_api"):
        module = import_module(f"mdqr.{part}" if part else "mdqr")
        for name in dir(module):
            cls = getattr(module, name)
            if inspect.isclass(cls) and cls.__module__.startswith("mdqr"):
                kind = f"{part}.{name}" if part else name
                assert kind in KINDS, kind


def test_restored_objects_say_the_same(every: dict[str, Any]) -> None:
    """Restored and copied objects say what they said."""
    for name, found in every.items():
        wanted = objects.described(found)
        assert objects.described(pickle.loads(pickle.dumps(found))) == wanted, name
        assert objects.described(copy.copy(found)) == wanted, name
        assert objects.described(copy.deepcopy(found)) == wanted, name


def test_fits_go_on(every: dict[str, Any]) -> None:
    """Rows inserted after a pickle give the limbs that they give without."""
    for name, found in every.items():
        if not isinstance(found, mdqr.linalg.UpdatableLstsq):
            continue
        fits = copy.copy(found), pickle.loads(pickle.dumps(found))
        for fit in fits:
            row, n = fit.R[0], fit.shape[1]
            fit.insert_rows(row, fit.solve()[0])
            if fit.Q is not None or fit._fit.data is not None:
                fit.insert_rows(np.eye(n)[:1], 1 + 0 * fit.solve()[:1], 0)
        for attribute in ("R", "Q", "solve"):
            x, y = (getattr(fit, attribute) for fit in fits)
            if attribute == "solve":
                x, y = x(), y()
            if x is not None:
                x, y = (getattr(z, "limbs", z) for z in (x, y))
                np.testing.assert_array_equal(x, y, err_msg=name)


def agrees(stem: str, place: str, got: str, wanted: str) -> bool:
    """Return True for the values that were kept, or nearly those if they are computed now."""
    goes_on = stem.startswith(("qr_factor", "updatable_q", "updatable_float32"))
    if got == wanted or (goes_on and ("lost" in place or ".info" in place)):
        return True
    if not goes_on and not place.endswith(COMPUTED):
        return False
    x, y = ([*map(float.fromhex, re.findall(r"-?0x\S+", text))] for text in (got, wanted))
    largest = max(map(abs, y), default=0.0)
    return np.allclose(x, y, rtol=1e-5, atol=1e-5 * largest, equal_nan=True)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_states_are_read(path: Any) -> None:
    """Files of earlier states have the values of then."""
    with tarfile.open(path) as archive:
        members = {each.name: archive.extractfile(each).read() for each in archive.getmembers()}
    for name, data in members.items():
        stem, _, kind = name.rpartition(".")
        if kind == "txt":
            continue
        found = mdqr.load(io.BytesIO(data)) if kind == "npz" else pickle.loads(data)
        wanted = members[f"{stem}.txt"].decode()
        got = dict(line.partition(": ")[::2] for line in objects.described(found).splitlines())
        # Attributes may come; those that were there stay.
        for line in wanted.splitlines():
            place, _, value = line.partition(": ")
            assert agrees(stem, place, got[place], value), (name, place)


def test_there_is_a_kept_state() -> None:
    """Kept files are few and small."""
    assert KEPT
    assert all(path.stat().st_size < 200_000 for path in KEPT)


_ENDLESS: list[Any] = []
_ENDLESS.append(_ENDLESS)


@pytest.mark.parametrize(
    ("kind", "state", "text"),
    [
        ("linalg.CurveFit", {"format": 1}, "newer mdqr"),
        ("linalg.SVDResult", {"format": 2}, "newer mdqr"),
        ("linalg.SVDResult", {}, "damaged"),
        ("linalg.SVDResult", {"format": True}, "damaged"),
        ("linalg.SVDResult", {"format": 1}, "damaged"),
        ("os.system", {"format": 1}, "newer mdqr"),
        ("Precision", {"format": 1, "name": "ud"}, "newer mdqr"),
        ("Constant", {"format": 1, "name": "tau"}, "damaged"),
        ("Constant", {"format": 1, "terms": [([("x", Fraction(1))], 1)], "divisor": []}, "damaged"),
        ("FInfo", {"format": 1, "bits": print}, "plain"),
        (3, {"format": 1}, "damaged"),
        ("linalg.SVDResult", {"format": 10**5000}, "newer mdqr"),
        ("linalg.SVDResult", {"format": 1, "U": _ENDLESS}, "plain"),
        ("linalg.SVDResult", {"format": 1, "U": np.zeros(1, [("a", object)])}, "plain"),
        ("linalg.Info", {"format": 1, "condition": None}, "damaged"),
    ],
)
def test_other_states_are_refused(kind: Any, state: Any, text: str) -> None:
    """Kinds and formats that are not known, and damaged states, raise ValueError."""
    with pytest.raises(ValueError, match=text):
        restore(kind, state)


def test_damaged_arrays_are_refused(every: dict[str, Any]) -> None:
    """An array of another shape, type or none, in every state that computing goes on from."""
    for name in ("qr_factor_qd", "updatable_q1_data1_qd", "updatable_q0_data0_od_complex"):
        _, (kind, state) = every[name].__reduce__()
        for key, value in state.items():
            arrays = {"format": 2, key: None} if key == "format" else {key: 1.5}
            if isinstance(value, np.ndarray):
                cut = value[..., :-1] if value.ndim else value[None]
                for other in (cut, value.astype("c8"), value[None]):
                    with pytest.raises(ValueError, match="damaged"):
                        restore(kind, state | {key: other})
            if key not in ("lost", "format"):
                with pytest.raises(ValueError, match=r"damaged|precision"):
                    restore(kind, state | arrays)


def test_a_file_of_a_newer_mdqr_says_so() -> None:
    """Files have a format, and an unknown precision is one of a newer state."""
    stream = io.BytesIO()
    mdqr.save(stream, mdqr.qd(1))
    stream.seek(0)
    members = dict(np.load(stream))
    assert members["format"] == 1
    for changed in ({"format": np.array(2)}, {"precision": np.array("ud")}):
        stream = io.BytesIO()
        np.savez(stream, **(members | changed))
        stream.seek(0)
        with pytest.raises(ValueError, match="newer mdqr"):
            mdqr.load(stream)


def on_device(fields: tuple[str, ...], found: Any) -> Any:
    """Return a result whose arrays are those of CuPy."""
    cupy = sys.modules["cupy"]
    return found._replace(**{name: cupy.array(getattr(found, name)) for name in fields})


def test_arrays_of_gpus_are_pickled_as_those_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go back to the GPU where there is one, and are NumPy arrays elsewhere."""
    a = np.random.default_rng(1).normal(size=(9, 4))
    tensorcore, values, piv = mdqr.tensorcore, {}, mdqr.linalg.lu_factor(a)
    values["qr"] = ("Q", "R"), tensorcore.qr(a)
    values["lstsq"] = ("x", "residuals"), tensorcore.lstsq(a, a[:, 0])
    values["lowrank"] = ("U", "S", "Vh"), tensorcore.lowrank(a, 2)
    values["factors"] = (
        ("Q", "R", "exponents"),
        tensorcore.qr(a.astype(np.float32), keep_factors=True).info.factors,
    )
    values["lu"] = ("piv",), piv
    with monkeypatch.context() as there:
        fake_device.install_cupy(there)
        data = {}
        for name, (fields, found) in values.items():
            moved = on_device(fields, found)
            data[name] = pickle.dumps(moved)
            back = pickle.loads(data[name])
            for field in fields:
                assert type(getattr(back, field)) is fake_device.CuPyArray, name
                np.testing.assert_array_equal(getattr(back, field).get(), getattr(found, field))
            assert type(copy.deepcopy(moved)) is type(found)
    for name, (fields, found) in values.items():
        reader = Names(data[name])
        back = reader.load()
        assert not [module for module, _ in reader.names if "cupy" in module or "fake" in module]
        for field in fields:
            assert type(getattr(back, field)) is np.ndarray, name
            np.testing.assert_array_equal(getattr(back, field), getattr(found, field))


@pytest.mark.parametrize("names", ["Q", ["R", "E"], [["Q"]], {"Q": 1}, [1], ["format"]])
def test_names_of_arrays_of_gpus_are_checked(names: Any) -> None:
    """Anything but a list of names of arrays is refused."""
    found = mdqr.tensorcore.qr(np.eye(3))
    kind, state = found.__reduce__()[1]
    with pytest.raises(ValueError, match="damaged"):
        restore(kind, state | {"cuda": names})
