"""Bounds of solutions of linear systems and least squares, and of determinants."""

from __future__ import annotations

from mutants import data, factored, solutions, steps
from mutants.judges import Family, Tests
from mutants.mutant import NOT_HD, NOT_OD, Mutant

_KERNELS = "mdqr._backend.host.backend:HostBackend."
_LINALG = "mdqr.linalg."
_SOLVE = _LINALG + "_solve."
_FACTOR = _LINALG + "_factor."
_DET = _FACTOR + "determinants."

# Solutions by approximate inverses, in steps. Errors of residuals show where limbs are few: steps
# of od end long before.
_INVERSE = _LINALG + "_inverse."
_APPROXIMATE = _INVERSE + "approximate_inverse:"
_STEPS = (solutions.SQUARE, solutions.TALL)
REFINED = (
    Mutant(_APPROXIMATE + "ApproximateInverse.correction", _STEPS, "1"),
    Mutant(
        _APPROXIMATE + "ApproximateInverse.correction", _STEPS, argument="delta", precisions=NOT_OD
    ),
    Mutant(_SOLVE + "refinement:Refinement._products", _STEPS, precisions=("dd", "qd")),
    Mutant(_SOLVE + "solvers.climb:climb", (solutions.NORMAL,), "1", precisions=("d",)),
    Mutant(_APPROXIMATE + "Operand.measured", (factored.INVERSES,), "rate"),
    Mutant(_APPROXIMATE + "Operand.measured", (factored.INVERSES,), "rows"),
    Mutant(_APPROXIMATE + "Operand.off", (factored.INVERSES,), precisions=NOT_HD),
    Mutant(_APPROXIMATE + "Gram.inverse", (factored.INVERSES,), "rate"),
    Mutant(_APPROXIMATE + "Gram.inverse", (factored.INVERSES,), "rows"),
    Mutant(_APPROXIMATE + "constant", (factored.INVERSES,), precisions=NOT_HD),
    Mutant(_INVERSE + "split:error_norm", (factored.HALVES,)),
    Mutant(_INVERSE + "split:error_of_rows", (factored.HALVES,)),
)

# By Householder QR.
_QR = (solutions.SQUARE_BY_QR, solutions.TALL_BY_QR, solutions.HARD_BY_QR)
_LEFT = (factored.FACTORS,)
_BY_QR = _SOLVE + "householder."
HOUSEHOLDER = (
    Mutant(_BY_QR + "augmented:normwise_bound", _QR, precisions=NOT_OD),
    Mutant(_BY_QR + "augmented:contraction_limit", _LEFT, precisions=NOT_HD),
    Mutant(_BY_QR + "augmented:_weighted_norm", _LEFT),
    Mutant(_BY_QR + "componentwise:bound_components", _QR),
    Mutant(_BY_QR + "componentwise:_error_of_f", _QR),
    Mutant(_BY_QR + "componentwise:_error_of_g", _QR[::-1], precisions=("dd", "qd", "od")),
    Mutant(_BY_QR + "componentwise:Evaluated.error", (factored.RESIDUALS,), precisions=("d",)),
    Mutant(_BY_QR + "componentwise:Inverse.bound", _QR),
    Mutant(_BY_QR + "componentwise:Inverse._measured", _LEFT, "0"),
    Mutant(_BY_QR + "componentwise:Inverse._measured", _LEFT, "1"),
    Mutant(_BY_QR + "componentwise:Inverse._estimated", _LEFT, "0", precisions=NOT_HD),
    Mutant(_BY_QR + "componentwise:Inverse._estimated", _LEFT, "1", precisions=NOT_HD),
    Mutant(_BY_QR + "augmented:Extension.rounding", _QR, precisions=("d", "dd")),
    Mutant(_SOLVE + "system:System.underflow", _QR, precisions=("hd",)),
)

# Shortest solutions.
_WIDE = (solutions.WIDE, solutions.WIDE_BY_QR, solutions.HARD_WIDE)
_SHORT = _SOLVE + "wide:"
MINIMUM_NORM = (
    Mutant(_SHORT + "Basis.bound", _WIDE),
    Mutant(_SHORT + "Basis.bound", _WIDE, argument="error", precisions=NOT_HD),
    Mutant(_SHORT + "Basis.bound", (factored.SHORTEST,), argument="g"),
    Mutant(_SHORT + "Basis.of_inverse", (factored.SHORTEST,), "rate"),
    Mutant(_SHORT + "Basis.of_factors", (factored.SHORTEST,), "rate", precisions=NOT_OD),
    Mutant(
        _SOLVE + "solvers.minimum_norm:_Refinement._summed", _WIDE, precisions=("dd", "qd", "od")
    ),
)

