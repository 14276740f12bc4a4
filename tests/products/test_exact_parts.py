"""Parts of the operands of an exact product under a bound of memory."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdqr.linalg._products.exact import parts

LEAST = parts._LEAST_LINES


def widths(found):
    return [part.stop - part.start for part in found]


LENGTHS = st.integers(1, 700) | st.integers(1, 40_000)


@given(m=LENGTHS, n=LENGTHS, lines=st.integers(0, 600) | st.integers(0, 50_000))
@example(m=149, n=75, lines=170)
@example(m=300, n=190, lines=255)
def test_parts_cover_all_and_fit(m, n, lines):
    """Of about one size."""
    for found, count in zip(parts._cuts(m, n, lines), (m, n), strict=True):
        assert found[0].start == 0
        assert found[-1].stop == count
        assert all(x.stop == y.start for x, y in pairwise(found))
        assert max(widths(found)) - min(widths(found)) <= LEAST * len(found)
    rows, columns = (max(map(parts._rounded_up, widths(x))) for x in parts._cuts(m, n, lines))
    assert rows + columns <= max(lines, 2 * LEAST)


@pytest.mark.parametrize(
    ("m", "n", "lines", "counts"),
    [
        (8192, 8192, 20_000, (1, 1)),
        (8192, 8192, 11_700, (1, 3)),  # not 2 and 2, whose rows are formed twice
        (4000, 8192, 11_700, (1, 2)),
        (8192, 4000, 11_700, (1, 2)),
        (8192, 100_000, 11_700, (1, 29)),
        (100_000, 8192, 11_700, (29, 1)),
        (9000, 9000, 11_700, (2, 2)),  # a whole one would leave too little
        (70, 70, 0, (2, 2)),
    ],
)
def test_an_operand_stays_whole_where_that_leaves_enough(m, n, lines, counts):
    assert tuple(map(len, parts._cuts(m, n, lines))) == counts
