"""The widths of windows: how many columns of R are reduced together."""

from __future__ import annotations

from typing import NamedTuple

from mdqr.linalg._factor import householder


class Window(NamedTuple):
    """The columns of a window for p rows or columns that come or go: ``sqrt(p^2 + pull p)``.

    That is where two costs of a window of w columns meet: its products, of which each column of R
    and row of Q has ``(w + p)^2 / w`` a reflection, and what it takes besides, which grows with p.
    Widths lie between `least` and `most` and are multiples of `unit`.
    """

    unit: int
    least: int
    most: int
    pull: float = 0.0

    def width(self, p: float) -> int:
        """Return the number of columns."""
        wanted = max(self.least, min((p * p + self.pull * p) ** 0.5, self.most))
        return self.unit * max(1, round(wanted / self.unit))


def window_width(backend: str, sweep: str, p: int, limbs: int) -> int:
    """Return the number of columns of a window; `limbs` is 1 for floats."""
    if backend == "cpu":
        unit = 32 if limbs == 1 else householder.leaf_width(limbs, backend)
        return _host_window(sweep, unit).width(p / 2 if sweep == "rows" else p)
    return (_FLOAT_WINDOWS[sweep] if limbs == 1 else _device_window(sweep, limbs)).width(p)


def _host_window(sweep: str, unit: int) -> Window:
    return Window(unit, unit, 48 if sweep == "rows" else 96)


def _device_window(sweep: str, limbs: int) -> Window:
    """Return the window of multiple doubles on a GPU.

    Where numbers are cheap, launches and the latency of panels are not.
    """
    if sweep == "subdiagonals":
        return Window(32, 32, 32)
    if sweep == "rows":
        return Window(32, 512 // limbs, 512 // limbs)
    return Window(32, 512 // limbs, 1536, 1600 / limbs)


# On a GPU the panels of floats take nearly all of the time, whatever their windows.
_FLOAT_WINDOWS = {
    "subdiagonals": Window(64, 256, 256),
    "rows": Window(64, 256, 256),
    "spike": Window(64, 512, 1536),
}
