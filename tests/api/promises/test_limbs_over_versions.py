"""Elementwise operations keep their limbs from version to version: a digest of 1,000 results each.

``python tests/api/promises/test_limbs_over_versions.py`` prints the digests. A new one needs a
line in the changelog, under Unreleased, that names the operation.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS

COUNT = 1000
OPERATIONS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "sqrt": lambda x, y: mdqr.sqrt(abs(x)),
    "complex multiply": lambda x, y: (x + 1j * y) * (y - 1j * x),
    "exp": lambda x, y: mdqr.exp(x),
    "log": lambda x, y: mdqr.log(abs(y)),
    "sin": lambda x, y: mdqr.sin(x),
    "arctan": lambda x, y: mdqr.arctan(y),
}
# Precision d is left to NumPy, whose functions differ between machines.
DIGESTS = {
    "dd": {
        "add": "4db42b50e0a8df0d",
        "subtract": "b7a5f86d9455f28a",
        "multiply": "f53e056d952bcd57",
        "divide": "2fb943f1b7dab886",
        "sqrt": "6f098c237b4e4b42",
        "complex multiply": "0fca1245baeff724",
        "exp": "25edf20ef6a4a797",
        "log": "d0dae41b56a8d29a",
        "sin": "81a3b05ff31cb217",
        "arctan": "7a977844c5e24026",
    },
    "qd": {
        "add": "8216eb4226452995",
        "subtract": "0c7acd62d07bf697",
        "multiply": "d99fc8335e2d03ad",
        "divide": "18f6aeb407e3d162",
        "sqrt": "226af6d4b13fe36e",
        "complex multiply": "e34d5fbaa409f1a0",
        "exp": "f94b631465012e5d",
        "log": "f48b47e39bf730e1",
        "sin": "2a910156de023c0c",
        "arctan": "4c3741ec33cef10a",
    },
    "od": {
        "add": "326e91cf9abc1de9",
        "subtract": "8afe512195d4dd98",
        "multiply": "7468288936a700ca",
        "divide": "309f99c0c09f1f30",
        "sqrt": "862316b3554d1285",
        "complex multiply": "738cb0d7f7c57c7b",
        "exp": "4c2ca4d89cd3238c",
        "log": "bc81427dca788b37",
        "sin": "eb56031c0782e2e6",
        "arctan": "f133d8cf668e8ee3",
    },
    "hd": {
        "add": "4886a52c3eff3e5b",
        "subtract": "980948c725f8f8b6",
        "multiply": "70b11ec395881766",
        "divide": "cca5eed8756545f9",
        "sqrt": "c60d80fa5b3308dc",
        "complex multiply": "5efc442c21bfcb09",
    },
}
CASES = [(p, name) for p in PRECISIONS[1:] for name in DIGESTS[p.name]]


def operands(precision):
    """Numbers with full limbs, of sizes from 2^-8 to 2^8: raw bits, the same on any NumPy."""
    raw = np.random.PCG64(20).random_raw(2 * (precision.limbs + 1) * COUNT)
    raw = raw.reshape(2, precision.limbs + 1, COUNT)
    limbs = ((raw[:, 1:] >> 11).astype(np.float64) * 2.0**-53) - 0.5
    limbs *= 2.0 ** (-53.0 * np.arange(precision.limbs))[:, None]
    limbs = np.ldexp(limbs, (raw[:, :1] % 17).astype(int) - 8)
    return (mdqr.from_limbs(np.ascontiguousarray(part)) for part in limbs)


def digest(name, precision):
    """Return 64 bits of a hash of the limbs, in one byte order."""
    found = OPERATIONS[name](*operands(precision))
    held = np.ascontiguousarray(found._block, dtype="<f8")
    return hashlib.sha256(held.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("precision", "name"), CASES, ids=str)
def test_limbs_are_those_of_the_last_version(precision, name):
    assert digest(name, precision) == DIGESTS[precision.name][name]


if __name__ == "__main__":
    for precision in PRECISIONS[1:]:
        print(f'    "{precision.name}": {{')
        for name in DIGESTS[precision.name]:
            print(f'        "{name}": "{digest(name, precision)}",')
        print("    },")
