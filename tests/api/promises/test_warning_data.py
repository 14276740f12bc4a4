"""Warnings of precision: their classes, what they carry, the caller's line, filters, pickles."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import mdqr
from mdqr import DataPrecisionWarning, PrecisionWarning, linalg, series, tensorcore

P = mdqr.dd
ANY = (-1,)  # the place of one of equal values
DOUBLES = np.array([[1.0, 1.0], [1.0, 1 + 2.0**-52]])  # singular if they were rounded
HILBERT = 1 / (np.arange(14)[:, None] + np.arange(14) + 1)
ROOT = series.System.from_strings(["x^2 - t"], ["x"])
T = mdqr.linspace(0, 1, 61, precision=P)
ROOTS = np.poly(np.ones(8)) / 3


def _far_row(count: int, size: float) -> Any:
    a = mdqr.random.normal((count, 3), precision=P, rng=5)
    a[4] = a[4] * size
    return a


def _stream(keep_data: bool = False, size: float = 2.0**31) -> Any:
    a = _far_row(9, size)
    fit = linalg.UpdatableLstsq(a, a[:, 0], keep_data=keep_data)
    return fit.delete_rows(u=a[4], b=a[4, 0])


def _cut(call: str) -> Any:
    b = mdqr.array(["1e300", "1e-300"], precision=P)
    return getattr(linalg.UpdatableLstsq(mdqr.eye(2, precision=P), b), call)()


def _nearly_singular() -> Any:
    """A determinant of 2**96, by entries that fill dd."""
    k, m = 2**105 + 0x1234567890ABD, 2**48
    return mdqr.array([[k, k + m], [k - m, k]], precision=P)


def _tall(size: int) -> Any:
    rng = np.random.default_rng(3)
    return rng.standard_normal((60, size)) * 2.0 ** rng.integers(-8, 8, size)


def _nearly_singular_pair() -> tuple[Any, Any]:
    """Two pairs, the second of which is singular but for one entry."""
    a = mdqr.array([np.diag([1, 2, 3]), [[1, 2, 3], [2, 4, 6], [0, 1, 1]]], precision=mdqr.od)
    a[1, 1, 2] = mdqr.od(6) + 2.0**-1000
    return a, mdqr.array([np.eye(3), [[1, 0, 1], [2, 0, 2], [1, 1, 0]]], precision=mdqr.od)


class Case(NamedTuple):
    """A call that warns; `digits` None: not known, else a range."""

    call: Any
    function: str
    is_of_data: bool
    digits: tuple[float, float] | None
    precision: Any = P
    index: tuple[int, ...] | None = None


CASES = {
    "solve": Case(
        lambda: linalg.solve(
            mdqr.array([[1.0, 0.0], [0.0, "3e200"]], precision=P),
            mdqr.array([1.0, "7e-110"], precision=P),
        ),
        "linalg.solve", False, (0, 31), index=(1,),
    ),
    "solve, columns": Case(
        lambda: linalg.solve(
            mdqr.array([[1.0, 0.0], [0.0, "3e200"]], precision=P),
            mdqr.array([[1.0, 1.0], [1.0, "7e-110"]], precision=P),
        ),
        "linalg.solve", False, (0, 31), index=(1, 1),
    ),
    "solve, data": Case(
        lambda: linalg.solve(np.stack([np.eye(2), DOUBLES]), np.ones((2, 2, 1)), precision=mdqr.qd),
        "linalg.solve", True, None, mdqr.qd, (1,),
    ),
    "inv": Case(
        lambda: linalg.inv(mdqr.array([["3e300"]], precision=P)),
        "linalg.inv", False, (0, 31), index=(0, 0),
    ),
    "inv, data": Case(
        lambda: linalg.inv(DOUBLES, precision=mdqr.qd), "linalg.inv", True, None, mdqr.qd
    ),
    "lstsq, data": Case(
        lambda: linalg.lstsq(DOUBLES, [1.0, 2.0], precision=mdqr.qd),
        "linalg.lstsq", True, None, mdqr.qd,
    ),
    "polyfit, data": Case(
        lambda: mdqr.polyfit(T, mdqr.exp(mdqr.sin(9 * T)), 38), "polyfit", True, None
    ),
    "det": Case(
        lambda: linalg.det(mdqr.array(1e-160, precision=P) * mdqr.eye(3, precision=P)),
        "linalg.det", False, None,
    ),
    "eig": Case(
        lambda: linalg.eig(*_nearly_singular_pair()), "linalg.eig", False, (0, 0), mdqr.od, (1,)
    ),
    "UpdatableLstsq.solve": Case(
        lambda: _cut("solve"), "linalg.UpdatableLstsq.solve", False, None
    ),
    "UpdatableLstsq.residual_norm": Case(
        lambda: _cut("residual_norm"), "linalg.UpdatableLstsq.residual_norm", False, None
    ),
    "det, data": Case(
        lambda: linalg.det(np.stack([np.eye(14), HILBERT])),
        "linalg.det", True, (0, 0), mdqr.d, (1,),
    ),
    "slogdet, data": Case(
        lambda: linalg.slogdet(HILBERT), "linalg.slogdet", True, (0, 0), mdqr.d
    ),
    "pinv, data": Case(
        lambda: linalg.pinv(np.stack([np.eye(2), DOUBLES]), precision=mdqr.qd),
        "linalg.pinv", True, None, mdqr.qd, (1,),
    ),
    "null_space, data": Case(
        lambda: linalg.null_space(DOUBLES, precision=mdqr.qd),
        "linalg.null_space", True, None, mdqr.qd,
    ),
    "eigvals, data": Case(
        lambda: linalg.eigvals(_nearly_singular()), "linalg.eigvals", True, (0, 0), P, ANY
    ),
    "eig, data": Case(
        lambda: linalg.eig(_nearly_singular()), "linalg.eig", True, (0, 0), P, ANY
    ),
    "roots, data": Case(
        lambda: linalg.roots(ROOTS, precision=P), "linalg.roots", True, (0, 4), P, ANY
    ),
    "QRFactor.solve": Case(
        lambda: linalg.qr_factor(
            mdqr.stack([mdqr.eye(2, precision=P), mdqr.array(DOUBLES * 1.0, precision=P)])
        ).solve(mdqr.ones((2, 2, 1), precision=P)),
        "linalg.QRFactor.solve", False, (0, 15.9), index=(1,),
    ),
    "qr_delete": Case(
        lambda: linalg.qr_delete(*linalg.qr(_far_row(5, 2.0**60)), 4),
        "linalg.qr_delete", False, (1, 16),
    ),
    "qr_delete of floats": Case(
        lambda: linalg.qr_delete(*np.linalg.qr(_far_row(5, 2.0**30).to_numpy()), 4),
        "linalg.qr_delete", False, (0, 8), None,
    ),
    "UpdatableLstsq.delete_rows": Case(
        _stream, "linalg.UpdatableLstsq.delete_rows", False, (1, 16)
    ),
    "newton_series": Case(
        lambda: series.newton_series(
            ROOT, [1e-150], t0=1e-300, degree=4, precision=P, verify=True
        ),
        "series.newton_series", False, (0, 15.6), index=(2,),
    ),
    "lstsq of tensorcore": Case(
        lambda: tensorcore.lstsq(_tall(20), np.ones(60), max_iterations=1),
        "tensorcore.lstsq", False, None, None,
    ),
}  # fmt: skip


def _caught(case: Case) -> PrecisionWarning:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case.call()
    wanted = DataPrecisionWarning if case.is_of_data else PrecisionWarning
    found = [each for each in caught if each.category is wanted]
    assert len(found) == 1, [str(each.message) for each in caught]
    assert found[0].filename == __file__
    return found[0].message


@pytest.mark.parametrize("name", CASES)
def test_what_a_warning_carries(name: str) -> None:
    case = CASES[name]
    found = _caught(case)
    assert found.function == case.function
    assert str(found).startswith(f"{name.split(' of ')[0].split(',')[0]}: ")
    if case.digits is None:
        assert math.isnan(found.digits)
    else:
        assert isinstance(found.digits, float)
        assert case.digits[0] <= found.digits <= case.digits[1]
    assert found.precision is case.precision
    assert found.index == case.index or (case.index is ANY and len(found.index) == 1)
    assert all(type(i) is int for i in found.index or ())
    public = mdqr
    for part in found.function.split("."):
        public = getattr(public, part)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [PrecisionWarning, DataPrecisionWarning])
def test_filters_tell_the_classes_apart(name: str, kind: type[PrecisionWarning]) -> None:
    """An error of one class, and silence of the other."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind is DataPrecisionWarning:
            warnings.filterwarnings("error", category=DataPrecisionWarning)
        else:
            warnings.filterwarnings("error", category=PrecisionWarning)
            warnings.filterwarnings("ignore", category=DataPrecisionWarning)
        if case.is_of_data == (kind is DataPrecisionWarning):
            with pytest.raises(PrecisionWarning) as caught:
                case.call()
            assert type(caught.value) is kind
        else:
            case.call()


