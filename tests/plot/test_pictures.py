"""What mdqr.plot draws, read back from the axes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mdqr
import mdqr.plot


@pytest.fixture(autouse=True)
def closed():
    """No figure stays open."""
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def hilbert(n, precision):
    i = mdqr.arange(1, n + 1, precision=precision)
    return 1 / (i[:, None] + i - 1)


def test_digits_of_one_fit_and_of_several(multiple):
    a = hilbert(8, multiple)
    fit = mdqr.linalg.lstsq(a, a.sum(axis=1))
    drawn = lines(mdqr.plot.digits(fit))
    np.testing.assert_array_equal(drawn["as stored"].get_ydata(), fit.info.digits)
    within = drawn["within the errors of the data"].get_ydata()
    np.testing.assert_array_equal(within, fit.info.data_digits)
    drawn = lines(mdqr.plot.digits({"fit": fit, "numbers": [3.0, 4.0]}))
    np.testing.assert_array_equal(drawn["fit"].get_ydata(), fit.info.digits)
    np.testing.assert_array_equal(drawn["numbers"].get_ydata(), [3.0, 4.0])
    both = mdqr.linalg.lstsq(a, mdqr.stack([a[0], a[1]], axis=1)).info
    assert len(mdqr.plot.digits({"two": both}).get_lines()) == 3


def test_singular_values_far_below_what_float64_sees():
    ax = mdqr.plot.singular_values(mdqr.linalg.svdvals(hilbert(30, "od")))
    values = lines(ax)["singular values"].get_ydata()
    assert values[-1] < 1e-40
    (floor,) = set(lines(ax)["float64: the largest times eps"].get_ydata())
    np.testing.assert_allclose(floor, values[0] * 2.0**-52)
    assert np.isnan(lines(mdqr.plot.singular_values([1.0, 0.0]))["singular values"].get_ydata()[1])


def test_poles_zeros_and_disks():
    points = mdqr.array([1 + 2j, 3.0], precision="dd")
    ax = mdqr.plot.poles(points, zeros=[0.5], radii=[0.1, 0.2])
    drawn = lines(ax)
    np.testing.assert_array_equal(drawn["poles"].get_ydata(), [2.0, 0.0])
    np.testing.assert_array_equal(drawn["zeros"].get_xdata(), [0.5])
    disk = next(line for line in ax.get_lines() if len(line.get_xdata()) == 100)
    sizes = abs(disk.get_xdata() + 1j * disk.get_ydata() - (1 + 2j))
    np.testing.assert_allclose(sizes, 0.1)
    assert "zeros" not in lines(mdqr.plot.poles(points))


def test_one_radius_for_all_disks_and_a_label():
    points = [1 + 2j, -1]
    ax = mdqr.plot.poles(points, radii=0.5, label="roots")
    assert "roots" in lines(ax)
    heights = [line.get_ydata().max() for line in ax.lines if len(line.get_ydata()) == 100]
    assert heights == pytest.approx([2.5, 0.5], abs=1e-3)
    with pytest.raises(ValueError, match="broadcast"):
        mdqr.plot.poles(points, radii=[0.1, 0.2, 0.3])


def test_steps_of_refinement_and_none():
    a = mdqr.testing.matrix("random", 80, 70, precision="qd", cond=1e3, rng=1)
    fit = mdqr.linalg.lstsq(a, a.sum(axis=1))
    (line,) = mdqr.plot.refinement(fit.info).get_lines()
    np.testing.assert_array_equal(line.get_ydata(), fit.info.history)
    with pytest.raises(ValueError, match="no step was recorded"):
        mdqr.plot.refinement(mdqr.linalg.lstsq(a[:5, :3], a[:5, 3]))


def test_residuals_and_errors_below_double_precision():
    fitted = mdqr.array(["1", "2"], precision="qd")
    line = mdqr.plot.residuals(fitted, fitted + mdqr.qd("1e-40")).get_lines()[-1]
    np.testing.assert_allclose(line.get_ydata(), 1e-40, rtol=1e-15)
    (line,) = mdqr.plot.convergence(fitted + mdqr.qd("1e-40"), fitted).get_lines()
    np.testing.assert_allclose(line.get_ydata(), 1e-40, rtol=1e-15)
    (line,) = mdqr.plot.convergence([1.0, 3.0, 2.0]).get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [2.0, 1.0])
    drawn = lines(mdqr.plot.convergence({"one": [2.0], "two": [3.0, 1.0]}, 1.0))
    np.testing.assert_array_equal(drawn["two"].get_ydata(), [2.0, np.nan])


def test_axes_that_are_given_are_drawn_on():
    from matplotlib import pyplot

    ax = pyplot.subplots()[1]
    assert mdqr.plot.convergence([1.0, 2.0], ax=ax) is ax


def test_matplotlib_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"mdqr\[plot\]"):
        mdqr.plot.poles([1.0])
