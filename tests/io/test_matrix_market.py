"""Files of Matrix Market beside SciPy, and what is refused of them."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import mdqr


def read(text, precision="qd"):
    return mdqr.mmread(io.StringIO(text), precision=precision)


FORMATS = [
    (sparse, field, symmetry)
    for sparse in (False, True)
    for field in ("real", "complex", "integer", "pattern")
    for symmetry in ("general", "symmetric", "skew-symmetric", "hermitian")
    if field != "pattern" or (sparse and symmetry != "skew-symmetric")
]


@pytest.mark.parametrize(("sparse", "field", "symmetry"), FORMATS)
def test_files_that_scipy_writes(sparse, field, symmetry, tmp_path):
    rng = np.random.default_rng(1)
    a = rng.integers(-9, 9, (6, 6)) * (rng.random((6, 6)) < 0.5)
    a = a if field == "integer" else a * 0.1 if field == "real" else a * (0.5 + 1j)
    if field == "pattern":
        a = (a != 0).astype(float)
    if symmetry != "general":
        t = a.conj().T if symmetry == "hermitian" else a.T
        a = (
            a - t
            if symmetry == "skew-symmetric"
            else np.maximum(a, t)
            if field == "pattern"
            else a + t
        )
    path = tmp_path / "a.mtx"
    kind = scipy.sparse.coo_array(a) if sparse else a
    scipy.io.mmwrite(path, kind, field=field, symmetry=symmetry, precision=17)
    packed = path.with_suffix(".mtx.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    found = mdqr.mmread(packed, precision="dd")
    assert found.is_complex == (field == "complex")
    wanted = scipy.io.mmread(path)
    np.testing.assert_array_equal(found.to_numpy(), wanted.toarray() if sparse else wanted)


def test_numbers_are_rounded_once():
    a = read("%%MatrixMarket matrix array real general\n% c\n\n2 1\n0.1\n1.D-3\n", "od")
    assert mdqr.array_equal(a, mdqr.array([["0.1"], ["1e-3"]], precision="od"))
    assert read("%%MatrixMarket matrix array real general\n0 3\n").shape == (0, 3)
    assert read("%%MatrixMarket matrix coordinate real general\n2 3 0\n").shape == (2, 3)


COO = "%%MatrixMarket matrix coordinate real "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: a Matrix Market file begins with"),
        ("%%MatrixMarket matrix array pattern general\n1 1\n", "no such format"),
        ("%%MatrixMarket vector array real general\n1 1\n", "begins with"),
        (COO + "general\n", "ends before the line of sizes"),
        (COO + "general\n2 2\n", "line 2: wanted the numbers of rows, columns and entries"),
        (COO + "general\n99999999 99999999 1\n1 1 1\n", "more than 1 GiB with its zeros"),
        (COO + "general\n2 2 9999999999\n1 1 1\n", "should have 9999999999 entries.* has 1 of 3"),
        (COO + "general\n2 2 1\n3 1 1\n", "outside of the matrix"),
        (COO + "general\n2 2 1\n1 0 1\n", "outside of the matrix"),
        (COO + "general\n2 2 1\n1.5 1 1\n", "outside of the matrix"),
        (COO + "general\n2 2 1\nnan 1 1\n", "outside of the matrix"),
        (COO + "general\n2 2 2\n1 1 1\n1 1 1\n", "given twice"),
        (COO + "symmetric\n2 3 0\n", "must be square"),
        (COO + "symmetric\n2 2 1\n1 2 1\n", "above the diagonal"),
        (COO + "skew-symmetric\n2 2 1\n1 1 1\n", "above the diagonal"),
        (COO + "general\n2 2 1\n1 1 x\n", r"line 3, column 3: cannot read 'x'"),
        (COO + "general\n2 2 1\n1 1 2j\n", "complex"),
        (COO + "general\n2 2 1\n1 1\n", "has 1 of 2"),
    ],
)
def test_damaged_files_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_a_dense_matrix_that_its_file_does_not_hold():
    with pytest.raises(ValueError, match="more than 134217728 entries"):
        read("%%MatrixMarket matrix array real general\n99999999 9999999\n1\n")
