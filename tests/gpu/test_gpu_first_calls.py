"""Kernels of CuPy's own are compiled ahead by the CuPy that is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from gpu_presence import why_absent

from mdqr._backend.cuda.runtime.cupy_kernels import compilations

# One skip a file, as gpu_cases.py has it for the others.
if why_absent() is not None:
    pytest.skip(str(why_absent()), allow_module_level=True)

pytestmark = pytest.mark.gpu

_PROGRAM = """
import json, cupy, mdqr
from mdqr._backend.cuda.backend import backend
from mdqr._backend.cuda.runtime import examples
from mdqr._limbs.planes import Kind
compilations = backend().kernels.cupy_compilations
texts = examples.TABLE.of("lstsq", Kind(2, False))
futures = compilations.expect(texts, 0)
x = cupy.arange(12.0).reshape(3, 4)
sums = (x[:, ::2] + 0.5).sum(axis=0).tolist()
for future in futures:
    future.result()
print(json.dumps([len(texts), len(futures), compilations.compiled, sums]))
"""


def test_the_compiler_of_cupy_is_as_expected(cupy):
    program = compilations(cupy)
    assert program is not None
    made = program("int x;", "x.cu", method="cubin")
    assert (made.src, made.method, made.name_expressions) == ("int x;", "cubin", None)


def test_kernels_of_cupy_are_compiled_ahead_and_kept(tmp_path):
    environment = os.environ | {"CUPY_CACHE_DIR": str(tmp_path)}
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, check=True
        )
        found.append(json.loads(done.stdout))
    (texts, started, compiled, sums), again = found
    assert started == texts
    # Some may share a kernel with others, or the program's own.
    assert 0.8 * texts <= compiled <= texts + 1
    assert again == [texts, 0, 0, sums]
    assert sums == [13.5, 19.5]
    kept = [file for file in tmp_path.iterdir() if file.suffix == ".cubin"]
    assert len(kept) >= compiled
