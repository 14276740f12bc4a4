"""Every bound that a public function returns, where it is derived, and what notices a smaller one.

One line a bound. `CLOSE` are those that have to be noticed; of `COVERED` it is said why they are
not.
"""

from __future__ import annotations

from mutants import data, expansions, factored, solutions, stated, steps, updates
from mutants.judges import Family, Tests
from mutants.mutant import Mutant

_LINALG = "mdqr.linalg."
_SOLVE = _LINALG + "_solve."
_FACTOR = _LINALG + "_factor."
_DET = _FACTOR + "determinants."
_SPECTRAL = _LINALG + "_spectral."
_GENERAL = _LINALG + "_general."
_ROOTS = _LINALG + "_roots."
_UPDATE = _LINALG + "_update."
_SERIES = "mdqr.series."

# Solutions by approximate inverses, in steps. Errors of residuals show where limbs are few: steps
# of od end long before.
_INVERSE = _SOLVE + "refine.approximate_inverse:"
_STEPS = (solutions.SQUARE, solutions.TALL)
_FEW = ("d", "dd", "qd")
REFINED = (
    Mutant(_INVERSE + "ApproximateInverse.correction", _STEPS, "1"),
    Mutant(_INVERSE + "ApproximateInverse.correction", _STEPS, argument="delta", precisions=_FEW),
    Mutant(_SOLVE + "refine.problem:Problem._products", _STEPS, precisions=("dd", "qd")),
    Mutant(_SOLVE + "refine.ladder:climb", (solutions.NORMAL,), "1", precisions=("d",)),
    Mutant(_INVERSE + "Operand.measured", (factored.INVERSES,), "rate"),
    Mutant(_INVERSE + "Operand.measured", (factored.INVERSES,), "rows"),
    Mutant(_INVERSE + "Operand.off", (factored.INVERSES,)),
    Mutant(_INVERSE + "Gram.inverse", (factored.INVERSES,), "rate"),
    Mutant(_INVERSE + "Gram.inverse", (factored.INVERSES,), "rows"),
    Mutant(_INVERSE + "constant", (factored.INVERSES,)),
    Mutant(_SOLVE + "refine.split:error_norm", (factored.HALVES,)),
    Mutant(_SOLVE + "refine.split:error_of_rows", (factored.HALVES,)),
)

# By Householder QR.
_QR = (solutions.SQUARE_BY_QR, solutions.TALL_BY_QR, solutions.HARD_BY_QR)
_LEFT = (factored.FACTORS,)
_BY_QR = _SOLVE + "householder."
HOUSEHOLDER = (
    Mutant(_BY_QR + "augmented:normwise_bound", _QR, precisions=_FEW),
    Mutant(_BY_QR + "augmented:contraction_limit", _LEFT),
    Mutant(_BY_QR + "augmented:_weighted_norm", _LEFT),
    Mutant(_BY_QR + "componentwise:bound_components", _QR),
    Mutant(_BY_QR + "componentwise:_error_of_f", _QR),
    Mutant(_BY_QR + "componentwise:_error_of_g", _QR[::-1], precisions=("dd", "qd", "od")),
    Mutant(_BY_QR + "componentwise:Evaluated.error", (factored.RESIDUALS,), precisions=("d",)),
    Mutant(_BY_QR + "pseudo_inverse:Inverse.bound", _QR),
    Mutant(_BY_QR + "pseudo_inverse:Inverse._measured", _LEFT, "0"),
    Mutant(_BY_QR + "pseudo_inverse:Inverse._measured", _LEFT, "1"),
    Mutant(_BY_QR + "pseudo_inverse:Inverse._estimated", _LEFT, "0"),
    Mutant(_BY_QR + "pseudo_inverse:Inverse._estimated", _LEFT, "1"),
    Mutant(_BY_QR + "extended:Extension.rounding", _QR, precisions=("d", "dd")),
)

# Shortest solutions.
_WIDE = (solutions.WIDE, solutions.WIDE_BY_QR, solutions.HARD_WIDE)
_SHORT = _SOLVE + "minimum_norm."
MINIMUM_NORM = (
    Mutant(_SHORT + "basis:Basis.bound", _WIDE),
    Mutant(_SHORT + "basis:Basis.bound", _WIDE, argument="error"),
    Mutant(_SHORT + "basis:Basis.bound", (factored.SHORTEST,), argument="g"),
    Mutant(_SHORT + "basis:Basis.of_inverse", (factored.SHORTEST,), "rate"),
    Mutant(_SHORT + "basis:Basis.of_factors", (factored.SHORTEST,), "rate", precisions=_FEW),
    Mutant(_SHORT + "answer:_Problem._summed", _WIDE, precisions=("dd", "qd", "od")),
)

