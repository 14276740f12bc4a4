"""The options of a factorisation."""

from __future__ import annotations

from typing import NamedTuple

from mdqr.tensorcore._formats import FINE, FORMATS, Format
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
        """What the operands of products are rounded to."""
        form = FORMATS[self.compute]
        return form if self.scale else form._replace(exponent=0)

    @property
    def fine(self) -> Format:
        """The same for Q, when it is orthogonalised again: its columns are scaled already."""
        return FORMATS[FINE[self.compute]]


def plan_of(call: str, method: str, compute: str, panel: str, scale: bool) -> Plan:
    """Return checked options."""
    choose(call, "method", method, METHODS)
    choose(call, "compute", compute, FORMATS)
    choose(call, "panel", panel, PANELS)
    return Plan(call, method, compute, panel, bool(scale))
