"""Touchstone files: orders, units and formats; and Matrix Market files that are written."""

from __future__ import annotations

import gzip
import io
import pickle

import mpmath
import numpy as np
import pytest
import scipy.io
from array_cases import exact, full_width, same_bits

import mdqr


def read(text, ports, precision="qd"):
    return mdqr.read_touchstone(io.StringIO(text), ports=ports, precision=precision)


def test_two_ports_have_the_order_of_version_1(tmp_path):
    text = "! by hand\n# kHz Y RI R 0.1\n1 11 0 21 0.1 12 0 22 0 ! first\n\n2 1 1 1 1 1 1 1 1\n"
    text += "# MHz S RI R 50\n1 0.5 0.1 -90 0.2\n1.5 0.6 0.1 -90 0.2\n"  # noise parameters
    path = tmp_path / "a.S2P.gz"
    path.write_bytes(gzip.compress(text.encode()))
    found = mdqr.read_touchstone(path, precision="qd")
    assert found.kind == "Y"
    assert found.frequencies.to_numpy().tolist() == [1e3, 2e3]
    assert found.parameters.shape == (2, 2, 2)
    np.testing.assert_array_equal(found.parameters[0].to_numpy(), [[11, 12], [21 + 0.1j, 22]])
    assert bool(found.parameters[0, 1, 0].imag == mdqr.qd("0.1"))
    assert bool(found.resistance == mdqr.qd("0.1"))
    restored = pickle.loads(pickle.dumps(found))
    assert same_bits(restored.parameters, found.parameters)


def test_three_ports_wrap_their_lines():
    text = "#\n1 1 0 2 0 3 0\n4 0 5 0 6 0\n7 0 8 0 9 0\n"
    found = read(text, 3)
    np.testing.assert_array_equal(found.parameters[0].to_numpy(), np.arange(1.0, 10).reshape(3, 3))
    assert (found.kind, float(found.frequencies[0]), float(found.resistance)) == ("S", 1e9, 50)
    assert read("# GHz S MA R 50\n", 4).parameters.shape == (0, 4, 4)


@pytest.mark.parametrize("form", ["MA", "DB"])
def test_polar_numbers(form, multiple, rng):
    sizes, angles = rng.uniform(-40, 2, 30), rng.uniform(-360, 360, 30)
    sizes = abs(sizes) if form == "MA" else sizes
    lines = [
        f"{i} {s!r} {a!r}"
        for i, (s, a) in enumerate(zip(sizes.tolist(), angles.tolist(), strict=True))
    ]
    found = read(f"# Hz S {form}\n" + "\n".join(lines), 1, multiple).parameters[:, 0, 0]
    ratios = []
    with mpmath.workprec(1200):
        for x, y, size, angle in zip(
            exact(found.real), exact(found.imag), sizes, angles, strict=True
        ):
            size, angle = (mpmath.mpf(repr(v)) for v in (float(size), float(angle)))
            length = size if form == "MA" else mpmath.mpf(10) ** (size / 20)
            wanted = length * mpmath.expjpi(angle / 180)
            got = mpmath.mpc(*(mpmath.mpf(v.numerator) / v.denominator for v in (x, y)))
            bound = (16 + abs(angle) / 50 + (abs(size) / 8 if form == "DB" else 0)) * multiple.eps
            ratios.append(abs(got - wanted) / (bound * length))
    assert max(ratios) <= 1
    assert max(ratios) >= 2.0**-10 or multiple >= mdqr.od


@pytest.mark.parametrize(
    ("text", "ports", "message"),
    [
        ("1 2 3\n1 2\n", 1, r"<text>, line 2: wanted 3 numbers; got 2"),
        ("1 2 3\n1 x 3\n", 1, r"<text>, line 2: .*'x'"),
        ("# Hz S RX\n", 1, r"line 1: 'rx' is no word"),
        ("[Version] 2.0\n", 1, "version 2"),
        ("1 2 3 4\n", 3, "19 numbers"),
        ("", 0, "one port"),
        ("", None, "number of ports; give ports="),
    ],
)
def test_damaged_files(text, ports, message):
    with pytest.raises(ValueError, match=message):
        read(text, ports)


@pytest.mark.parametrize("sparse", [False, True])
def test_matrices_that_are_written(sparse, precision, dtype, rng, tmp_path):
    a = full_width(rng, precision, (3, 4), dtype)
    a[1, 2] = 0
    path = tmp_path / "a.mtx"
    mdqr.mmwrite(path, a, comment="two\nlines", sparse=sparse)
    assert (
        same_bits(mdqr.mmread(path, precision=precision), a)
        or (mdqr.mmread(path, precision=precision) == a).all()
    )
    theirs = scipy.io.mmread(path)
    np.testing.assert_array_equal(theirs.toarray() if sparse else theirs, a.to_numpy())
    file = io.StringIO()
    mdqr.mmwrite(file, a[:, 0], digits=3)
    assert file.getvalue().splitlines()[1] == "3 1"


def test_what_is_no_matrix_is_not_written(tmp_path):
    for wrong, error in (
        (np.eye(2), TypeError),
        (mdqr.ones((2, 2, 2), precision="qd"), ValueError),
    ):
        with pytest.raises(error, match="mmwrite"):
            mdqr.mmwrite(tmp_path / "a.mtx", wrong)
    assert not list(tmp_path.iterdir())
