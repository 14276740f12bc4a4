"""Linear algebra: products, QR factorisation, triangular systems, least squares."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from mdqr.linalg._factor.backward_error import FactorInfo
from mdqr.linalg._factor.certify import Certificate, certify
from mdqr.linalg._factor.cholesky import cho_solve, cholesky
from mdqr.linalg._factor.determinant import SlogdetResult, det, slogdet
from mdqr.linalg._factor.indefinite.ldl import LDLResult, ldl
from mdqr.linalg._factor.lu import LUFactors, lu_factor, lu_solve
from mdqr.linalg._factor.qr import QRPResult, QRResult, qr
from mdqr.linalg._factor.qr_factor import QRFactor, qr_factor
from mdqr.linalg._factor.substitution import solve_triangular
from mdqr.linalg._general.eig import eig, eigvals
from mdqr.linalg._general.forms import (
    HessenbergResult,
    RQResult,
    eigh_tridiagonal,
    hessenberg,
    rq,
)
from mdqr.linalg._general.pairs.qz import OrdQZResult, QZResult, ordqz, qz
from mdqr.linalg._general.results import EigInfo, EigResult
from mdqr.linalg._general.schur import SchurResult, schur
from mdqr.linalg._matrix.are import solve_continuous_are, solve_discrete_are
from mdqr.linalg._matrix.by_inverse import cond, matrix_power
from mdqr.linalg._matrix.expm import coshm, cosm, expm, sinhm, sinm
from mdqr.linalg._matrix.frechet import FrechetResult, expm_cond, expm_frechet
from mdqr.linalg._matrix.funm import funm
from mdqr.linalg._matrix.lyapunov import (
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from mdqr.linalg._matrix.sqrtm import logm, signm, sqrtm
from mdqr.linalg._matrix.tangents import fractional_matrix_power, tanhm, tanm
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._products.standard import (
    cross,
    diagonal,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vecdot,
)
from mdqr.linalg._products.structured import (
    block_diag,
    circulant,
    hankel,
    khatri_rao,
    toeplitz,
)
from mdqr.linalg._roots.roots import RootsResult, companion, roots
from mdqr.linalg._shared.info import Info
from mdqr.linalg._solve.banded import solve_banded, solve_toeplitz, solveh_banded
from mdqr.linalg._solve.info import LstsqInfo
from mdqr.linalg._solve.lstsq import LstsqResult, lstsq
from mdqr.linalg._solve.ranks.info import RankInfo
from mdqr.linalg._solve.solve import inv, solve
from mdqr.linalg._spectral.eigh import EighResult, eigh, eigvalsh
from mdqr.linalg._spectral.info import SpectralInfo
from mdqr.linalg._spectral.nearest import LowRankResult, PolarResult, lowrank, polar
from mdqr.linalg._spectral.norms import matrix_norm, norm, vector_norm
from mdqr.linalg._spectral.rank import matrix_rank, null_space, pinv
from mdqr.linalg._spectral.subspaces import orth, subspace_angles
from mdqr.linalg._spectral.svd import SVDResult, svd, svdvals
from mdqr.linalg._update.api import qr_delete, qr_insert, qr_update
from mdqr.linalg._update.lstsq import UpdatableLstsq
from mdqr.linalg._update.operands import UpdateResult
from mdqr.linalg._update.repair import repair
from mdqr.linalg._update.solution import UpdatableLstsqInfo

LinAlgError = np.linalg.LinAlgError

__all__ = [
    "Certificate",
    "EigInfo",
    "EigResult",
    "EighResult",
    "FactorInfo",
    "FrechetResult",
    "HessenbergResult",
    "Info",
    "LDLResult",
    "LUFactors",
    "LinAlgError",
    "LowRankResult",
    "LstsqInfo",
    "LstsqResult",
    "OrdQZResult",
    "PolarResult",
    "QRFactor",
    "QRPResult",
    "QRResult",
    "QZResult",
    "RQResult",
    "RankInfo",
    "RootsResult",
    "SVDResult",
    "SchurResult",
    "SlogdetResult",
    "SpectralInfo",
    "UpdatableLstsq",
    "UpdatableLstsqInfo",
    "UpdateResult",
    "block_diag",
    "certify",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "cond",
    "coshm",
    "cosm",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "expm",
    "expm_cond",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "hessenberg",
    "inv",
    "khatri_rao",
    "ldl",
    "logm",
    "lowrank",
    "lstsq",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "null_space",
    "ordqz",
    "orth",
    "outer",
    "pinv",
    "polar",
    "qr",
    "qr_delete",
    "qr_factor",
    "qr_insert",
    "qr_update",
    "qz",
    "repair",
    "roots",
    "rq",
    "schur",
    "signm",
    "sinhm",
    "sinm",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "subspace_angles",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "tensordot",
    "toeplitz",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> NoReturn:
    if name in np.linalg.__all__:
        raise AttributeError(
            f"mdqr.linalg has no {name} yet; numpy.linalg.{name}(a.to_numpy()) computes with the "
            "nearest float64 values"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
