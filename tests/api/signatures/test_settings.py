"""`mdqr.config`: what is set can be read, and put back."""

from __future__ import annotations

import inspect
import itertools

import pytest

import mdqr
from mdqr import config
from mdqr._backend import workspace


@pytest.fixture(autouse=True)
def settings():
    threads, bound = config.get_num_threads(), config.get_workspace()
    yield
    config.set_num_threads(threads)
    config.set_workspace(bound)


def test_threads_are_read_and_put_back():
    config.set_num_threads(2)
    with config.num_threads(1):
        assert config.get_num_threads() == 1
        with config.num_threads(3):
            assert config.get_num_threads() == 3
        assert config.get_num_threads() == 1
    assert config.get_num_threads() == 2


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_threads_are_put_back_in_any_order(order):
    """Statements of several threads do not end in the order in which they began."""
    config.set_num_threads(2)
    entered = [config.num_threads(n) for n in (3, 1, 4)]
    for each in entered:
        each.__enter__()
    left = [3, 1, 4]
    for i in order:
        entered[i].__exit__(None, None, None)
        left.remove((3, 1, 4)[i])
        assert config.get_num_threads() == (left[-1] if left else 2)


def test_threads_are_put_back_after_an_error():
    config.set_num_threads(2)
    with pytest.raises(KeyError), config.num_threads(1):
        raise KeyError
    assert config.get_num_threads() == 2
    with pytest.raises(ValueError, match="from 1 to 1024; got 0"), config.num_threads(0):
        pass
    assert config.get_num_threads() == 2


def test_a_workspace_is_read_and_reset():
    config.set_workspace(None)
    assert config.get_workspace() is None
    assert workspace.bound(7) == 7
    config.set_workspace(2**21)
    assert config.get_workspace() == 2**21
    assert workspace.bound(7) == 2**21
    with pytest.raises(ValueError, match="at least"):
        config.set_workspace(5)
    assert config.get_workspace() == 2**21
    config.set_workspace(None)
    assert config.get_workspace() is None


def test_show_returns_what_it_prints(capsys):
    found = config.show("dicts")
    assert capsys.readouterr().out == ""
    assert found["mdqr"] == mdqr.__version__
    assert config.show() is None
    assert capsys.readouterr().out == "".join(f"{k:<12} {v}\n" for k, v in found.items())
    with pytest.raises(ValueError, match='"stdout" or "dicts"; got \'json\''):
        config.show(mode="json")


@pytest.mark.parametrize("name", ["set_num_threads", "num_threads", "set_workspace"])
def test_a_number_is_positional(name):
    (parameter,) = inspect.signature(getattr(config, name)).parameters.values()
    assert parameter.kind is parameter.POSITIONAL_ONLY
