"""Wrong input, and fits that fail: messages that name the argument and a remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mdqr
from mdqr.optimize import curve_fit, least_squares

X = np.arange(6.0)
Y = mdqr.array(["3", "1.9", "1.4", "1.1", "0.7", "0.6"], precision=mdqr.dd)


def decay(x, a, b):
    return a * mdqr.exp(-b * x)


def residuals(b):
    return decay(X, *b) - Y


def cf(f=decay, x=X, y=Y, p0=(3, 1), **options):
    return curve_fit(f, x, y, p0, **options)


def ls(fun=residuals, x0=(3, 1), **options):
    return least_squares(fun, x0, **options)


class Bounds:
    def __init__(self, lb, ub):
        self.lb, self.ub = lb, ub


WRONG = {
    "fun is no function": (lambda: ls(3), TypeError, "`fun` must be callable"),
    "f is no function": (lambda: cf("a*x"), TypeError, "`f` must be callable"),
    "complex start": (lambda: ls(x0=[1j, 1]), ValueError, "`x0` must be real"),
    "a batch of one that has no axis for it": (
        lambda: ls(lambda b: mdqr.ones(6, precision=mdqr.dd), x0=[[3, 1]]), ValueError,
        "the function must broadcast"
    ),
    "empty start": (lambda: ls(x0=[]), ValueError, "`x0` is empty"),
    "NaN in the start": (lambda: ls(x0=[np.nan, 1]), ValueError, "`x0` is not finite"),
    "text in the start": (lambda: ls(x0=["a", "1"]), ValueError, "does not hold numbers"),
    "one bound": (lambda: ls(bounds=(0,)), ValueError, "`bounds` must contain 2 elements"),
    "bounds are a number": (lambda: ls(bounds=3), ValueError, "`bounds` must contain 2 elements"),
    "bounds of another size": (
        lambda: ls(bounds=([0, 0, 0], 9)), ValueError, "inconsistent shapes between bounds"
    ),
    "bounds change places": (
        lambda: ls(bounds=(5, 0)), ValueError, "strictly less than each upper bound"
    ),
    "equal bounds": (lambda: ls(bounds=([3, 0], [3, 5])), ValueError, "leave it out of x0"),
    "NaN bounds": (lambda: ls(bounds=(np.nan, 5)), ValueError, "must not be NaN"),
    "text in ydata": (lambda: cf(y=["a"] * 6), ValueError, "`ydata` does not hold numbers"),
    "text in xdata": (lambda: cf(x=["a"] * 6), ValueError, "`xdata` does not hold numbers"),
    "text in sigma": (lambda: cf(sigma=["a"] * 6), ValueError, "`sigma` does not hold numbers"),
    "text in bounds": (lambda: cf(bounds="ab"), ValueError, "`bounds.0.` does not hold numbers"),
    "ydata is a dict": (lambda: cf(y={"y": 1}), TypeError, "`ydata` does not hold numbers"),
    "no data": (lambda: cf(y=None), TypeError, "`ydata` does not hold numbers"),
    "ragged data": (lambda: cf(y=[[1, 2], [3]]), ValueError, "`ydata` does not hold numbers"),
    "masked data": (
        lambda: cf(y=np.ma.array(X, mask=X > 3)), TypeError, "`ydata` .*a masked array"
    ),
    "decimals without a precision": (
        lambda: cf(lambda x, a: a * x, X, ["3"] * 6, [1]), TypeError, "precision=mdqr.qd"
    ),
    "a frame of one column": (
        lambda: cf(y=np.ones((6, 1))), ValueError, "leading axes of `ydata` are a batch"
    ),
    "a complex sigma": (lambda: cf(sigma=1j * np.ones(6)), ValueError, "`sigma` must be real"),
    "sigma that is not symmetric": (
        lambda: cf(sigma=np.eye(6) + np.eye(6, k=1)), ValueError, "`sigma` is not symmetric"
    ),
    "a complex jac": (
        lambda: ls(jac=lambda b: 1j * np.ones((6, 2))), ValueError, "`jac` is complex"
    ),
    "f_scale is a text": (
        lambda: ls(loss="huber", f_scale="1"), ValueError, "`f_scale` must be positive"
    ),
    "args is a number": (lambda: ls(args=3), TypeError, "`args` must be a tuple"),
    "kwargs is a list": (lambda: ls(kwargs=[1]), TypeError, "`kwargs` a dict"),
    "linear is a fraction": (lambda: ls(linear=[0.5]), ValueError, "`linear` must be different"),
    "linear is a name": (lambda: ls(linear=["a"]), ValueError, "`linear` must be different"),
    "a text returned": (lambda: ls(lambda b: "abc"), TypeError, "the function returned str"),
    "a dict returned": (lambda: ls(lambda b: {}), TypeError, "the function returned dict"),
    "complex bounds": (lambda: ls(bounds=(1j, 5)), ValueError, "`bounds` must be real"),
    "infeasible start": (lambda: ls(bounds=(0, 2)), ValueError, "`x0` is infeasible: x\\[0\\]"),
    "infeasible p0": (lambda: cf(bounds=(0, 2)), ValueError, "`x0` is infeasible: a "),
    "unknown loss": (lambda: ls(loss="l1"), ValueError, "`loss` must be one of"),
    "f_scale": (lambda: ls(loss="huber", f_scale=0), ValueError, "`f_scale` must be positive"),
    "x_scale": (lambda: ls(x_scale=[1, -1]), ValueError, "`x_scale` must be"),
    "x_scale of another size": (lambda: ls(x_scale=[1, 1, 1]), ValueError, "`x_scale` must be"),
    "max_nfev": (lambda: ls(max_nfev=0), ValueError, "`max_nfev` must be"),
    "jac": (lambda: ls(jac="exact"), ValueError, "`jac` must be None"),
    "shape of jac": (
        lambda: ls(jac=lambda b: np.ones((6, 3))), ValueError, "`jac` must return an array of shape"
    ),
    "NaN in jac": (
        lambda: ls(jac=lambda b: np.full((6, 2), np.nan)), ValueError, "`jac` returned NaN"
    ),
    "callback": (lambda: ls(callback=3), TypeError, "`callback` must be callable"),
    "ftol": (lambda: ls(ftol=1e-8), TypeError, "ftol is not needed"),
    "diff_step": (lambda: cf(diff_step=1e-8), TypeError, "diff_step is not needed"),
    "unknown option": (lambda: ls(foo=1), TypeError, "unexpected keyword argument 'foo'"),
    "nan_policy": (lambda: cf(nan_policy="omit"), ValueError, "leave the observations out"),
    "an unknown nan_policy": (lambda: cf(nan_policy=1), ValueError, "`nan_policy` must be"),
    "maxfev of curve_fit": (lambda: cf(maxfev=9), TypeError, "give max_nfev"),
    "Dfun": (lambda: cf(Dfun=decay), TypeError, "give jac"),
    "method of least_squares": (lambda: ls(method="lm"), TypeError, "there is one method"),
    "verbose": (lambda: ls(verbose=2), TypeError, "give progress=True"),
    "max_nfev is True": (lambda: ls(max_nfev=True), ValueError, "`max_nfev` must be"),
    "linear": (lambda: ls(linear=[5]), ValueError, "`linear` must be different indices"),
    "linear by name": (lambda: cf(linear=["c"]), ValueError, "`linear` names 'c'"),
    "method": (lambda: cf(method="lm"), ValueError, "there is one method"),
    "nothing returned": (lambda: ls(lambda b: None), TypeError, "returned None"),
    "two axes returned": (
        lambda: ls(lambda b: mdqr.ones((2, 2), precision=mdqr.dd)), ValueError, "at most 1-d"
    ),
    "no residuals": (lambda: ls(lambda b: []), ValueError, "no residuals"),
    "NaN at the start": (
        lambda: ls(lambda b: mdqr.log(-b)), ValueError, "not finite in the initial point"
    ),
    "precision": (lambda: ls(precision="xd"), ValueError, "precision must be one of"),
    "ydata without an axis": (lambda: cf(y=3.0), ValueError, "`ydata` must have one axis"),
    "ydata that is a batch of other sets": (
        lambda: cf(y=[[1, 2]]), ValueError, "leading axes of `ydata` are a batch"
    ),
    "no ydata": (lambda: cf(x=[], y=[]), ValueError, "`ydata` must not be empty"),
    "xdata of another size": (lambda: cf(x=X[:4]), ValueError, "6 observations"),
    "NaN in ydata": (lambda: cf(y=[np.nan] * 6), ValueError, "`ydata` must not contain infs"),
    "NaN in xdata": (lambda: cf(x=[np.nan] * 6), ValueError, "`xdata` must not contain infs"),
    "sigma of another size": (lambda: cf(sigma=[1, 2]), ValueError, "`sigma` has incorrect shape"),
    "zero sigma": (lambda: cf(sigma=np.zeros(6)), ValueError, "`sigma` must be positive"),
    "indefinite sigma": (
        lambda: cf(sigma=-np.eye(6)), mdqr.linalg.LinAlgError, "not positive definite"
    ),
    "values of another shape": (
        lambda: cf(lambda x, a, b: a * x[:3]), ValueError, "`f` returned values of shape"
    ),
    "unknown number of parameters": (
        lambda: cf(lambda x, *b: b[0] * x, p0=None), ValueError, "number of fit parameters"
    ),
    "start of another size": (lambda: cf(p0=[1]), TypeError, "missing 1 required"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        call()


def test_a_function_that_rounds_to_float64():
    with pytest.warns(mdqr.PrecisionWarning, match="`fun` rounds to 1.* digits.*np.pi, math.exp"):
        found = cf(lambda x, a, b: a.to_numpy() * np.exp(-b.to_numpy() * x), precision=mdqr.qd)
    exact = cf(precision=mdqr.qd)
    assert np.all(np.abs((found.popt - exact.popt).to_numpy()) <= found.info.error_bound)
    assert found.info.digits.min() > 5


def test_a_rounded_intermediate_value():
    def rounding(x, a, b):
        return a * mdqr.exp(-b * x).astype(mdqr.d)

    with pytest.warns(mdqr.PrecisionWarning, match="`fun` rounds to 1"):
        cf(rounding, precision=mdqr.qd)


@pytest.mark.parametrize("extra", [lambda x, a, b, c: a * b * mdqr.exp(-c * x),
                                   lambda x, a, b, c: (a + b) * mdqr.exp(-c * x)])  # fmt: skip
def test_parameters_that_the_data_do_not_tell_apart(extra):
    with pytest.warns(mdqr.PrecisionWarning, match="do not tell a, b apart"):
        found = cf(extra, p0=[2, 1, 1])
    assert (found.info.digits == 0).all()
    assert found.result.status == 1
    assert np.isinf(found.pcov.to_numpy()).all()


def test_a_parameter_without_effect():
    with pytest.warns(mdqr.PrecisionWarning, match="b has no effect"):
        found = cf(lambda x, a, b: a * mdqr.exp(-x) + 0 * b)
    assert (found.info.digits == 0).all()


def test_frames_and_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X, "y": Y.to_numpy()})
    wanted = cf(y=Y.to_numpy(), precision=mdqr.dd).popt
    start = pandas.Series({"a": 3.0, "b": 1.0})
    assert mdqr.array_equal(cf(x=frame.x, y=frame["y"], p0=start, precision=mdqr.dd).popt, wanted)
    rows = cf(lambda x, a, b: decay(x[:, 0], a, b), frame[["x"]], frame["y"], precision=mdqr.dd)
    assert mdqr.array_equal(rows.popt, wanted)
    texts = cf(x=frame.x, y=pandas.Series(Y.to_strings().tolist()), precision=mdqr.dd).popt
    assert mdqr.allclose(texts, cf(precision=mdqr.dd).popt, rtol=1e-29)
    with pytest.raises(ValueError, match="`ydata` must not contain infs or NaNs"):
        cf(x=frame.x, y=frame["y"].where(frame["y"] > 1))


def test_scipys_functions_name_ours():
    import scipy.optimize

    for name, call in {
        "curve_fit": lambda: scipy.optimize.curve_fit(decay, X, Y, [3, 1]),
        "least_squares": lambda: scipy.optimize.least_squares(residuals, Y[:2]),
    }.items():
        with pytest.raises(TypeError, match=f"mdqr.optimize.{name} keeps the digits"):
            call()
    with pytest.raises(TypeError, match=r"mdqr\.optimize\.least_squares keeps the digits"):
        scipy.optimize.leastsq(residuals, Y[:2])


def test_no_minimum():
    with pytest.warns(mdqr.PrecisionWarning, match="maximum number of function evaluations"):
        found = ls(max_nfev=2)
    assert not found.success
    assert found.status == 0


def test_a_function_that_becomes_nan_inside_bounds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cf(lambda x, a, b: a * mdqr.exp(-mdqr.sqrt(b) * x), p0=[1, 100])
    assert found.result.success


def test_the_callback_ends_a_fit():
    seen = []

    def stop(intermediate_result):
        seen.append(intermediate_result)
        if len(seen) == 2:
            raise StopIteration

    found = ls(callback=stop)
    assert found.status == -2
    assert not found.success
    assert [state.nit for state in seen] == [1, 2]
    assert float(seen[1].cost) < float(seen[0].cost)
