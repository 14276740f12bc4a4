// The arguments of the kernels that sum along rows, and where their partial sums lie.
#pragma once
#include "device.hpp"

#include "exact_terms.hpp"
#include "matmul_range.hpp"

// How the terms are summed.
#define MDQR_CARRY_SAVE (MDQR_LIMBS == 2 && !MDQR_RESIDUAL)
#if MDQR_CARRY_SAVE
#include "matvec_carry_save.hpp"
#else
#include "matvec_sums.hpp"
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
    i64 items, m, n, k, b_items;  // b_items: 1 if one B serves the batch
    i64 splits, split_terms;      // parts of k, each with exponents of its own
    double* digits;               // of B: [item][column][k][part][vector_words]
    i64 *a_exponent, *b_exponent; // [split][element]; [split][b item][column]
    double* sums;                 // [split][word][element]
    i64 *list, *count;            // elements for the exact accumulator
    matrix_view out;
#if MDQR_RESIDUAL
    residual_terms terms;
#else
    matrix_view c;
    i64 subtract;
#endif

    MDQR_FN i64 elements() const { return items * m * n; }
    MDQR_FN i64 b_item(i64 item) const { return b_items == 1 ? 0 : item; }
    // The prepared value t of column j of B.
    MDQR_FN double* vector_at(i64 item, i64 j, i64 t) const {
        return digits + ((item * n + j) * k + t) * parts * row_sums::vector_words;
    }
    MDQR_FN i64& b_exponent_at(i64 split, i64 item, i64 j) const {
        return b_exponent[(split * b_items + item) * n + j];
    }
    MDQR_FN i64 end_of(i64 split) const {
        const i64 end = (split + 1) * split_terms;
        return end < k ? end : k;
    }
};

inline constexpr int matvec_threads = 256, matvec_warps = matvec_threads / 32;
inline constexpr int R = MDQR_ROWS; // rows of a warp, the same ones for all warps of a block
inline constexpr int lanes_along = 32 / R;

// Exponent of the largest magnitude that the threads of a row hold; 0 for zeros, not_finite if one
// is no number. `shared` holds matvec_warps * Rows doubles.
template <int Rows> MDQR_FN i64 joint_exponent(double peak, double* shared) {
    constexpr int along = 32 / Rows;
    const int warp = thread_index() / 32, row = thread_index() % 32 / along;
    for (int mask = 1; mask < along; mask *= 2) {
        const double other = shuffle_xor(peak, mask);
        peak = bits(other) > bits(peak) ? other : peak;
    }
    if (thread_index() % along == 0)
        shared[Rows * warp + row] = peak;
    sync_threads();
    for (int w = 0; w < matvec_warps; ++w) {
        const double other = shared[Rows * w + row];
        peak = bits(other) > bits(peak) ? other : peak;
    }
    sync_threads();
    return !is_finite(peak) ? not_finite : peak == 0.0 ? 0 : exponent(peak);
}

MDQR_FN double larger_size(const planes& x, i64 offset, double peak) {
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        const double size = abs(x.data[offset + part * x.imag]);
        peak = bits(size) > bits(peak) ? size : peak;
    });
    return peak;
}

struct row_factors {
    double first = 1.0, second = 1.0; // together 2^-(e+1)
    MDQR_FN explicit row_factors(i64 e) {
        const int t = e == not_finite ? 0 : -int(e + 1), half = t >> 1;
        first = power_of_two(half);
        second = power_of_two(t - half);
    }
};

MDQR_END
