"""Linear algebra: products, QR factorisation, triangular systems, least squares."""

from __future__ import annotations

from mdqr.linalg._factor.certify import Certificate, certify
from mdqr.linalg._factor.qr import QRResult, qr
from mdqr.linalg._factor.qr_factor import QRFactor, qr_factor
from mdqr.linalg._factor.triangular import solve_triangular
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._products.norms import norm
from mdqr.linalg._products.standard import (
    cross,
    diagonal,
    matrix_norm,
    matrix_power,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from mdqr.linalg._solve.info import LstsqInfo
from mdqr.linalg._solve.lstsq import LstsqResult, lstsq
from mdqr.linalg._solve.solve import solve
from mdqr.linalg._update.api import qr_delete, qr_insert, qr_update
from mdqr.linalg._update.lstsq import UpdatableLstsq
from mdqr.linalg._update.operands import UpdateResult
from mdqr.linalg._update.repair import repair
from mdqr.linalg._update.solution import UpdatableLstsqInfo

__all__ = [
    "Certificate",
    "LstsqInfo",
    "LstsqResult",
    "QRFactor",
    "QRResult",
    "UpdatableLstsq",
    "UpdatableLstsqInfo",
    "UpdateResult",
    "certify",
    "cross",
    "diagonal",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "qr",
    "qr_delete",
    "qr_factor",
    "qr_insert",
    "qr_update",
    "repair",
    "solve",
    "solve_triangular",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
