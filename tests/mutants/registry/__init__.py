"""Every bound that a public function returns, where it is derived, and what notices a smaller one.

One line a bound. `CLOSE` are those that have to be noticed; of `COVERED` it is said why they are
not.
"""

from __future__ import annotations

from mutants.registry import others, spectra, systems

__all__ = ["CLOSE", "COVERED"]

COVERED = (*systems.COVERED, *others.CHUNKS_COVERED)

CLOSE = (
    *systems.REFINED,
    *systems.HOUSEHOLDER,
    *systems.MINIMUM_NORM,
    *systems.ANSWERS,
    *systems.DATA,
    *systems.DETERMINANTS,
    *spectra.SPECTRA,
    *spectra.GENERAL,
    *spectra.ROOTS,
    *others.UPDATES,
    *others.CHUNKS,
    *others.SERIES,
    *others.FACTORS,
    *others.STATED,
    *others.TENSORCORE,
    *others.QUADRATURE,
    *others.OPTIMIZE,
    *others.MATRIX,
)
