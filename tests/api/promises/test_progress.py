"""``progress=``: what long calls report, the bar, and errors of the callable."""

from __future__ import annotations

import inspect
import io
import sys
from functools import cache

import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import _progress, linalg, series

pytestmark = pytest.mark.filterwarnings("ignore")

A = mdqr.random.normal((12, 12), precision="qd", rng=1)
B = A @ A.T
JORDAN = mdqr.array(np.eye(20) + np.eye(20, k=1), precision="qd")
GRADED = mdqr.random.normal((5, 20), precision="qd", rng=2) * 1e-30 ** np.arange(20.0)
SYSTEM = series.System.from_strings(["x^2 - 1 - 3*t"], ["x"], "t")

# Calls, and the stages that they report in that order.
CALLS = {
    "matmul": (lambda p: linalg.matmul(A, A, progress=p), "matmul"),
    "qr": (lambda p: linalg.qr(A, progress=p), "factor"),
    "qr_factor": (lambda p: linalg.qr_factor(A, progress=p), "factor"),
    "lu_factor": (lambda p: linalg.lu_factor(A, progress=p), "factor"),
    "solve_triangular": (lambda p: linalg.solve_triangular(A, A, progress=p), "substitute"),
    "solve": (lambda p: linalg.solve(B, A, progress=p), "factor condition refine"),
    "inv": (lambda p: linalg.inv(A, progress=p), "factor condition refine"),
    "lstsq": (lambda p: linalg.lstsq(A[:, :4], A, progress=p), "factor condition refine"),
    "lowrank": (lambda p: linalg.lowrank(A, progress=p), "factor rotate"),
    "svd": (lambda p: linalg.svd(A, progress=p), "rotate"),
    "svd, values alone": (lambda p: linalg.svd(A, compute_uv=False, progress=p), "rotate"),
    "svd, graded": (lambda p: linalg.svd(GRADED, progress=p), "factor rotate"),
    "svdvals": (lambda p: linalg.svdvals(A, progress=p), "rotate"),
    "svdvals, info": (lambda p: linalg.svdvals(A, return_info=True, progress=p), "rotate"),
    "pinv": (lambda p: linalg.pinv(A, progress=p), "factor rotate"),
    "pinv, rtol": (lambda p: linalg.pinv(A, rtol=0, progress=p), "rotate"),
    "null_space": (lambda p: linalg.null_space(A[:5], progress=p), "factor rotate"),
    "polar": (lambda p: linalg.polar(A, progress=p), "rotate"),
    "matrix_rank": (lambda p: linalg.matrix_rank(A, progress=p), "factor rotate"),
    "matrix_rank, rtol": (lambda p: linalg.matrix_rank(A, rtol=0, progress=p), "rotate"),
    "matrix_rank, tol": (lambda p: linalg.matrix_rank(A, 1e-9, progress=p), "rotate"),
    "cond": (lambda p: linalg.cond(A, progress=p), "rotate"),
    "cond, by an inverse": (lambda p: linalg.cond(A, 1, progress=p), "factor condition refine"),
    "eigh": (lambda p: linalg.eigh(B, progress=p), "rotate"),
    "eigh, b": (lambda p: linalg.eigh(A + A.T, b=B, progress=p), "rotate refine"),
    "eigvalsh": (lambda p: linalg.eigvalsh(B, progress=p), "rotate"),
    "eig": (lambda p: linalg.eig(A, progress=p), "refine certify"),
    "eig, b": (lambda p: linalg.eig(A, B, progress=p), "refine certify"),
    "eig, a Jordan block": (
        lambda p: linalg.eig(JORDAN, progress=p),
        "refine reduce iterate certify",
    ),
    "eigvals": (lambda p: linalg.eigvals(A, progress=p), "refine certify"),
    "schur": (lambda p: linalg.schur(A, progress=p), "reduce iterate"),
    "schur, complex": (lambda p: linalg.schur(A, "complex", progress=p), "reduce iterate"),
    "det": (lambda p: linalg.det(A, progress=p), "factor"),
    "det, small": (lambda p: linalg.det(A[:3, :3], progress=p), "eliminate"),
    "det, info": (lambda p: linalg.det(A, return_info=True, progress=p), "factor"),
    "slogdet": (lambda p: linalg.slogdet(A, progress=p), "factor"),
    "roots": (lambda p: linalg.roots(A[0], progress=p), "roots"),
    "roots, multiple": (lambda p: linalg.roots([1, -3, 3, -1], progress=p), "roots"),
    "newton_series": (
        lambda p: series.newton_series(SYSTEM, [1], degree=4, progress=p),
        "orders",
    ),
    "newton_series, verify": (
        lambda p: series.newton_series(SYSTEM, [1], degree=4, verify=True, progress=p),
        "orders",
    ),
    "track": (lambda p: series.track(SYSTEM, [1.0], progress=p), "paths"),
    "track, several": (lambda p: series.track(SYSTEM, [[1.0], [-1]], progress=p), "paths"),
    "track, no way": (lambda p: series.track(SYSTEM, [1.0], t_end=0.0, progress=p), "paths"),
}


