"""Names of types in signatures: words that options take, and arrays that are returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdqr._precision import Precision, PrecisionName

PrecisionLike: TypeAlias = "Precision | PrecisionName"

SolveMethod: TypeAlias = Literal["auto", "householder", "refine"]
QRMode: TypeAlias = Literal["reduced", "complete", "r", "raw"]
MatmulMethod: TypeAlias = Literal["auto", "direct", "exact"]
UpdateMethod: TypeAlias = Literal["auto", "update", "fresh"]
Line: TypeAlias = Literal["row", "col"]
Uplo: TypeAlias = Literal["L", "U"]
Side: TypeAlias = Literal["left", "right"]
Transposition: TypeAlias = Literal[0, 1, 2, "N", "T", "C"]
MatrixOrder: TypeAlias = Literal["fro", "nuc"]
Order: TypeAlias = Literal["C", "F", "A", "K"]
QuantileMethod: TypeAlias = Literal["linear", "lower", "higher", "midpoint", "nearest"]
RadiusMethod: TypeAlias = Literal["auto", "fabry", "recurrence", "pade"]
Compute: TypeAlias = Literal["fp16", "fp16x2", "bf16", "tf32", "fp32"]
TensorMethod: TypeAlias = Literal["auto", "rgs", "householder"]

# As checkers see them: on a GPU they are CuPy's, without axes NumPy's scalars.
Mask: TypeAlias = "NDArray[np.bool_]"
Places: TypeAlias = "NDArray[np.int64]"
Floats: TypeAlias = "NDArray[np.float64]"
NumberArray: TypeAlias = "NDArray[np.float32 | np.float64]"
