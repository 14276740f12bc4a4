"""Bounds of updates, series, factors and products, and those that docstrings state."""

from __future__ import annotations

from mutants import chunks, expansions, rules, stated, updates
from mutants.judges import Family, Tests
from mutants.mutant import NOT_HD, NOT_OD, Mutant

_LINALG = "mdqr.linalg."
_FACTOR = _LINALG + "_factor."
_UPDATE = _LINALG + "_update."
_SERIES = "mdqr.series."

_UPDATES = (Family("UpdatableLstsq", 15),)
_STREAMS = (*_UPDATES, Family("streams without data", 30))
UPDATES = (
    Mutant(_UPDATE + "solution:_with_data", _UPDATES, "bound"),
    Mutant(_UPDATE + "solution:_without_data", _STREAMS, "bound", precisions=NOT_OD),
    Mutant(_UPDATE + "solution:_in_units", _UPDATES, "0"),
    Mutant(_UPDATE + "solution:_in_units", _UPDATES, "1", precisions=NOT_HD),
    Mutant(_UPDATE + "solution:_distance", (updates.DRIFTED,)),
    Mutant(_UPDATE + "loss:lost_digits", _STREAMS),
)

_CHUNKS = "mdqr.distributed."
CHUNKS = (
    Mutant(_CHUNKS + "_refinement:step", (chunks.DRIFTED, chunks.PROVEN), "bound"),
    Mutant(_CHUNKS + "_refinement:_distance", (chunks.DRIFTED,)),
    Mutant(_CHUNKS + "_refinement:data_bound", (chunks.MOVED,)),
    Mutant(_CHUNKS + "_products:alpha_of", (chunks.ALPHAS,), precisions=("d", "dd", "od")),
    Mutant(_CHUNKS + "_info:rounded", (chunks.GIVEN,), "bound"),
    Mutant(_CHUNKS + "_passes:_after_one", (chunks.ONCE,), "bound", precisions=("dd", "qd")),
    Mutant("mutants.chunks:OF_GRAM", (chunks.GRAMS,), precisions=NOT_OD),
)
# Terms in eps**2, beside which distances of R and roundings of x are larger.
CHUNKS_COVERED = tuple(
    Mutant(_CHUNKS + f"_refinement:{name}", (chunks.DRIFTED, chunks.PROVEN), part, survives=reason)
    for name, part, reason in (
        ("_uncertain", "0", "errors of residuals in eps**2, below the distance of R in each pass"),
        ("_uncertain", "1", "as before, of products with residuals"),
        ("_rest", "", "what substitutions leave, eps of a step that R makes as uncertain"),
    )
)

_COEFFICIENTS = (expansions.COEFFICIENTS,)
_RADIUS = (Family("radius", 25),)
_CERTIFY = _SERIES + "_homotopy.proofs.certify:"
_CERTIFIED = "tests/series/homotopy/test_certificates.py::"
_KNOWN = Tests(_CERTIFIED + "test_errors_of_known_solutions")
_CLUSTERS = Tests(_CERTIFIED + "test_clusters")
SERIES = (
    Mutant(_SERIES + "_solver.digits:perturbed", _COEFFICIENTS, "1", precisions=NOT_OD),
    Mutant(
        _SERIES + "_solver.solution:SeriesSolution.error_bound", _COEFFICIENTS, precisions=NOT_OD
    ),
    Mutant(
        _SERIES + "_solver.solution:SeriesSolution.digits",
        _COEFFICIENTS,
        kind="digits",
        precisions=("d", "dd"),
    ),
    Mutant(_SERIES + "_analysis.limits:limit", _RADIUS, "error_bound"),
    Mutant(_SERIES + "_analysis.radius:_best", _RADIUS, "found.uncertainty"),
    Mutant(_SERIES + "_analysis.radius:_outward", _RADIUS, "uncertainty"),
    Mutant(_SERIES + "_analysis.radius:_pole_error", (Family("radius", 60, first=100),)),
    Mutant(_SERIES + "_analysis.pade:_rounding", (Family("pade", 20),), precisions=NOT_HD),
    Mutant(_SERIES + "_analysis.pade:_solved", (expansions.DENOMINATORS,), "1", precisions=NOT_OD),
    Mutant(_CERTIFY + "certificates", (_KNOWN,), "error", precisions=("dd",)),
    Mutant(_CERTIFY + "_Disks.test", (_KNOWN,), "1", precisions=("dd",)),
    Mutant(_CERTIFY + "_Disks.test", (_CLUSTERS,), "2", kind="below", precisions=("dd",)),
    Mutant(
        _SERIES + "_homotopy.proofs.magnitudes:Magnitudes.orders",
        (_CLUSTERS,),
        "2",
        precisions=("dd",),
    ),
)

