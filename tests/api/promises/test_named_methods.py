"""A method that is named is taken, or LinAlgError is raised; "auto" may choose."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr import linalg, tensorcore
from mdqr._precision import PRECISIONS
from mdqr.tensorcore._algorithms.reflections import PanelBreakdown, with_fallbacks
from mdqr.tensorcore._plan import plan_of

P = mdqr.dd
SINGULAR = mdqr.array([[1.0, 1.0], [1.0, 1.0]], precision=P)
NEAR = SINGULAR + 2.0**-99 * mdqr.eye(2, precision=P)
HUGE = mdqr.array([[np.inf, 1.0], [1.0, 1.0]], precision=P)
WAYS = r'method="(householder|fresh|direct)"|precision=mdqr'
TALL = mdqr.random.normal((4, 4), precision=P, rng=1)

CALLS = {
    "qr": (lambda how: linalg.qr(SINGULAR, method=how), "refine", "auto"),
    "qr, R": (lambda how: linalg.qr(SINGULAR, "r", method=how), "refine", "householder"),
    "qr, NaN": (lambda how: linalg.qr(HUGE, method=how, check=False), "refine", "auto"),
    "qr, d": (lambda how: linalg.qr(np.eye(2), method=how, precision="d"), "refine", "auto"),
    "solve": (lambda how: linalg.solve(NEAR, [1.0, 2.0], method=how), "refine", "auto"),
    "inv": (lambda how: linalg.inv(NEAR, method=how), "refine", "auto"),
    "lstsq": (
        lambda how: linalg.lstsq(NEAR, [1.0, 2.0], max_condition=np.inf, method=how),
        "refine",
        "auto",
    ),
    "matmul": (lambda how: linalg.matmul(HUGE, SINGULAR, method=how), "exact", "auto"),
    "qr_insert": (
        lambda how: linalg.qr_insert(
            None, linalg.qr(TALL, "r"), TALL[:, 0] + 1, 0, "col", a=TALL, method=how
        ),
        "update",
        "auto",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("name", CALLS)
def test_named_methods_never_fall_back(name):
    call, method, other = CALLS[name]
    with pytest.raises(linalg.LinAlgError, match=WAYS) as e:
        call(method)
    assert str(e.value).startswith(name.split(",")[0] + ": ")
    assert f'method="{method}"' in str(e.value) or name == "qr_insert"
    call(other)


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("function", ["solve", "lstsq", "inv"])
def test_what_is_not_proven_has_one_wording(function):
    highest = PRECISIONS[-1]
    a = mdqr.ones((2, 2), precision=highest)
    a += 2.0 ** (9 - highest.bits) * mdqr.eye(2, precision=highest)
    operands = [a] if function == "inv" else [a, [1.0, 2.0]]
    options = {"max_condition": np.inf} if function == "lstsq" else {}
    words = rf"^{function}: verified=True does not show all digits: the matrix.*; without it"
    with pytest.raises(linalg.LinAlgError, match=words):
        getattr(linalg, function)(*operands, verified=True, **options)
    with pytest.raises(ValueError, match=rf'^{function}: method="householder" estimates bounds'):
        getattr(linalg, function)(*operands, verified=True, method="householder", **options)


def test_products_on_tensor_cores_take_no_reflections_unless_they_may():
    """Of panels that break down whatever they are."""
    tried = []

    def call(plan):
        tried.append((plan.method, plan.panel))
        if plan.panel != "geqrf":
            raise PanelBreakdown
        return plan.method

    with pytest.raises(linalg.LinAlgError, match=r'^qr: .* for method="rgs"; method="auto" or'):
        with_fallbacks(call, plan_of("qr", "rgs", "fp16"))
    assert tried == [("rgs", "cholesky"), ("rgs", "caqr")]
    for method in ("auto", "householder"):
        assert with_fallbacks(call, plan_of("qr", method, "fp16")) == "householder"


def test_the_method_that_was_taken_is_in_the_info():
    a = np.vander(np.linspace(0, 1, 50), 4)
    assert tensorcore.qr(a).info.method == tensorcore.qr(a, method="rgs").info.method == "rgs"
    assert tensorcore.qr(a, method="householder").info.method == "householder"
