"""NIST's nonlinear regression sets from both starts, against certified and computed minima."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.optimize import curve_fit

from .nist import MODELS, load

SETS = load()
# Their terms may change places: the same curve.
SHORT = ("Misra1a", "DanWood", "MGH10", "Thurber", "Bennett5")


def fit(name, start, precision, **options):
    found = SETS[name]
    top = precision.next
    y = mdqr.array(found["y"], precision=top)
    x = mdqr.array(found["x"] if len(found["x"]) > 1 else found["x"][0], precision=top)
    y = mdqr.log(y) if name == "Nelson" else y
    return curve_fit(
        lambda x, *b: MODELS[name](mdqr, x, *b),
        x,
        y,
        found["start"][start],
        precision=precision,
        **options,
    )


def digits_of(values, certified):
    exact = np.array([float(v) for v in certified])
    return -np.log10(np.max(np.abs((values.to_numpy() - exact) / exact)))


def check(name, start, precision):
    found, fitted = SETS[name], fit(name, start, precision)
    assert fitted.result.success
    popt = fitted.popt
    if name == "Eckerle4" and popt[1] < 0:  # whose a and b may both be negated; a BLAS decides
        popt = popt * [-1, -1, 1]
    # Certified values have eleven digits: half a unit of the last one is up to 5e-11.
    assert digits_of(popt, found["certified"]) > 10.3
    if name != "Lanczos1":  # whose residuals are rounding errors of its data
        assert digits_of(fitted.info.standard_errors(), found["deviations"]) > 10.3
        assert digits_of(fitted.info.residual_std.reshape(1), [found["std"]]) > 10.3
    with mpmath.workdps(140):
        exact = [mpmath.mpf(v) for v in found["minimum"]]
        pairs = zip(popt.to_mpmath(), exact, fitted.info.error_bound, strict=True)
        for value, true, bound in pairs:
            # The computed minima have 70 digits.
            assert abs(value - true) <= bound + abs(true) * mpmath.mpf(10) ** -70
    assert fitted.info.digits.min() > 0.8 * min(precision.digits, 63)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("start", [0, 1])
def test_all_sets_converge_in_qd(name, start):
    check(name, start, mdqr.qd)


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.od])
def test_other_precisions(name, precision):
    check(name, 1, precision)


def test_a_much_smaller_bound_is_too_small():
    """Bounds are not so far above the errors that nothing could show one too small."""
    name, ratios = "Misra1a", []
    fitted = fit(name, 1, mdqr.dd)
    with mpmath.workdps(100):
        exact = [mpmath.mpf(v) for v in SETS[name]["minimum"]]
        pairs = zip(fitted.popt.to_mpmath(), exact, fitted.info.error_bound, strict=True)
        ratios = [float(abs(value - true) / bound) for value, true, bound in pairs]
    assert 2.0**-12 < max(ratios) <= 1.0
