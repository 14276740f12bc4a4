// The arguments of the kernels that sum along rows.
#pragma once
#include "device/device.hpp"

#include "products/residual_terms.hpp"
#include "products/matmul_range.hpp"

// How the terms are summed.
#define MDQR_CARRY_SAVE (MDQR_LIMBS == 2 && !MDQR_RESIDUAL)
#if MDQR_CARRY_SAVE
#include "products/matvec_carry_save.hpp"
#else
#include "products/matvec_sums.hpp"
#endif

MDQR_BEGIN

#if MDQR_CARRY_SAVE
using row_sums = carry_save_sums;
#else
using row_sums = digit_sums;
#endif

struct matvec_arguments {
    matrix_view a, b; // (batch, m, k); (batch, n, k), the columns of B
    i64 conj_a, conj_b;
    i64 items, m, n, k;
    i64 passes; // groups of rows of a block, one after the other
    // Parts of k, each with an exponent of its own; of so many stages, of so many terms at most.
    i64 splits, stages, stage_terms;
    double* sums;      // [split][element][word]
    i64* exponent;     // [split][element], of both factors together
    i64 *list, *count; // elements for the exact accumulator
    workspace work;    // of a part of the vector
    matrix_view out;
#if MDQR_RESIDUAL
    residual_terms terms;
#else
    matrix_view c;
    i64 subtract;
#endif

    MDQR_FN i64 elements() const { return items * m * n; }
};

MDQR_END