_SWEEP = Tests(
    "tests/factor/test_qr_refined.py::test_a_sweep_from_any_factors_stays_within_its_bounds"
)
_GRAM = Tests("tests/factor/test_qr_gram.py::test_bounds_are_above_what_each_sweep_leaves")
_FEW_BITS = Tests(
    "tests/factor/test_qr_gram.py::test_bounds_of_few_bits_count_what_products_may_lose"
)
FACTORS = (
    Mutant(_FACTOR + "solution_bounds:_System.bound", (Family("solve_triangular", 20),)),
    Mutant(_FACTOR + "solution_bounds:_measured", (Family("solve_triangular", 20),), "0"),
    Mutant(_FACTOR + "refine.cholesky:Sweeps._left", (_GRAM,), precisions=("dd", "qd")),
    Mutant(_FACTOR + "refine.cholesky:Sweeps.bound_behind", (_FEW_BITS,), precisions=("od",)),
    Mutant(_FACTOR + "refine.cholesky:roundings", (_FEW_BITS,), precisions=("od",)),
    Mutant(_FACTOR + "backward_error:_product_error", (stated.INFOS,), "0"),
    Mutant(_FACTOR + "backward_error:orthogonality", (stated.INFOS,)),
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
    Mutant(_JUDGES + "factors:stated", (Family("solve_triangular", 40),), precisions=NOT_HD),
    Mutant(_JUDGES + "factors:_UNREFINED", (Family("qr_factor", 40),), precisions=NOT_OD),
    Mutant(
        _JUDGES + "extremes:stated",
        (Family("lu_solve and cho_solve", 40, first=154),),
        precisions=("d", "dd"),
    ),
    Mutant(_JUDGES + "updates:stated", (Family("UpdatableLstsq", 40),), precisions=NOT_HD),
    Mutant(_JUDGES + "tensors:stated", (Family("tensorcore", 40),), precisions=("d",)),
    Mutant(_JUDGES + "tensors:_FACTOR", (Family("tensorcore", 40),), precisions=("d",)),
    Mutant("mutants.stated:OF_QR", (stated.FACTORS,), precisions=NOT_HD),
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

_QUADRATURE = "mdqr.quadrature."
QUADRATURE = (
    Mutant(_QUADRATURE + "_tridiagonal:_bounded", (rules.REFINED,), "errors.0", precisions=("d",)),
    Mutant(_QUADRATURE + "_tridiagonal:_bounded", (rules.REFINED,), "errors.1", precisions=("d",)),
    Mutant(_QUADRATURE + "_gauss:_rounded", (rules.ROUNDED,), precisions=NOT_OD),
    Mutant(_QUADRATURE + "_classical:_value", (rules.INTEGRALS,), "1", precisions=NOT_HD),
)

_OPTIMIZE = "mdqr.optimize._"
_OF_PROOFS = "tests/optimize/test_proofs.py::"
_OF_BALLS = "tests/optimize/test_enclosures.py::"
_ZEROS = (Tests(_OF_PROOFS + "test_bounds_of_zeros_near_the_error"),)
_CONVEX = (Tests(_OF_PROOFS + "test_bounds_of_convex_problems_near_the_error"),)
_CLAIMED = (Tests("tests/optimize/test_bounded_linear.py::test_bounds_hold_and_are_near"),)
_ESTIMATED = "tests/optimize/test_estimates.py::"
_ROUNDING_FITS = (Tests(_ESTIMATED + "test_functions_that_round_to_float64"),)
_ROUNDING_FIT = (Tests(_ESTIMATED + "test_one_function_that_rounds_to_float64"),)
_ROUNDED_FITS = (Tests(_ESTIMATED + "test_roundings_of_the_result"),)
OPTIMIZE = (
    Mutant(_OPTIMIZE + "batch.newton:Iteration.run", _ROUNDING_FITS, "error", precisions=("dd",)),
    Mutant(
        _OPTIMIZE + "batch.problems:Problems.noise", _ROUNDING_FITS, "absolute", precisions=("dd",)
    ),
    Mutant(
        _OPTIMIZE + "public.batch:BatchInfo.__init__",
        _ROUNDED_FITS,
        argument="bound",
        precisions=("dd",),
    ),
    Mutant(
        _OPTIMIZE + "solver.newton:_Iteration.minimum", _ROUNDING_FIT, "error", precisions=("dd",)
    ),
    Mutant(
        _OPTIMIZE + "public.result:FitInfo.__init__",
        _ROUNDED_FITS,
        argument="bound",
        precisions=("dd",),
    ),
    Mutant(_OPTIMIZE + "model.noise:measure", _ROUNDING_FIT, "absolute", precisions=("dd",)),
    Mutant(_OPTIMIZE + "enclosure.krawczyk:nearest", _ZEROS, "0", precisions=("dd",)),
    Mutant(
        _OPTIMIZE + "enclosure.ball:Ball.eps",
        (Tests(_OF_BALLS + "test_roundings_of_operations"),),
        precisions=("dd",),
    ),
    Mutant(
        _OPTIMIZE + "enclosure.functions:value",
        (Tests(_OF_BALLS + "test_functions_and_their_derivatives"),),
        "rad",
        precisions=("dd",),
    ),
    Mutant(_OPTIMIZE + "solver.active_set:convex_error", _CONVEX, precisions=("dd",)),
    Mutant(_OPTIMIZE + "solver.active_set:proven_error", _CONVEX, precisions=("dd",)),
    Mutant(_OPTIMIZE + "solver.proof:with_rounding", _CLAIMED, precisions=("dd",)),
)

_LINALG_TESTS = "tests/linalg/test_"
_MULTIPLE = ("dd", "qd", "od")
_EXPM = _LINALG_TESTS + "expm.py::"
_NEAR = "{}.py::test_bounds_are_near_the_errors"
_ROUNDED = (Tests(_EXPM + "test_bounds_are_not_a_thousand_times_too_large", "{}"),)
_OF_DATA = (Tests(_EXPM + "test_errors_of_the_data_are_bounded", "{}"),)
_SUMS = (Tests(_EXPM + "test_bounds_of_sums_are_near_their_roundings"),)
_FUNCTIONS = tuple(
    Tests(_LINALG_TESTS + _NEAR.format(name), parameters)
    for name, parameters in (
        ("expm", "{}-float-expm"),
        ("logm", "{}-float-logm"),
        ("tangents", "{}-float-tanhm"),
    )
)
_SOLUTIONS = tuple(
    Tests(_LINALG_TESTS + _NEAR.format(name), parameters)
    for name, parameters in (
        ("matrix_equations", "{}-solve_sylvester"),
        ("sqrtm", "{}"),
        ("riccati", "{}-solve_continuous_are"),
    )
)
_MATRIX = "mdqr.linalg._matrix."
MATRIX = (
    # Bounds of other precisions are differences from the value of the next one.
    Mutant(_MATRIX + "series.exponential:Exponential.error", _FUNCTIONS[:1], precisions=("hd",)),
    Mutant(_MATRIX + "series.plan:truncation", _ROUNDED, precisions=("od",)),
    Mutant(_MATRIX + "series.followed:lost_by_sum", _SUMS, precisions=("od",)),
    Mutant(_MATRIX + "series.followed:product_errors", _FUNCTIONS[:1], "known", precisions=("hd",)),
    Mutant(_MATRIX + "series.logarithm:Logarithm.error", _FUNCTIONS[1:2], precisions=("hd",)),
    Mutant(_MATRIX + "series.exponential:moved", _OF_DATA),
    Mutant(_MATRIX + "given:Given.spread", _FUNCTIONS, precisions=_MULTIPLE),
    Mutant(
        _MATRIX + "refined.operators:Operator.bounded", _SOLUTIONS, "entries", precisions=_MULTIPLE
    ),
)
