"""A test of many cases fails where one of them does, and names it."""

from __future__ import annotations

import inspect

import pytest
from each_case import each_case


@each_case("x, y", [(1, 1), (2, 3), (3, 3), (4, 5)])
@each_case("z", [0, 1])
def fails(x, y, z, fixture):
    assert x == y
    assert z < fixture


def test_all_failures_are_shown():
    assert list(inspect.signature(fails).parameters) == ["fixture"]
    with pytest.raises(ExceptionGroup) as caught:
        fails(fixture=2)
    inner = [error for group in caught.value.exceptions for error in group.exceptions]
    assert [error.__notes__ for error in inner[:1]] == [["with {'z': 0}"]]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["with {'x': 2, 'y': 3}"],
        ["with {'x': 4, 'y': 5}"],
    ]


def test_one_failure_is_raised_as_it_is():
    @each_case("x", [1, 2])
    def one(x):
        assert x == 1

    with pytest.raises(AssertionError) as caught:
        one()
    assert caught.value.__notes__ == ["with {'x': 2}"]


def test_cases_that_skip_are_failures():
    """A skip would leave out the cases behind it."""

    @each_case("n", [1, 2])
    def test(n):
        pytest.skip("not here")

    with pytest.raises(ExceptionGroup):
        test()
    with pytest.raises(AssertionError):
        each_case("n", [])