def arrays(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", CALLS)
def test_steps_are_reported_to_the_end(name):
    call, stages = CALLS[name]
    seen = []
    call(lambda *step: seen.append(step))
    assert " ".join(dict.fromkeys(stage for stage, _, _ in seen)) == stages
    assert all(0 <= done <= (done if total is None else total) for _, done, total in seen)
    assert seen[-1][1] == seen[-1][2] > 0


def test_all_functions_with_progress_are_here():
    """A table without one of them would leave its bar and its stages untested."""
    found = {
        name
        for module in (linalg, series)
        for name in module.__all__
        if inspect.isfunction(function := getattr(module, name))
        and "progress" in inspect.signature(function).parameters
    }
    assert found == {name.partition(",")[0] for name in CALLS}


def test_there_is_no_callback():
    for module in (mdqr, linalg, series, mdqr.tensorcore):
        for name in module.__all__:
            if inspect.isfunction(function := getattr(module, name)):
                assert "callback" not in inspect.signature(function).parameters


# -- the bar -----------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def bars(monkeypatch):
    """The bars of tqdm, which show at once."""
    tqdm = pytest.importorskip("tqdm")
    made = []

    class Bar(tqdm.tqdm):
        def __init__(self, **options):
            made.append(self)
            super().__init__(**options, mininterval=0, miniters=1)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    return made


@pytest.mark.parametrize("name", CALLS)
def test_true_is_a_bar_that_is_closed(name, bars, monkeypatch):
    call, stages = CALLS[name]
    monkeypatch.setattr(sys, "stderr", Terminal())
    call(True)
    assert bars
    assert all(bar.disable for bar in bars)  # which `close` sets
    text = sys.stderr.getvalue()
    function = name.partition(",")[0]
    assert all(f"{function}: {stage}" in text for stage in stages.split())


def test_the_bar_is_closed_where_the_call_raises(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    # The largest value is beyond the range, which shows after "rotate".
    a = mdqr.array(np.full((9, 9), 1.7e308), precision="qd")
    with pytest.raises(np.linalg.LinAlgError) as raised:
        linalg.svd(a, progress=True)
    # While the error holds the frames of the call, and with them the bar.
    assert raised.value.__traceback__ is not None
    assert "svd: rotate" in sys.stderr.getvalue()
    assert all(bar.disable for bar in bars)


def test_no_bar_where_there_is_no_terminal(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    linalg.svd(A, progress=True)
    assert sys.stderr.getvalue() == ""


# -- what it may be ----------------------------------------------------------------------------


@each_case("name", CALLS)
@each_case("wrong", [1, "bar", [print]])
def test_anything_else_is_refused(name, wrong):
    function = name.partition(",")[0]
    kind = type(wrong).__name__
    with pytest.raises(TypeError, match=rf"^{function}: progress must be .*True.*callable.*{kind}"):
        CALLS[name][0](wrong)


@pytest.mark.parametrize("name", ["solve", "svd", "eig", "det", "roots", "newton_series"])
def test_false_is_none(name, bars):
    CALLS[name][0](False)
    assert not bars


@pytest.mark.parametrize("name", ["svd", "eigh", "eig", "schur", "det", "pinv", "qr_factor"])
def test_limbs_do_not_depend_on_it(name):
    plain, heard = (arrays(CALLS[name][0](p)) for p in (None, lambda *_: "ignored"))
    for x, y in zip(plain, heard, strict=True):
        if isinstance(x, mdqr.MDArray):
            np.testing.assert_array_equal(x.limbs, y.limbs)


@cache
def count_of_steps(name):
    steps = []
    CALLS[name][0](lambda *step: steps.append(step))
    return len(steps)


@pytest.mark.parametrize(
    "kind", [Exception, np.linalg.LinAlgError, MemoryError, TypeError, KeyboardInterrupt]
)
@pytest.mark.parametrize("name", CALLS)
def test_errors_of_the_callable_stop_the_call(name, kind):
    """None is taken for an error of the algorithm, which another method would answer."""

    class StoppedError(kind):
        pass

    for last in {1, count_of_steps(name)}:
        seen, stopped = [], StoppedError("by the user")

        def stop(*step, last=last, seen=seen, stopped=stopped):
            seen.append(step)
            if len(seen) == last:
                raise stopped

        with pytest.raises(StoppedError) as raised:
            CALLS[name][0](stop)
        assert raised.value is stopped
        assert raised.value.__cause__ is None
        assert str(stopped) == "by the user"
        assert len(seen) == last


def test_qr_does_not_take_an_error_of_the_callable_for_its_own(monkeypatch):
    """ "auto" goes on by reflections where sweeps find no memory."""
    monkeypatch.setattr(linalg._factor.qr.tuning, "refined_qr_is_faster", lambda *_, **__: True)
    seen = []

    def stop(*step):
        seen.append(step)
        raise MemoryError

    with pytest.raises(MemoryError):
        linalg.qr(A, progress=stop)
    assert [stage for stage, _, _ in seen] == ["refine"]


def test_a_linalg_error_of_a_progress_is_not_a_singular_matrix():
    """`cond` answers infinity for those, and for those alone."""

    def fail(*_):
        raise np.linalg.LinAlgError("mine")

    a = mdqr.array([[4, 1], [1, 3]], precision="qd") / 7
    with pytest.raises(np.linalg.LinAlgError, match=r"^mine$"):
        mdqr.linalg.cond(a, 1, progress=fail)
    assert np.isinf(float(mdqr.linalg.cond(mdqr.zeros((2, 2), precision="qd"), 1)))
