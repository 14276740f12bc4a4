"""Lines without a row: how much memory they take, and how many may be left out."""

import io

import numpy as np
import pytest

import mdqr
from mdqr._io import blocks


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_beside_a_wide_row_take_no_memory(end, monkeypatch):
    monkeypatch.setattr(blocks, "_CELLS", 1000)
    rows = [",".join(str(i + j) for i in range(400)) for j in range(3)]
    text = rows[0] + end * 5000 + rows[1] + end + rows[2] + end * 3000
    found = mdqr.loadtxt(io.BytesIO(text.encode()), precision="od")
    want = np.arange(400) + np.arange(3)[:, None]
    assert found.shape == (3, 400)
    assert (found.to_numpy() == want).all()
    # Cells of another form, and a row of another width, are told by their lines.
    other = text.replace(",7,", ",1.0e-400,", 1)
    assert mdqr.loadtxt(io.BytesIO(other.encode()), precision="od")[0, 7] == 0
    with pytest.raises(ValueError, match="line 5001"):
        mdqr.loadtxt(io.BytesIO(text.replace("\n1,2,", "\n1,2,2,", 1).encode()), precision="od")


def test_a_wide_row_and_a_million_blank_lines():
    text = b",".join(b"1" for _ in range(4000)) + b"\n" * 1_000_000
    assert mdqr.loadtxt(io.BytesIO(text), precision="od").shape == (1, 4000)


@pytest.mark.parametrize("source", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_more_lines_are_left_out_than_there_are(source):
    with pytest.raises(ValueError, match=r"no rows|no numbers|empty|no line"):
        mdqr.loadtxt(source("1,2\n3,4\n"), precision="dd", skiprows=10**30)
