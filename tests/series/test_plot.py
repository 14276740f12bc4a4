"""Plots: what is drawn, and what cannot be."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
from series_families import cyclic, cyclic_start

from mdqr import series
from mdqr.series import PowerSeries, System, newton_series

matplotlib.use("Agg")
SYSTEM = System.from_strings(["x^2 - 1 - 2*t", "y - x*t"], ["x", "y"])


@pytest.fixture(autouse=True)
def closed():
    """No figure stays open."""
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_coefficients():
    s = newton_series(SYSTEM, [1, 0], degree=12, precision="dd")
    lines = series.plot.coefficients(s).get_lines()
    radius = f"radius {float(s.radius().value):.4g}"
    assert [line.get_label() for line in lines] == ["x", "y", "largest error", radius]
    np.testing.assert_allclose(lines[0].get_ydata(), abs(s["x"].to_numpy()))
    # The slope of the radius, through the last order.
    slope = lines[-1].get_ydata()
    np.testing.assert_allclose(slope[0] / slope[1], 0.5, rtol=0.01)
    one = PowerSeries([1, 2, 0, 4], precision="dd")
    (line,) = series.plot.coefficients(one).get_lines()
    assert np.isnan(line.get_ydata()[2])


def test_domb_sykes():
    s = newton_series(SYSTEM, [1, 0], degree=64, precision="dd")
    ax = series.plot.domb_sykes(s["x"])
    (line,) = ax.get_lines()
    x, y = line.get_data()
    slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
    assert y[-1] - slope * x[-1] == pytest.approx(-2, rel=1e-6)
    assert series.plot.domb_sykes(s["x"], ax=ax) is ax
    with pytest.raises(ValueError, match="takes real series"):
        series.plot.domb_sykes(PowerSeries([1j, 1], precision="dd"))


def test_poles():
    s = newton_series(SYSTEM, [1, 0], degree=12, precision="dd")
    lines = series.plot.poles(s.pade(4, 4)).get_lines()
    assert "poles 0" in [line.get_label() for line in lines]
    circle = max(lines, key=lambda line: len(line.get_xdata()))
    np.testing.assert_allclose(np.hypot(*circle.get_data()), np.hypot(*circle.get_data())[0])
    series.plot.poles(s.pade(4, 4)[0], radius=0.5)


def test_convergence():
    s = newton_series(cyclic(5), cyclic_start(5), degree=15, precision="dd", method="newton")
    line = series.plot.convergence(s.info).get_lines()[0]
    assert line.get_ydata().tolist() == [1, 2, 4, 8, 16]
    other = newton_series(cyclic(5), cyclic_start(5), degree=3, precision="dd")
    with pytest.raises(ValueError, match="shows the steps"):
        series.plot.convergence(other.info)


def test_plots_of_too_much():
    with pytest.raises(ValueError, match="one series or n of them"):
        series.plot.coefficients(PowerSeries(np.ones((2, 2, 3)), precision="dd"))


def test_plots_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mdqr\[plot\]"'):
        series.plot.coefficients(PowerSeries([1, 2], precision="dd"))
