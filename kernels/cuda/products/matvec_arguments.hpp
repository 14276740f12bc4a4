// The arguments of the kernels that sum along rows, and how a block divides its rows and terms.
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

inline constexpr int matvec_threads = 256, matvec_warps = matvec_threads / 32;

// What neighbouring lanes hold: terms of a row, with a row for each warp (0) or one for all (1), or
// one term of neighbouring rows (2), where the warps divide the terms.
inline constexpr int layout = MDQR_LAYOUT;
inline constexpr int lanes_along = layout == 2 ? 1 : 32;
inline constexpr int warps_along = layout == 0 ? 1 : matvec_warps;
inline constexpr int rows_together = 32 / lanes_along * (matvec_warps / warps_along);
// From one term of a thread to its next.
inline constexpr int term_step = lanes_along * warps_along;
// Terms of a row that the threads load before they use the first.
inline constexpr int turn = term_step * row_sums::ahead;
// Terms of the vector that a block keeps at most.
inline constexpr int stage = MDQR_STAGE;
static_assert(stage % turn == 0);

// Blocks that a multiprocessor is to hold.
inline constexpr int matvec_blocks = MDQR_CARRY_SAVE                       ? 4 - parts
                                     : parts * row_sums::vector_words > 12 ? 1
                                                                           : 2;

MDQR_FN double larger_size(const planes& x, i64 offset, double peak) {
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        const double size = abs(x.data[offset + part * x.imag]);
        peak = bits(size) > bits(peak) ? size : peak;
    });
    return peak;
}

// Below every exponent of a number.
inline constexpr i64 no_exponent = -1100;

// Exponent of the largest magnitude that the threads hold; not_finite if one is no number. `shared`
// holds matvec_warps doubles.
MDQR_FN i64 joint_exponent(double peak, double* shared) {
    for (int mask = 1; mask < 32; mask *= 2) {
        const double other = shuffle_xor(peak, mask);
        peak = bits(other) > bits(peak) ? other : peak;
    }
    if (thread_index() % 32 == 0)
        shared[thread_index() / 32] = peak;
    sync_threads();
    for (int w = 0; w < matvec_warps; ++w)
        peak = bits(shared[w]) > bits(peak) ? shared[w] : peak;
    sync_threads();
    return !is_finite(peak) ? not_finite : peak == 0.0 ? exponent(0x1p-1074) : exponent(peak);
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