# What lstsq, solve and inv return of all these, and of small systems.
_LSTSQ = Family("lstsq", 30)
_SQUARE = Family("solve", 30)
_HARD = Family("lstsq by Householder", 60, first=105)
_CLOSE = "tests/solve/test_close_bounds.py::test_the_bound_is_the_error_but_for_little"
ANSWERS = (
    Mutant(_SOLVE + "answer:_unknowns", (_LSTSQ,), "bound"),
    Mutant(_SOLVE + "answer:_unknowns", (_HARD,), "relative", precisions=("d", "od")),
    Mutant(_SOLVE + "answer:Answer.report", (_HARD,), "bound"),
    Mutant(_SOLVE + "answer:Answer.report", (_HARD,), "digits", kind="digits"),
    Mutant(_SOLVE + "ways.small:SmallAnswer.report", (_LSTSQ,), "bound"),
    Mutant(
        _SOLVE + "ways.small:SmallAnswer.report",
        (_LSTSQ,),
        "digits",
        kind="digits",
        precisions=_FEW,
    ),
    Mutant(
        _SOLVE + "ways.small:SmallAnswer._cut",
        (Family("solve", 30, first=83),),
        precisions=("d", "dd"),
    ),
    Mutant("mdqr._backend.host.backend:HostBackend.lstsq_small", (_LSTSQ,), "error"),
    Mutant("mdqr._backend.host.backend:HostBackend.solve_small", (_SQUARE,), "error"),
    Mutant(_SHORT + "deficient:_solution", (Tests(_CLOSE, "{}-basic"),), "bound"),
    Mutant(_SHORT + "deficient:_shortest", (Tests(_CLOSE, "{}-by rank"),), "1", precisions=("od",)),
)

# For all data within their errors.
_WITHIN = (data.TALL, data.SOLVE, data.INV)
DATA = (
    Mutant(_SOLVE + "data_error:moved", _WITHIN),
    Mutant(_SOLVE + "data_error:solution_error", _WITHIN),
    Mutant(_SOLVE + "data_error:_inverses", _WITHIN, "0"),
    Mutant(_SOLVE + "data_error:_inverses", _WITHIN, "1"),
    Mutant(_SOLVE + "data_error:_of_float64", _WITHIN, "0"),
    Mutant(_SOLVE + "data_error:_of_float64", _WITHIN, "1"),
    Mutant(_SHORT + "wide:Wide.moved", (data.WIDE,)),
)

_DETERMINANT = Family("det", 25)
_UNROUNDED = (steps.DETERMINANTS,)
DETERMINANTS = (
    Mutant(_FACTOR + "determinant:_error_bound", (_DETERMINANT,)),
    Mutant(_DET + "problem:cut_off", (_DETERMINANT,), precisions=("d", "dd", "qd")),
    Mutant(_DET + "problem:Problem.data_error", (_DETERMINANT,), kind="log2"),
    Mutant(_DET + "exact:Integer.distance", (_DETERMINANT,)),
    Mutant(_DET + "elimination:Elimination.rows", (steps.ELIMINATION,), "1", precisions=_FEW),
    Mutant(
        _DET + "elimination:Elimination.found",
        _UNROUNDED,
        "error",
        kind="log2",
        precisions=("d", "dd"),
    ),
    Mutant(
        _DET + "elimination:Elimination.by_inverse",
        _UNROUNDED,
        "error",
        kind="log2",
        precisions=("d",),
    ),
    Mutant(_DET + "inverse:Inverse.rows", (steps.INVERSES,)),
    Mutant(_DET + "inverse:Inverse.trace", (steps.INVERSES,)),
    Mutant(_DET + "inverse:of", (steps.INVERSES,), "spread"),
)

