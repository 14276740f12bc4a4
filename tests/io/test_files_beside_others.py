"""Files with more than numbers: streams that stay open, exponents of Fortran as comment marks."""

from __future__ import annotations

import io

import numpy as np
import pytest

import mdqr


def test_a_stream_stays_open_where_reading_stops():
    stream = io.BytesIO(b"1,2\n" * 100_000)
    found = mdqr.loadtxt(stream, precision="dd", encoding="latin-1", max_rows=2)
    assert found.shape == (2, 2)
    assert not stream.closed


@pytest.mark.parametrize("quoted", [False, True])
def test_missing_values_with_the_exponents_of_fortran(quoted):
    text = '1D5,"-9.99D2"\n3,4\n' if quoted else "1D5,-9.99D2\n3,4\n"
    found = mdqr.loadtxt(io.StringIO(text), precision="dd", missing="-9.99D2").to_numpy()
    np.testing.assert_array_equal(found, [[1e5, np.nan], [3, 4]])


@pytest.mark.parametrize("text", ["12d3\n12d3\n", '12d3\n"12"d3\n'])
def test_a_comment_may_begin_with_d(text):
    found = mdqr.loadtxt(io.BytesIO(text.encode()), precision="dd", comments="d")
    assert found.to_numpy().ravel().tolist() == [12.0, 12.0]


def test_long_digits_beside_a_d_are_read_at_once():
    """The search for exponents took time with the square of the digits."""
    found = mdqr.loadtxt(
        io.BytesIO((("1" * 60_000 + ",d\n") * 4).encode()), precision="dd", usecols=[0]
    )
    assert found.shape == (4, 1)
