"""Bounds of eigenvalues, singular values, their vectors, and roots."""

from __future__ import annotations

from mutants import steps
from mutants.judges import Family, Tests
from mutants.mutant import NOT_HD, NOT_OD, Mutant

_LINALG = "mdqr.linalg."
_SPECTRAL = _LINALG + "_spectral."
_GENERAL = _LINALG + "_general."
_ROOTS = _LINALG + "_roots."

# Singular values, eigenvalues of Hermitian matrices, pseudoinverses.
_BOUNDS = _SPECTRAL + "residual_bounds:"
_VALUES = (Family("svd", 12), Family("eigh", 12), Family("eigh of two", 12))
_OF_SPECTRA = "tests/spectral/test_spectral_bounds.py::"
_VECTORS = (Tests(_OF_SPECTRA + "test_vectors"), Tests(_OF_SPECTRA + "test_vectors_of_a_pair"))
_MOVED = (Tests(_OF_SPECTRA + "test_data_errors"),)
_PINV = (Family("pinv", 12),)
SPECTRA = (
    # Vectors of qd are so near that the rounding of the residual is far below its bound.
    Mutant(_BOUNDS + "residual", (steps.HERMITIAN,), "1", precisions=("d", "dd")),
    Mutant(_BOUNDS + "product", (steps.HERMITIAN,), "sizes"),
    Mutant(_BOUNDS + "departure", (steps.HERMITIAN,)),
    Mutant(_BOUNDS + "_of_pair", (steps.HERMITIAN,), "z"),
    Mutant(_BOUNDS + "_of_pair", (steps.HERMITIAN,), "g"),
    Mutant(_BOUNDS + "amplified", _VALUES),
    Mutant(_BOUNDS + "bounds", _VALUES, "values"),
    Mutant(_BOUNDS + "bounds", _VECTORS, "sines"),
    Mutant(_BOUNDS + "bounds", (steps.HERMITIAN,), "lengths"),
    Mutant(_SPECTRAL + "singular_bounds:of_values", _VALUES, "values"),
    Mutant(_SPECTRAL + "singular_bounds:sides", (steps.SINGULAR,), "outside"),
    Mutant(_SPECTRAL + "singular_bounds:sides", _VECTORS, "columns"),
    Mutant(_SPECTRAL + "disks:disks", _VALUES, "radii"),
    Mutant(_SPECTRAL + "disks:linked", _VALUES, "radii", precisions=("dd",)),
    Mutant(_SPECTRAL + "claims:_sharper", _VALUES, precisions=NOT_OD),
    Mutant(_SPECTRAL + "claims:_scaled", _VALUES),
    Mutant(_SPECTRAL + "claims:_entry_errors", _MOVED),
    Mutant(_SPECTRAL + "claims:of_hermitian", _VALUES, "values"),
    Mutant(_SPECTRAL + "claims:of_hermitian", _VECTORS, "vectors"),
    Mutant(_SPECTRAL + "claims:of_hermitian", _MOVED, "data"),
    Mutant(_SPECTRAL + "claims:of_singular", _VALUES, "values"),
    Mutant(_SPECTRAL + "claims:of_singular", _VECTORS, "vectors"),
    Mutant(_SPECTRAL + "claims:of_singular", _MOVED, "data"),
    Mutant(_SPECTRAL + "inverse_bounds:_residuals", (Family("pinv", 40, first=39),), "0"),
    Mutant(_SPECTRAL + "inverse_bounds:_residuals", _PINV, "1", precisions=("dd", "qd", "od")),
    Mutant(_SPECTRAL + "inverse_bounds:_combined", _PINV),
    Mutant(_SPECTRAL + "inverse_bounds:_bounds", _PINV, "0"),
    Mutant(_LINALG + "_shared.info:Info.digits", _VALUES, kind="digits"),
    Mutant(_LINALG + "_shared.info:Info.error_bound", (steps.LOGARITHMS,), precisions=NOT_OD),
)

# Eigenvalues of other matrices and of pairs, and Schur forms.
_EIG = (Family("eig", 20), Family("eig of pairs", 20))
_CLAIMS = "tests/spectral/test_eig_claims.py::"
GENERAL = (
    Mutant(_GENERAL + "certificate:perturbation", (steps.PERTURBATIONS,), "moduli"),
    Mutant(_GENERAL + "certificate:perturbation", (steps.PERTURBATIONS,), "off"),
    Mutant(_GENERAL + "certificate:certified", _EIG, "disks.radii"),
    Mutant(_GENERAL + "matrix:Matrix.remainder", (steps.GENERAL,), "error", precisions=NOT_HD),
    Mutant(_GENERAL + "matrix:Matrix.radii", _EIG),
    Mutant(_GENERAL + "matrix:Matrix.data_perturbation", (Family("eig", 30, first=25),)),
    Mutant(_GENERAL + "pencil:Pair.remainder", (steps.GENERAL,), "error", precisions=NOT_HD),
    Mutant(_GENERAL + "pencil:Pair.remainder", (steps.GENERAL,), "off"),
    Mutant(_GENERAL + "pencil:Pair.radii", _EIG[::-1]),
    Mutant(_GENERAL + "pencil:Pair._shifted", (steps.GENERAL,), "1"),
    Mutant(_GENERAL + "pencil:Pair.data_perturbation", (steps.MOVED_PAIRS,)),
    Mutant(
        _GENERAL + "vector_bounds:other_components",
        (Tests(_CLAIMS + "test_components_along_other_vectors"),),
    ),
    Mutant(
        _GENERAL + "vector_bounds:distances_of", (Tests(_CLAIMS + "test_distances_of_vectors"),)
    ),
    Mutant(_GENERAL + "vector_bounds:of_inverse", (steps.PERTURBATIONS,), "0"),
    Mutant(_GENERAL + "vector_bounds:of_inverse", (steps.PERTURBATIONS,), "1"),
    Mutant(_GENERAL + "conclusion:Conclusion.vector_bound", _EIG, precisions=("d", "dd")),
    Mutant(_GENERAL + "conclusion:Conclusion.data_error_bound", _EIG),
    Mutant(_GENERAL + "schur_info:ErrorsOfForm.bounds", (steps.SCHUR,), "0"),
    Mutant(_GENERAL + "schur_info:ErrorsOfForm.bounds", (steps.SCHUR,), "1"),
    Mutant(_GENERAL + "schur_info:ErrorsOfForm.bounds", (steps.SCHUR,), "3"),
)

_DISKS = (Family("roots", 20),)
ROOTS = (
    Mutant(_ROOTS + "isolation:_newton", _DISKS, "radius", kind="log2"),
    # Of multiple roots, whose exact places are far nearer than clusters would be.
    Mutant(
        _ROOTS + "isolation:_pellet",
        (Family("roots", 60, first=88),),
        "radius",
        kind="log2",
        precisions=("d", "dd"),
    ),
    Mutant(_ROOTS + "smith:enclosed", _DISKS, "radii"),
    Mutant(_ROOTS + "values:_rounded", _DISKS, "radius"),
    Mutant(_ROOTS + "values:Found.data_bounds", _DISKS),
)