# Answers of lstsq, solve and inv of all these, and of small systems.
_LSTSQ = Family("lstsq", 30)
_SQUARE = Family("solve", 30)
_HARD = Family("lstsq by Householder", 60, first=105)
_CLOSE = "tests/solve/test_close_bounds.py::test_the_bound_is_the_error_but_for_little"
ANSWERS = (
    Mutant(_SOLVE + "answer:unknowns", (_LSTSQ,), "bound"),
    Mutant(_SOLVE + "answer:unknowns", (_HARD,), "relative", precisions=("d", "od")),
    Mutant(_SOLVE + "answer:Answer.report", (_HARD,), "bound"),
    Mutant(_SOLVE + "answer:Answer.report", (_HARD,), "digits", kind="digits"),
    Mutant(_SOLVE + "solvers.small:SmallAnswer.report", (_LSTSQ,), "bound"),
    Mutant(
        _SOLVE + "solvers.small:SmallAnswer.report",
        (_LSTSQ,),
        "digits",
        kind="digits",
        precisions=NOT_OD,
    ),
    Mutant(
        _SOLVE + "solvers.small:SmallAnswer._cut",
        (Family("solve", 30, first=83),),
        precisions=("d", "dd"),
    ),
    Mutant("mdqr._backend.host.backend:HostBackend.lstsq_small", (_LSTSQ,), "error"),
    Mutant("mdqr._backend.host.backend:HostBackend.solve_small", (_SQUARE,), "error"),
    Mutant(_SOLVE + "ranks.by_rank:_solution", (Tests(_CLOSE, "{}-basic"),), "part.bound"),
    Mutant(
        _SOLVE + "ranks.by_rank:_shortest",
        (Tests(_CLOSE, "{}-by rank"),),
        "1",
        precisions=("od",),
    ),
)

# For all data within their errors.
_BY_FACTORS = (
    Tests(
        "tests/solve/test_data_error_singular.py::"
        "test_errors_of_inverses_that_most_of_the_precision_takes_are_in_the_bound",
        "all bits-{}",
    ),
)
_SINGULAR = "tests/solve/test_data_error_singular.py::"
_SHORT_BY_FACTORS = (
    Tests(
        _SINGULAR + "test_errors_of_shortest_solutions_near_singular_matrices_are_in_the_bound",
        "half-{}",
    ),
)
_WITHIN = (data.TALL, data.SOLVE, data.INV)
DATA = (
    Mutant(_SOLVE + "data_error:moved", _WITHIN),
    Mutant(_SOLVE + "data_error:solution_error", _WITHIN),
    Mutant(_SOLVE + "data_error:_inverses", _WITHIN, "0"),
    Mutant(_SOLVE + "data_error:_inverses", _WITHIN, "1"),
    Mutant(_SOLVE + "data_error:_of_factors", _BY_FACTORS, "0"),
    Mutant(_SOLVE + "data_error:_of_factors", _BY_FACTORS, "1"),
    Mutant(_SOLVE + "data_error:_of_float64", _WITHIN, "0"),
    Mutant(_SOLVE + "data_error:_of_float64", _WITHIN, "1"),
    Mutant(_SOLVE + "data_error:moved_shortest", (data.WIDE,)),
    Mutant(_SOLVE + "near_inverse:NearInverse.pseudo_inverse", _SHORT_BY_FACTORS),
    Mutant(_SOLVE + "near_inverse:NearInverse.normal_times", _SHORT_BY_FACTORS),
    Mutant(_SOLVE + "near_inverse:NearInverse.normal", _BY_FACTORS),
    Mutant(_SOLVE + "data_error:_with_residuals", (data.TALL,)),
)

_DETERMINANT = Family("det", 25)
_CORRECTION = "tests/factor/test_determinant_correction.py::"
_TRACES = _CORRECTION + "test_bounds_of_traces_hold_and_are_close"
_IMPROVED = _CORRECTION + "test_bounds_of_improved_inverses_hold_and_are_close"
_UNROUNDED = (steps.DETERMINANTS,)
DETERMINANTS = (
    Mutant(_FACTOR + "determinant:_error_bound", (_DETERMINANT,)),
    Mutant(_DET + "problem:cut_off", (_DETERMINANT,), precisions=("d", "dd", "qd")),
    Mutant(_DET + "problem:Problem.data_error", (_DETERMINANT,), kind="log2"),
    Mutant(_DET + "exact:Integer.distance", (_DETERMINANT,)),
    Mutant(_DET + "elimination:Elimination.rows", (steps.ELIMINATION,), "1", precisions=NOT_OD),
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
    Mutant(_DET + "correction:trace", (Tests(_TRACES),), "error", precisions=("dd",)),
    Mutant(_DET + "correction:improved", (Tests(_IMPROVED),), "spread", precisions=("dd",)),
)

# Terms beside which others are larger in every problem that was found: nothing shows them.
COVERED = (
    Mutant(
        _BY_QR + "componentwise:Sums.error",
        _QR,
        survives="errors of residuals in eps**2, below what the step itself leaves of them",
    ),
    Mutant(
        _BY_QR + "componentwise:UNDERFLOW",
        _QR,
        survives="less than the smallest double of x, to which x is rounded",
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
        survives="of od alone: 2**15 above the largest errors that were found",
    ),
)
