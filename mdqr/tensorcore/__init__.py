"""QR factorisation with float32 data and products on tensor cores; experimental."""

from __future__ import annotations

from mdqr import _stability
from mdqr.tensorcore._blocked import blocked_householder
from mdqr.tensorcore._lowrank import LowRankResult, lowrank
from mdqr.tensorcore._lstsq import LstsqInfo, LstsqResult, lstsq
from mdqr.tensorcore._orthogonalize import Basis, orthogonalize
from mdqr.tensorcore._qr import qr
from mdqr.tensorcore._results import Factors, QRInfo, QRResult

__all__ = [
    "Basis",
    "Factors",
    "LowRankResult",
    "LstsqInfo",
    "LstsqResult",
    "QRInfo",
    "QRResult",
    "blocked_householder",
    "lowrank",
    "lstsq",
    "orthogonalize",
    "qr",
]


def __dir__() -> list[str]:
    return sorted(__all__)


for _class in (Basis, Factors, LowRankResult, LstsqInfo, LstsqResult, QRInfo, QRResult):
    _class.__module__ = "mdqr.tensorcore"
for _name in __all__:
    _stability.experimental(globals()[_name])
