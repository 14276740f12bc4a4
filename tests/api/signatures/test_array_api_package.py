"""`mdqr.array_api` is a package like any other."""

from __future__ import annotations

import subprocess
import sys
from operator import attrgetter

import pytest

import mdqr


@pytest.mark.parametrize(
    "statement",
    [
        "from mdqr.array_api.linalg import qr",
        "import mdqr.array_api.linalg as la; la.qr",
        "from mdqr.array_api.special import erf",
        "from mdqr.array_api import linalg, sin, float_qd, DType",
        "import mdqr.array_api; mdqr.array_api(mdqr.od).linalg.qr",
    ],
)
def test_imports_in_a_fresh_process(statement):
    subprocess.run([sys.executable, "-c", statement], check=True)


def test_all_names_everything():
    xp = mdqr.array_api
    assert {"DType", "asarray", "float_od", "linalg", "pi", "sin", "special"} <= set(xp.__all__)
    for module in (xp, xp.linalg, xp.special):
        assert all(hasattr(module, name) for name in module.__all__)
        assert set(module.__all__) <= set(dir(module))
    names: dict[str, object] = {}
    exec("from mdqr.array_api.linalg import *", names)
    assert set(xp.linalg.__all__) <= names.keys()


def test_all_namespaces_have_the_same_names():
    for precision in ("d", "dd", "qd", "od"):
        xp = mdqr.array_api(precision)
        assert [name for name in mdqr.array_api.__all__ if not hasattr(xp, name)] == []


def test_an_unknown_name():
    for module in (mdqr.array_api, mdqr.array_api.linalg, mdqr.array_api.special):
        with pytest.raises(AttributeError, match=f"{module.__name__}.*unheard"):
            attrgetter("unheard")(module)