def test_family() -> None:
    """Those of SciPy and NumPy about digits are of this kind, too."""
    assert PrecisionWarning.__bases__ == (RuntimeWarning,)
    assert DataPrecisionWarning.__bases__ == (PrecisionWarning,)
    assert issubclass(np.exceptions.RankWarning, RuntimeWarning)


@pytest.mark.parametrize("kind", [PrecisionWarning, DataPrecisionWarning])
@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda w, p=p: pickle.loads(pickle.dumps(w, p)) for p in (0, 2, 5)),
    ],
)
def test_copies_and_pickles(kind: type[PrecisionWarning], again: Any) -> None:
    first = kind("f: text", function="linalg.f", digits=2.5, precision=mdqr.qd, index=(1, 2))
    found = again(first)
    assert type(found) is kind
    assert str(found) == "f: text"
    assert vars(found) == vars(first)
    assert found.precision is mdqr.qd


def test_a_warning_of_the_message_alone() -> None:
    found = PrecisionWarning("text")
    assert (str(found), found.function, found.precision, found.index) == ("text", "", None, None)
    assert math.isnan(found.digits)


def test_a_warning_without_a_caller_in_python():
    """Called from C, as `atexit` and new threads do, there is no line to name."""
    program = """if True:
        import _thread, time, warnings, numpy, mdqr
        a = mdqr.array([["3e300"]], precision="dd")
        for call in (mdqr.linalg.inv, numpy.asarray):
            _thread.start_new_thread(call, (a,))
            time.sleep(0.5)
    """
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "PrecisionWarning: inv: " in found.stderr
    assert "TypeError: an MDArray of precision dd is not rounded" in found.stderr
    assert "call stack" not in found.stderr
