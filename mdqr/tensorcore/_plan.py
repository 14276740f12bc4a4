"""The options of a factorisation."""

from __future__ import annotations

from typing import NamedTuple

from mdqr.tensorcore._engine.formats import FINE, FORMATS, Format
from mdqr.tensorcore._input import choose

METHODS = ("rgs", "householder")
PANELS = ("caqr", "cholesky", "geqrf")


class Plan(NamedTuple):
    """The options of a factorisation."""

    call: str
    method: str
    compute: str
    panel: str
    scale: bool

    @property
    def form(self) -> Format:
        """The format to which operands of products are rounded."""
        form = FORMATS[self.compute]
        return form if self.scale else form._replace(exponent=0)

    @property
    def fine(self) -> Format:
        """The same for Q, when it is orthogonalised again: its columns are scaled already."""
        return FORMATS[FINE[self.compute]]

    def fallbacks(self) -> list[Plan]:
        """Return this plan, and what takes its place where a panel breaks down: the last has none.

        Panels of Gram-Schmidt lose nothing of a column; reflections by "geqrf" are orthogonal too.
        """
        if self.method == "rgs":
            panels = ("cholesky", "caqr") if self.panel == "cholesky" else (self.panel,)
            plans = [self._replace(panel=panel) for panel in panels]
            return [*plans, self._replace(method="householder", panel="geqrf")]
        return [self, self._replace(panel="geqrf")]


def plan_of(call: str, method: str, compute: str, panel: str, scale: bool) -> Plan:
    """Return checked options."""
    choose(call, "method", method, METHODS)
    choose(call, "compute", compute, FORMATS)
    choose(call, "panel", panel, PANELS)
    return Plan(call, method, compute, panel, bool(scale))