# Singular values, eigenvalues of Hermitian matrices, pseudoinverses.
_BOUNDS = _SPECTRAL + "residual_bounds:"
_VALUES = (Family("svd", 12), Family("eigh", 12), Family("eigh of two", 12))
_OF_SPECTRA = "tests/spectral/test_spectral_bounds.py::"
_VECTORS = (Tests(_OF_SPECTRA + "test_vectors"), Tests(_OF_SPECTRA + "test_vectors_of_a_pair"))
_MOVED = (Tests(_OF_SPECTRA + "test_data_errors"),)
_PINV = (Family("pinv", 12),)
SPECTRA = (
    Mutant(_BOUNDS + "residual", (steps.HERMITIAN,), "1", precisions=_FEW),
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
    Mutant(_SPECTRAL + "claims:_sharper", _VALUES, precisions=_FEW),
    Mutant(_SPECTRAL + "claims:_scaled", _VALUES),
    Mutant(_SPECTRAL + "claims:_entry_errors", _MOVED),
    Mutant(_SPECTRAL + "claims:of_hermitian", _VALUES, "values"),
    Mutant(_SPECTRAL + "claims:of_hermitian", _VECTORS, "vectors"),
    Mutant(_SPECTRAL + "claims:of_hermitian", _MOVED, "data"),
    Mutant(_SPECTRAL + "claims:of_singular", _VALUES, "values"),
    Mutant(_SPECTRAL + "claims:of_singular", _VECTORS, "vectors"),
    Mutant(_SPECTRAL + "claims:of_singular", _MOVED, "data"),
    Mutant(_SPECTRAL + "inverse_bounds:_residuals", (Family("pinv", 40, first=39),), "0"),
    Mutant(_SPECTRAL + "inverse_bounds:_residuals", _PINV, "1"),
    Mutant(_SPECTRAL + "inverse_bounds:_combined", _PINV),
    Mutant(_SPECTRAL + "inverse_bounds:_bounds", _PINV, "0"),
    Mutant(_LINALG + "_shared.info:Info.digits", _VALUES, kind="digits"),
    Mutant(_LINALG + "_shared.info:Info.error_bound", (steps.LOGARITHMS,), precisions=_FEW),
)

