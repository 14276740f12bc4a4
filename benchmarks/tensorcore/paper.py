"""What S. Zhang, E. Baharlouei and P. Wu print (HPDC 2020), and the estimates they derive from it.

Their machine is one NVIDIA V100 (PCIe) with CUDA 10.1. Figures are pictures there: of their bars
and points only what the text repeats is a number.
"""

from __future__ import annotations

from typing import NamedTuple

MACHINE = "V100"
# Of figures 1 and 2, and of most experiments.
ROWS, COLUMNS = 32768, 16384


class Rates(NamedTuple):
    """A line of table 3, in TFLOP/s: products ``A^T B`` and ``A B``, and geqrf in float32."""

    inner_low: float
    inner: float
    outer_low: float
    outer: float
    geqrf: float


TABLE_3 = {
    128: Rates(8.45, 1.83, 4.44, 2.28, 0.10),
    256: Rates(30.17, 4.19, 11.39, 5.91, 0.14),
    512: Rates(56.48, 8.23, 58.05, 10.19, 0.36),
    1024: Rates(72.39, 12.43, 77.58, 12.80, 0.79),
    2048: Rates(93.53, 13.54, 87.29, 13.56, 1.55),
    4096: Rates(97.82, 12.31, 92.72, 12.81, 2.71),
    8192: Rates(92.75, 12.94, 92.20, 13.04, 4.39),
    16384: Rates(82.32, 12.96, 83.40, 13.12, 6.67),
}
# Errors of rank r, by both programs, and milliseconds: theirs, and cuSOLVER's in float32.
TABLE_4 = {16: 9.77e-01, 64: 9.08e-01, 128: 8.18e-01, 256: 6.49e-01, 512: 3.53e-01}
TABLE_4_TIMES = (274.95, 1755.19)
CAQR_PANEL, CAQR_ESTIMATE, CAQR_MEASURED = 0.33, 27.0, 26.2


def product(rates: Rates, low: bool) -> float:
    """Return the rate of as many products of one kind as of the other."""
    one, other = (rates.inner_low, rates.outer_low) if low else (rates.inner, rates.outer)
    return 2 / (1 / one + 1 / other)


def householder(table: dict[int, Rates], width: int, low: bool) -> float:
    """Return formula (4): blocked Householder QR with geqrf for panels of some width."""
    panels = COLUMNS / width
    here = table[width]
    return (panels + 2) / (2 / here.geqrf + panels / product(here, low))


def recursive(table: dict[int, Rates], width: int, low: bool, panel: float | None = None) -> float:
    """Return formula (7): recursive Gram-Schmidt down to panels, of geqrf unless told."""
    speed = table[width].geqrf if panel is None else panel
    columns = width
    while columns < COLUMNS:
        speed = 2 / (1 / speed + 1 / product(table[columns], low))
        columns *= 2
    return speed


def as_householder(speed: float) -> float:
    """Return a rate of ``2 m n^2`` operations as one of those that Householder QR needs."""
    return speed * (1 - COLUMNS / (3 * ROWS))
