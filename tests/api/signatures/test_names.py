"""Public modules show their public names alone."""

from __future__ import annotations

import importlib
import io
import pkgutil

import pytest

import mdqr
from mdqr.testing import assert_same_bits

PUBLIC = ["mdqr"] + [
    module.name
    for module in pkgutil.walk_packages(mdqr.__path__, "mdqr.")
    if not any(part.startswith("_") for part in module.name.split("."))
]
MORE = {
    "mdqr": {
        *("__version__", "approx", "distributed", "fft", "optimize", "plot", "quadrature"),
        *("pandas", "series", "sparse"),
    }
}


def test_modules_were_found():
    assert {"mdqr.linalg", "mdqr.series.plot", "mdqr.array_api", "mdqr.config"} <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_dir_shows_the_public_names_alone(name):
    module = importlib.import_module(name)
    assert dir(module) == sorted({*module.__all__, *MORE.get(name, ())})
    assert [key for key in module.__all__ if key != "np" and not hasattr(module, key)] == []


def test_load_gives_an_array_and_loadz_a_dict():
    """The type of the result depended on the contents of the file."""
    a = mdqr.array(["0.1", "2"], precision=mdqr.qd)
    one, several = io.BytesIO(), io.BytesIO()
    mdqr.save(one, a)
    mdqr.savez(several, x=a)
    assert_same_bits(mdqr.load(one), a)
    for file, name in ((one, "arr_0"), (several, "x")):
        found = mdqr.loadz(file)
        assert list(found) == [name]
        assert_same_bits(found[name], a)
    with pytest.raises(ValueError, match=r"by name \('x'\): read them with mdqr\.loadz"):
        mdqr.load(several)


def test_savetxt_takes_names():
    file = io.StringIO()
    mdqr.savetxt(file, mdqr.ones((1, 2), precision=mdqr.dd), names=["x", "y"])
    assert file.getvalue() == "x,y\n1.0,1.0\n"
    with pytest.raises(ValueError, match="2 names are wanted"):
        mdqr.savetxt(file, mdqr.ones((1, 2), precision=mdqr.dd), names="xy")
