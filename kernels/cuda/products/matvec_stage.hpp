// A stage of a product along rows: how a block divides its rows and terms, a part of the vector in
// shared memory, and the terms of a row with it.
#pragma once
#include "products/matvec_arguments.hpp"

MDQR_BEGIN

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

struct extent {
    int count, padded; // terms, and those of whole turns
    MDQR_FN extent(const matvec_arguments& p, i64 first)
        : count(int(p.k - first < p.stage_terms ? p.k - first : p.stage_terms)),
          padded((count + turn - 1) / turn * turn) {}
};

// Prepare the terms from `first` on in shared memory, word w of term t at shared[w * stage + t],
// zeros behind the last one; returns their exponent, or `least` if that is larger.
#if MDQR_CARRY_SAVE
MDQR_FN i64 prepare(const matvec_arguments& p, i64 item, i64 j, i64 first, i64, double* shared) {
    const extent terms(p, first);
    for (int t = thread_index(); t < terms.padded; t += matvec_threads)
        static_for<0, 2 * parts>([&](auto w) MDQR_LAMBDA {
            constexpr int part = w.value / 2, l = w.value % 2;
            double limb = 0.0;
            if (t < terms.count && l < p.b.to.held)
                limb =
                    p.b.to.data[p.b.at(item, j, first + t) + part * p.b.to.imag + l * p.b.to.plane];
            shared[w * stage + t] = part == 1 && p.conj_b ? -limb : limb;
        });
    sync_threads();
    return 0;
}
#else
MDQR_FN void put_digits(const matvec_arguments& p, i64 offset, bool exists,
                        const row_factors& factor, double* to) {
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        double limb[limbs], digit[D], leading = 0.0;
        const double sign = part == 1 && p.conj_b ? -1.0 : 1.0;
        static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
            double x = 0.0;
            if (exists && l < p.b.to.held)
                x = p.b.to.data[offset + part * p.b.to.imag + l * p.b.to.plane];
            if (l == 0)
                leading = x;
            limb[l] = one_prod(one_prod(x, sign * factor.first), factor.second);
        });
        to_digits<D, limbs>(limb, digit);
        weigh_digits(digit);
        double* place = to + part * ((D + 1) * stage);
        static_for<0, D>([&](auto i) MDQR_LAMBDA { place[i * stage] = digit[i]; });
        place[D * stage] = raised(leading, abs(limb[0]));
    });
}

MDQR_FN i64 prepare(const matvec_arguments& p, i64 item, i64 j, i64 first, i64 least,
                    double* shared) {
    const extent terms(p, first);
    double peak = 0.0;
    for (int t = thread_index(); t < terms.count; t += matvec_threads)
        peak = larger_size(p.b.to, p.b.at(item, j, first + t), peak);
    const i64 joint = joint_exponent(peak, shared), f = joint > least ? joint : least;
    const row_factors factor(f);
    for (int t = thread_index(); t < terms.padded; t += matvec_threads) {
        const bool exists = t < terms.count && f != not_finite;
        put_digits(p, exists ? p.b.at(item, j, first + t) : 0, exists, factor, shared + t);
    }
    sync_threads();
    return f;
}

#endif

using loaded = double[row_sums::ahead][parts][limbs];

// Values of a row, `step` apart from `from` on: `the first within `left` terms exist; in
// place of the others stands the one at `safe`.
MDQR_FN void load_values(const planes& a, const double* from, const double* safe, i64 step,
                         int left, loaded& x) {
    const double* at[row_sums::ahead];
    static_for<0, row_sums::ahead>(
        [&](auto u) MDQR_LAMBDA { at[u] = u * term_step < left ? from + u * step : safe; });
    const int held = int(a.held);
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        const bool exists = l == 0 || l < held;
        static_for<0, row_sums::ahead>([&](auto u) MDQR_LAMBDA {
            static_for<0, parts>([&](auto part) MDQR_LAMBDA {
                x[u][part][l] = exists ? at[u][part * a.imag] : 0.0;
            });
            at[u] += a.plane;
        });
    });
}

// Whether values are loaded while those before are in use; sums of most words need the registers.
inline constexpr bool loads_early = row_sums::words < 40;

MDQR_FN void copy_values(const loaded& from, loaded& to) {
    static_for<0, row_sums::ahead>([&](auto u) MDQR_LAMBDA {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, limbs>([&](auto l) MDQR_LAMBDA { to[u][part][l] = from[u][part][l]; });
        });
    });
}

// sums += the terms of this thread; the values behind the last term meet zeros.
MDQR_FN void add_stage(const matvec_arguments& p, i64 item, i64 row, i64 first,
                       const double* shared, row_sums& sums) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    const int index = (lanes_along == 1 ? 0 : lane) + (warps_along == 1 ? 0 : warp * lanes_along);
    const extent terms(p, first);
    if (terms.count <= 0)
        return;
    const i64 step = term_step * p.a.column, far = row_sums::ahead * step;
    const double* safe = p.a.to.data + p.a.at(item, row, first);
    const double* from = safe + index * p.a.column;
    const bool conjugate = p.conj_a != 0;
    loaded x, next;
    if (loads_early)
        load_values(p.a.to, from, safe, step, terms.count - index, next);
    for (int t = 0; t < terms.padded; t += turn) {
        if (!loads_early)
            load_values(p.a.to, from, safe, step, terms.count - index - t, next);
        copy_values(next, x);
        if (!loads_early) {
            from += far;
        } else if (t + turn < terms.padded) {
            from += far;
            load_values(p.a.to, from, safe, step, terms.count - index - t - turn, next);
        }
        sums.add<stage>(x, int(p.a.to.held), conjugate, shared + index + t, term_step);
    }
}

MDQR_END
