"""Marks of what is experimental, deprecations, and the page that promises both."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest
from each_case import each_case

import mdqr
from mdqr import _stability, approx, distributed, optimize, quadrature, series, tensorcore
from mdqr._stability import NOTE, Deprecation, deprecated, experimental, renamed_keyword

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "stability.md"
MATRIX_FUNCTIONS = (
    *("expm", "cosm", "sinm", "coshm", "sinhm", "sqrtm", "logm", "signm", "solve_sylvester"),
    *("solve_continuous_lyapunov", "solve_discrete_lyapunov", "tanm", "tanhm"),
    *("fractional_matrix_power", "solve_continuous_are", "solve_discrete_are", "expm_frechet"),
    *("expm_cond", "hessenberg", "rq", "eigh_tridiagonal", "solve_toeplitz", "solve_banded"),
    *("solveh_banded", "funm", "qz", "ordqz", "ldl"),
)
EXPERIMENTAL = {
    **{f"tensorcore.{name}": getattr(tensorcore, name) for name in tensorcore.__all__},
    **{f"series.{name}": getattr(series, name) for name in ("track", "Path", "Piece")},
    **{
        f"series.{name}": getattr(series, name)
        for name in ("solve", "Solutions", "SolutionSweep", "SolveInfo")
    },
    **{f"series.{name}": getattr(series, name) for name in ("Solution", "mixed_volume")},
    **{f"distributed.{name}": getattr(distributed, name) for name in distributed.__all__},
    **{f"optimize.{name}": getattr(optimize, name) for name in optimize.__all__},
    **{f"quadrature.{name}": getattr(quadrature, name) for name in quadrature.__all__},
    **{f"approx.{name}": getattr(approx, name) for name in approx.__all__},
    **{name: getattr(mdqr, name) for name in ("mmread", "mmwrite", "read_touchstone")},
    "TouchstoneData": mdqr.TouchstoneData,
    **{f"sparse.{name}": getattr(mdqr.sparse, name) for name in mdqr.sparse.__all__},
    **{f"pandas.{name}": getattr(mdqr.pandas, name) for name in mdqr.pandas.__all__},
    **{f"fft.{name}": getattr(mdqr.fft, name) for name in mdqr.fft.__all__},
    **{f"linalg.{name}": getattr(mdqr.linalg, name) for name in MATRIX_FUNCTIONS},
    **{f"config.{n}": getattr(mdqr.config, n) for n in ("get_workspace", "set_workspace")},
}


@pytest.fixture(autouse=True)
def none_is_noted(monkeypatch):
    monkeypatch.setattr(_stability, "DEPRECATIONS", [])


@each_case("name", EXPERIMENTAL)
def test_docstrings_say_what_is_experimental(name):
    text = EXPERIMENTAL[name].__doc__
    assert text.split("\n\n")[1].strip() == NOTE
    assert inspect.getdoc(EXPERIMENTAL[name]) == text.rstrip()


def test_nothing_else_is_marked():
    marked = {
        f"{module.__name__}.{name}"
        for module in (
            *(mdqr, mdqr.linalg, mdqr.testing, mdqr.random, mdqr.plot, mdqr.config),
            *(
                approx,
                distributed,
                mdqr.fft,
                optimize,
                quadrature,
                series,
                mdqr.sparse,
                mdqr.pandas,
            ),
        )
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name))
        and NOTE in (getattr(module, name).__doc__ or "")
    }
    assert {name.removeprefix("mdqr.") for name in marked} == {
        name for name in EXPERIMENTAL if not name.startswith("tensorcore")
    }


def test_the_page_names_what_is_experimental():
    text = PAGE.read_text()
    section = text[text.index("## Experimental") :].partition("\n## ")[0]
    for name in (
        *("tensorcore", "approx", "optimize", "quadrature", "series.track", "array_api"),
        *(
            "devices=",
            "distributed",
            "config.set_workspace",
            "linalg.expm",
            "fft",
            "mmread",
            "sparse",
        ),
    ):
        assert f"mdqr.{name}" in section or f"`{name}" in section
    assert "Experimental" in mdqr.array_api.__doc__
    assert "Experimental" in mdqr.linalg.matmul.__doc__


def test_the_note_stands_after_the_first_paragraph():
    @experimental
    def one():
        """Return one."""

    @experimental
    def two():
        """Return two.

        Returns
        -------
        int
            2
        """

    assert one.__doc__ == f"Return one.\n\n{NOTE}\n"
    assert two.__doc__ == f"Return two.\n\n{NOTE}\n\nReturns\n-------\nint\n    2\n"
    one.__doc__ = None
    assert experimental(one).__doc__ is None


def test_a_deprecated_function_warns_where_it_is_called():
    @deprecated("mdqr.old", since="0.2", removed_in="0.3", use="use mdqr.new")
    def old(x):
        """Return x."""
        return x

    with pytest.warns(DeprecationWarning, match=r"mdqr\.old is deprecated since 0\.2") as caught:
        assert old(3) == 3
    assert caught[0].filename == __file__
    assert str(caught[0].message).endswith("and is removed in 0.3; use mdqr.new")
    assert "Deprecated since 0.2: use mdqr.new." in old.__doc__
    assert [each.what for each in _stability.DEPRECATIONS] == ["mdqr.old"]


def test_a_result_that_changes_warns_users_of_programs():
    @deprecated("f(x)", since="1.2", removed_in="1.4", use="give y", results_change=True)
    def f():
        return 1

    with pytest.warns(FutureWarning, match=r"changes its result in 1\.4; give y"):
        f()


def test_a_renamed_keyword():
    @renamed_keyword("check", "check_finite", since="0.2", removed_in="0.3")
    def f(a, *, check_finite=True):
        return a, check_finite

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(1, check_finite=False) == (1, False)
    with pytest.warns(DeprecationWarning, match="check= of f .*use check_finite="):
        assert f(1, check=False) == (1, False)
    with pytest.raises(TypeError, match="check= is the old name of check_finite="):
        f(1, check=True, check_finite=True)
    assert list(inspect.signature(f).parameters) == ["a", "check_finite"]


@pytest.mark.parametrize(
    ("since", "removed_in", "is_enough"),
    [
        *[("0.2", "0.3", True), ("0.2", "0.2", False), ("0.9.1", "1.0", True)],
        *[("1.2", "1.3", False), ("1.2", "1.4", True), ("1.2", "2.0", True)],
    ],
)
def test_names_stay_as_long_as_the_page_promises(since, removed_in, is_enough):
    given = Deprecation("x", since, removed_in, "use y")
    if is_enough:
        given.check()
    else:
        with pytest.raises(ValueError, match=r"it stays for \d minor releases"):
            given.check()


def test_what_is_due_is_removed(monkeypatch):
    monkeypatch.undo()
    now = _stability._parts(mdqr.__version__)
    for each in _stability.DEPRECATIONS:
        assert now < _stability._parts(each.removed_in), each.what
