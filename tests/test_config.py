"""Threads and the report on the installation."""

import re

import numpy as np
import pytest

import mdqr
from mdqr._backend.host import backend


@pytest.fixture
def threads():
    """Put the number of threads back."""
    extension = backend.extension()
    before = extension.num_threads()
    yield extension.num_threads
    extension.set_num_threads(before)


def test_set_num_threads(threads):
    for n in (1, 2, np.int64(3)):
        mdqr.config.set_num_threads(n)
        assert threads() == n


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (0, ValueError),
        (-1, ValueError),
        (1025, ValueError),
        (2**31, ValueError),
        (10**400, ValueError),
        (1.5, TypeError),
        (True, TypeError),
    ],
)
def test_wrong_numbers_of_threads(wrong, error, threads):
    before = threads()
    with pytest.raises(error):
        mdqr.config.set_num_threads(wrong)
    assert threads() == before


def test_show(capsys, monkeypatch, threads):
    monkeypatch.setenv("MDQR_NUM_THREADS", "2")
    mdqr.config.set_num_threads(1)
    mdqr.config.show()
    report = capsys.readouterr().out
    assert re.search(rf"^mdqr +{re.escape(mdqr.__version__)}$", report, re.MULTILINE)
    assert re.search(
        rf"^cpu +level {backend.extension().level()}, 1 threads$", report, re.MULTILINE
    )
    assert "MDQR_NUM_THREADS=2" in report


def test_show_without_the_extension(capsys, monkeypatch):
    def missing():
        raise ImportError("run `pip install .`")

    monkeypatch.setattr(backend, "extension", missing)
    mdqr.config.show()
    assert "no arithmetic: run `pip install .`" in capsys.readouterr().out
    with pytest.raises(ImportError, match="pip install"):
        mdqr.config.set_num_threads(1)
