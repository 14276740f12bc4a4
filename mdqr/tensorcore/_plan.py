"""The options of a factorisation."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple

from mdqr.tensorcore._engine.formats import FINE, FORMATS, Format
from mdqr.tensorcore._input import choose

METHODS = ("auto", "rgs", "householder")
PANELS = ("caqr", "cholesky", "geqrf")
# How 128 columns are factored: by CholeskyQR in float64, the fastest, with the others behind it.
_panel: ContextVar[str] = ContextVar("panel", default="cholesky")


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
        """Return the plans to try one after the other: the next where a panel breaks down.

        Panels of Gram-Schmidt lose nothing of a column; reflections by "geqrf" are orthogonal too.
        Only "auto" ends with another method.
        """
        if self.method in ("auto", "rgs"):
            panels = ("cholesky", "caqr") if self.panel == "cholesky" else (self.panel,)
            plans = [self._replace(method="rgs", panel=panel) for panel in panels]
            last = [self._replace(method="householder", panel="geqrf")]
            return plans + last if self.method == "auto" else plans
        return [self, self._replace(panel="geqrf")]


def plan_of(call: str, method: str, compute: str, scale: bool = True) -> Plan:
    """Return checked options."""
    choose(call, "method", method, METHODS)
    choose(call, "compute", compute, FORMATS)
    return Plan(call, method, compute, _panel.get(), bool(scale))


def fixed_plan(call: str) -> Plan:
    """Return the options of a factorisation in float32 that has no others."""
    return Plan(call, call, "fp32", _panel.get(), True)


def with_panel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with an option `panel`, one of `PANELS`: for tests and measurements."""

    @wraps(function)
    def call(*operands: Any, panel: str | None = None, **options: Any) -> Any:
        if panel is None:
            return function(*operands, **options)
        choose(function.__name__, "panel", panel, PANELS)
        token = _panel.set(panel)
        try:
            return function(*operands, **options)
        finally:
            _panel.reset(token)

    return call
