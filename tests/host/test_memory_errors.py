"""What errors of memory say: how much was wanted, of what function, and what to reduce."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import mdqr


def test_out_of_memory_says_how_much_was_wanted():
    with pytest.raises(MemoryError, match=r"no memory for 5\.96e\+10 GiB: real values of shape"):
        mdqr.zeros((10**9, 10**9), precision=mdqr.od)


@pytest.mark.parametrize("given", ["0.12345" * 20, ["0.1"]], ids=["text", "list"])
def test_out_of_memory_names_the_function(given, monkeypatch):
    """The first text among the arguments was taken for the name of an operation."""

    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr(mdqr._functions.creation, "_convert", exhausted)
    with pytest.raises(MemoryError, match=r"^array: no memory \(no size is known\); take fewer"):
        mdqr.array(given, precision=mdqr.dd)


LITTLE_MEMORY = """
import resource
import numpy as np
import mdqr

a, x = mdqr.ones((1000, 1000), precision=mdqr.od), np.ones((1000, 1000))
calls = {
    "add": lambda: a + a,
    "multiply": lambda: a * 2.0,
    "sqrt": lambda: mdqr.sqrt(a),
    "negative": lambda: -a,
    "abs": lambda: abs(a),
    "floor": lambda: mdqr.floor(a),
    "conj": lambda: a.conj(),
    "cumsum": lambda: a.cumsum(),
    "sum": lambda: a.reshape(1, 10**6).sum(axis=0),
    "max": lambda: a.reshape(1, 10**6).max(axis=0),
    "concatenate": lambda: mdqr.concatenate([a[:500], a[500:]]),
    "stack": lambda: mdqr.stack([a[:500], a[500:]]),
    "linspace": lambda: mdqr.linspace(0, 1, 10**6, precision=mdqr.od),
    "dot": lambda: mdqr.dot(a[:, :2], a[:2]),
    "solve_triangular": lambda: mdqr.linalg.solve_triangular(one, a.reshape(1, 10**6)),
    "solve": lambda: factor.solve(a.reshape(1, 10**6)),
    "qr_update": lambda: mdqr.linalg.qr_update(a, a, a[0], a[0]),
    "repair": lambda: mdqr.linalg.repair(a, a, a),
    "certify": lambda: mdqr.linalg.certify(a, a, a),
    "UpdatableLstsq": lambda: mdqr.linalg.UpdatableLstsq(a, a[0]),
    "insert_rows": lambda: fit.insert_rows(a.reshape(10**6, 1), a.ravel()),
    "tril": lambda: mdqr.tril(a),
    "where": lambda: mdqr.where(True, a, 0),
    "copy": lambda: a.copy(),
    "array": lambda: mdqr.array(x, precision=mdqr.od),
    "from_limbs": lambda: mdqr.from_limbs(a.limbs),
    "matmul": lambda: a[:, :2] @ a[:2],
    "uniform": lambda: mdqr.random.uniform((1000, 1000), precision=mdqr.od),
    "normal": lambda: mdqr.random.normal((1000, 1000), precision=mdqr.od),
}
one = mdqr.ones((1, 1), precision=mdqr.od)
factor = mdqr.linalg.qr_factor(one)
fit = mdqr.linalg.UpdatableLstsq(one, [1])
mdqr.ones((2, 2), precision=mdqr.od) @ mdqr.ones((2, 2), precision=mdqr.od)  # starts the threads
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**25,) * 2)
for name, call in calls.items():
    try:
        call()
    except MemoryError as error:
        print(name, error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems limit no memory")
def test_every_call_says_what_to_reduce():
    run = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True)
    names = re.findall(r'^    "(\w+)": lambda', LITTLE_MEMORY, flags=re.M)
    lines = run.stdout.splitlines()
    assert len(lines) == len(names) > 10, run.stderr
    for name, line in zip(names, lines, strict=True):
        amount = r"\d+\.\d* [MG]iB"
        wanted = rf"{name} ({name}: )?no memory .*{amount}.*; take fewer values .* lower precision"
        assert re.fullmatch(wanted, line), line
