"""Comments that a file begins with, separators of thousands, fields of fixed widths."""

from __future__ import annotations

import io

import pytest
from array_cases import same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr


def read(text, **options):
    options.setdefault("precision", "qd")
    return mdqr.loadtxt(io.StringIO(text), **options)


def exact(rows):
    return mdqr.array(rows, precision="qd")


@pytest.mark.parametrize("mark", "#%!")
def test_comments_before_the_first_row_show_what_begins_one(mark):
    text = f"\n {mark} a,b,c\n{mark}\n1,2 {mark} three\n{mark} 5,6\n3,4\n"
    assert same_bits(read(text), exact([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match=rf"line 1, column 2.*a comment.*comments='{mark}'"):
        read(f"1,2 {mark}\n3,4\n")
    with pytest.raises(ValueError, match=f"empty except for comments that begin with '{mark}'"):
        read(f"{mark}1,2\n{mark}3,4\n")
    with pytest.raises(ValueError, match=f"cannot read '{mark}1'"):
        read(f"{mark}1,2\n3,4\n", comments=[])


@pytest.mark.parametrize("text", ["#N/A,1\n2,3\n", "#DIV/0!,1\n2,3\n", "#NAME?,1\n2,3\n"])
def test_errors_of_spreadsheets_are_no_comments(text):
    with pytest.raises(ValueError, match="line 1, column 1: cannot read '#"):
        read(text)
    assert read(text, missing=text.split(",")[0]).shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# x,y\n1,2\n", "xy"),
        ("#x,y\n-,2\n", "xy"),
        ("# two,words\nx,y\n1,2\n", "xy"),
        ("# by hand\n7,8\n1,2\n", "78"),
        ("# by, hand\n#x, y\n1,2\n", "xy"),
        ('"#x",y\n1,2\n', ["#x", "y"]),
    ],
)
def test_a_comment_that_names_the_columns(text, names):
    a = read(text, header=True, usecols=list(names)[::-1], missing="-")
    assert a.shape == (1, 2)
    assert float(a[0, 0]) == 2


def test_names_that_look_like_comments_read_back():
    file = io.StringIO()
    mdqr.savetxt(file, exact([[1, 2]]), names=["#x", "y"])
    assert same_bits(read(file.getvalue(), header=True, usecols=["y", "#x"]), exact([[2, 1]]))


@given(
    st.lists(st.tuples(st.integers(-(10**30), 10**30), st.integers(0, 10**9)), min_size=1),
    st.sampled_from([(",", "."), (".", ","), ("'", "."), ("_", "."), ("\u202f", ","), (" ", ",")]),
)
def test_separators_of_thousands(numbers, marks):
    mark, point = marks
    cells = [(f"{a:,}".replace(",", mark) + f"{point}{b}", f"{a}.{b}") for a, b in numbers]
    text = "".join(f"{cell};{i}\n" for i, (cell, _) in enumerate(cells))
    found = read(text, delimiter=";", decimal=point, thousands=mark)
    assert same_bits(found, exact([[plain, i] for i, (_, plain) in enumerate(cells)]))


@pytest.mark.parametrize(
    "cell", ["1,5", "1,23,456", ",123", "1,234,", "1234,567", "1.5,000", "1,,000"]
)
def test_separators_that_are_not_between_thousands(cell):
    """A decimal comma would be dropped."""
    with pytest.raises(
        ValueError, match=f"cannot read '{cell}'.*',' is for groups of three digits"
    ):
        read(f"{cell};1\n", delimiter=";", thousands=",")


@pytest.mark.parametrize("mark", [";", ".", "5", "e", "+", "", "ab", '"', "\n"])
def test_characters_that_separate_no_thousands(mark):
    with pytest.raises(ValueError, match="thousands"):
        read("1\n", delimiter=";", thousands=mark)


def test_a_separator_of_thousands_is_suggested():
    for cell, hint in {
        "1'000": '"\'"$',
        "1.000.000": "'.'$",
        "1,000": "',', or decimal=','",
    }.items():
        with pytest.raises(ValueError, match=f"thousands\\? give thousands={hint}"):
            read(f"0;1\n{cell};1\n", delimiter=";")


@given(st.lists(st.tuples(st.integers(-99, 999), st.integers(0, 10**6)), min_size=1))
def test_fields_of_fixed_widths(numbers):
    text = "".join(f"{a:3d}{b / 1000:9.3f}\n" for a, b in numbers)
    wanted = exact([[a, f"{b / 1000:.3f}"] for a, b in numbers])
    assert same_bits(read(text, widths=[3, 9]), wanted)
    assert same_bits(read(f"%\n{text}", widths=(3, 9), usecols=1), wanted[:, 1])


def test_text_in_fields_of_fixed_widths():
    text = '# 1 2\n   x"é"  z\n 1.5ab"   \n\n 2.5 ,;  3\n'
    options = {"widths": [4, 3, 3], "header": True, "missing": ""}
    a = read(text, usecols=["x", "z"], **options).to_numpy()
    assert a[:, 0].tolist() == [1.5, 2.5]
    assert a[1, 1] == 3
    for encoding in ("utf-8", "latin-1"):
        data = io.BytesIO(text.encode(encoding))
        b = mdqr.loadtxt(data, precision="dd", usecols="x", encoding=encoding, **options)
        assert b.to_numpy().tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="line 2: the line has text after its 4 characters"):
        read("1\n    2\n", widths=[4])
    with pytest.raises(ValueError, match="line 1: the line has a control character"):
        read("1\x1f2\n", widths=[4])
    for widths in ([], [0], [2, -1]):
        with pytest.raises(ValueError, match="widths must"):
            read("1\n", widths=widths)