# Eigenvalues of other matrices and of pairs, and Schur forms.
_EIG = (Family("eig", 12), Family("eig of pairs", 12))
_CLAIMS = "tests/spectral/test_eig_claims.py::"
GENERAL = (
    Mutant(_GENERAL + "certificate:perturbation", (steps.PERTURBATIONS,), "moduli"),
    Mutant(_GENERAL + "certificate:perturbation", (steps.PERTURBATIONS,), "off"),
    Mutant(_GENERAL + "certificate:certified", _EIG, "disks.radii"),
    Mutant(_GENERAL + "matrix:Matrix.remainder", (steps.GENERAL,), "error"),
    Mutant(_GENERAL + "matrix:Matrix.radii", _EIG),
    Mutant(_GENERAL + "matrix:Matrix.data_perturbation", (Family("eig", 30, first=25),)),
    Mutant(_GENERAL + "pencil:Pair.remainder", (steps.GENERAL,), "error"),
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

_UPDATES = (Family("UpdatableLstsq", 15),)
_STREAMS = (*_UPDATES, Family("streams without data", 30))
UPDATES = (
    Mutant(_UPDATE + "solution:_with_data", _UPDATES, "bound"),
    Mutant(_UPDATE + "solution:_without_data", _STREAMS, "bound", precisions=_FEW),
    Mutant(_UPDATE + "solution:_in_units", _UPDATES, "0"),
    Mutant(_UPDATE + "solution:_in_units", _UPDATES, "1"),
    Mutant(_UPDATE + "solution:_distance", (updates.DRIFTED,)),
    Mutant(_UPDATE + "loss:lost_digits", _STREAMS),
)

_COEFFICIENTS = (expansions.COEFFICIENTS,)
_RADIUS = (Family("radius", 25),)
SERIES = (
    Mutant(_SERIES + "_solver.digits:perturbed", _COEFFICIENTS, "1", precisions=_FEW),
    Mutant(_SERIES + "_solver.solution:SeriesSolution.errors", _COEFFICIENTS, precisions=_FEW),
    Mutant(
        _SERIES + "_solver.solution:SeriesSolution.digits",
        _COEFFICIENTS,
        kind="digits",
        precisions=("d", "dd"),
    ),
    Mutant(_SERIES + "_analysis.limits:limit", _RADIUS, "uncertainty"),
    Mutant(_SERIES + "_analysis.radius:_best", _RADIUS, "found.uncertainty"),
    Mutant(_SERIES + "_analysis.radius:_outward", _RADIUS, "uncertainty"),
    Mutant(_SERIES + "_analysis.radius:_pole_error", (Family("radius", 60, first=100),)),
    Mutant(_SERIES + "_analysis.pade:_rounding", (Family("pade", 20),)),
    Mutant(_SERIES + "_analysis.pade:_solved", (expansions.DENOMINATORS,), "1", precisions=_FEW),
)

_SWEEP = Tests(
    "tests/factor/test_qr_refined.py::test_a_sweep_from_any_factors_stays_within_its_bounds"
)
FACTORS = (
    Mutant(_FACTOR + "certify:_quotients", (stated.CERTIFICATES,)),
    Mutant(_FACTOR + "certify:_orthogonality", (stated.CERTIFICATES,)),
    Mutant(_FACTOR + "refine.sweep:Sweeps.left", (_SWEEP,), "0", precisions=("od",)),
    Mutant(_FACTOR + "refine.sweep:Sweeps.left", (_SWEEP,), "1", precisions=("od",)),
    Mutant(
        _LINALG + "_products.exact.lines:sufficient_bits",
        (stated.AUTO_PRODUCTS,),
        kind="log2",
        precisions=("dd", "qd", "od"),
    ),
    Mutant(
        _LINALG + "_products.exact.lines:full_bits",
        (stated.EXACT_PRODUCTS,),
        kind="log2",
        precisions=("dd", "qd", "od"),
    ),
)

# Bounds that docstrings state, as constants of the judges.
_JUDGES = "adversarial."
STATED = (
    Mutant(_JUDGES + "factors:stated", (Family("solve_triangular", 40),)),
    Mutant(_JUDGES + "factors:_UNREFINED", (Family("qr_factor", 40),), precisions=_FEW),
    Mutant(
        _JUDGES + "extremes:stated",
        (Family("lu_solve and cho_solve", 40, first=154),),
        precisions=("d", "dd"),
    ),
    Mutant(_JUDGES + "updates:stated", (Family("UpdatableLstsq", 40),)),
    Mutant(_JUDGES + "tensors:stated", (Family("tensorcore", 40),), precisions=("d",)),
    Mutant(_JUDGES + "tensors:_FACTOR", (Family("tensorcore", 40),), precisions=("d",)),
    Mutant("mutants.stated:OF_QR", (stated.FACTORS,)),
    Mutant("mutants.stated:OF_REPAIR", (stated.REPAIRED,), precisions=("d", "dd")),
)

_REACHED = "tests/tensorcore/test_tensorcore_qr.py::test_orthogonalize_says_what_it_reached"
_LOST = "tests/tensorcore/test_tensorcore_lstsq_honesty.py::"
TENSORCORE = (
    Mutant("mdqr.tensorcore._algorithms.correction:_size", (Tests(_REACHED),), precisions=("d",)),
    Mutant(
        "mdqr.tensorcore._algorithms.lanczos:Lanczos.least",
        (Tests(_LOST + "test_small_singular_values_that_the_format_loses"),),
        kind="below",
        precisions=("d",),
    ),
)

CLOSE = (
    *REFINED, *HOUSEHOLDER, *MINIMUM_NORM, *ANSWERS, *DATA, *DETERMINANTS, *SPECTRA, *GENERAL,
    *ROOTS, *UPDATES, *SERIES, *FACTORS, *STATED, *TENSORCORE,
)  # fmt: skip
# Terms beside which others are larger in every problem that was found: nothing shows them.
COVERED = (
    Mutant(
        _BY_QR + "componentwise:Sums.error",
        _QR,
        survives="errors of residuals in eps**2, below what the step itself leaves of them",
    ),
    Mutant(
        _SOLVE + "system:System.underflow",
        _QR,
        survives="what scaling loses is less than the smallest double of x, to which x is rounded",
    ),
    Mutant(
        _BY_QR + "componentwise:UNDERFLOW",
        _QR,
        survives="as before, of products in residuals",
    ),
    Mutant(
        _DET + "elimination:Elimination._rounding",
        _UNROUNDED,
        survives="of the product of pivots, a part of the errors of L and U",
    ),
    Mutant(
        _DET + "elimination:Elimination.corrected",
        _UNROUNDED,
        "error",
        kind="log2",
        precisions=("od",),
        survives="of od alone, whose eps is 2**7 times what operations err by; 2**15 above errors",
    ),
)
