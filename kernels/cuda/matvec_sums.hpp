// Sums of products along rows, one thread a part of a row: exact sums of 51-bit digits
// (digits.hpp).
//
// A row of A and a column of B are divided by 2^(e+1) and 2^(f+1); K terms err by at most K
// eps sum|a||b| if sum|a||b| >= 2^-L 2^(e+f+2), L = 51 D - log2(1/eps) - log2(3D + 2), two bits
// less for complex sums (digits.hpp, slices.hpp). Residuals: the same with 1/eps^2.
#pragma once
#include "mdqr/digits.hpp"

#include "matmul_range.hpp"

MDQR_BEGIN

inline constexpr bool is_residual = MDQR_RESIDUAL;
inline constexpr int D = is_residual ? residual_digits<limbs> : result_digits<limbs>;

// The largest L in use; above 40 bits the exact accumulator is asked in any case, but for
// residuals.
inline constexpr int digit_span =
    51 * D - (is_residual ? 2 : 1) * eps_bits<limbs> - ceil_log2(3 * D + 2);
inline constexpr int used_span =
    (digit_span < 40 || is_residual ? digit_span : 40) - (MDQR_COMPLEX ? 2 : 0);

MDQR_FN double raised(double size) { return size != 0.0 && size < 0x1p-500 ? 0x1p-500 : size; }

// Limbs of a value times first * second.
MDQR_FN void load_scaled(const planes& x, i64 offset, double first, double second, double* limb) {
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        const double y = l < x.held ? x.data[l * x.plane + offset] : 0.0;
        limb[l] = one_prod(one_prod(y, first), second);
    });
}

class digit_sums {
public:
    // A prepared part of a value of B: its digits, and the size of the leading limb.
    static constexpr int words = parts * (D + 2), vector_words = D + 1;

    MDQR_FN digit_sums() {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, D + 1>([&](auto i) MDQR_LAMBDA { word[part][i] = 0; });
            size[part] = 0.0;
        });
    }

    // += the value at `offset` of A, scaled, times the prepared value `y`.
    MDQR_FN void add(const planes& a, i64 offset, double conjugate, double first, double second,
                     const double* y) {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            constexpr int P = part.value;
            double limb[limbs], digit[D];
            load_scaled(a, offset + part * a.imag, part == 1 ? conjugate * first : first, second,
                        limb);
            to_digits<D, limbs>(limb, digit);
            bool is_long = false;
            static_for<2, D>([&](auto i) MDQR_LAMBDA { is_long = is_long || digit[i] != 0.0; });
            const double magnitude = raised(abs(limb[0]));
            static_for<0, parts>([&](auto to) MDQR_LAMBDA {
                constexpr int T = to.value, from = P == T ? 0 : 1;
                const double* b = y + from * vector_words;
                size[T] = fma(magnitude, b[D], size[T]);
                multiply<P == 1 && T == 0>(digit, b, is_long, word[T]);
            });
            ++(is_long ? full : brief);
        });
        if (full + brief > chunk_limit<D> - parts)
            carry();
    }

    // Leaves |word| <= 2^50 but for the first.
    MDQR_FN void carry() {
        const i64 h_bits = bits(digit_split), l_bits = bits(digit_rest);
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, D>([&](auto i) MDQR_LAMBDA {
                const u64 bias = u64(digit_bias<D, D>(i, h_bits, l_bits)) * u64(full) +
                                 u64(digit_bias<2, D>(i, h_bits, l_bits)) * u64(brief);
                word[part][i + 1] = wrapping_add(word[part][i + 1], i64(u64(0) - bias));
            });
            carry_words<D>(word[part]);
        });
        full = brief = 0;
    }

    template <int I> MDQR_FN double get() const {
        constexpr int part = I / (D + 2), i = I % (D + 2);
        if constexpr (i == D + 1)
            return size[part];
        else
            return from_bits(word[part][i]);
    }
    // This word of two sums together.
    template <int I> MDQR_FN static double joined(double x, double y) {
        return I % (D + 2) == D + 1 ? one_sum(x, y) : from_bits(bits(x) + bits(y));
    }

private:
    i64 word[parts][D + 1];
    double size[parts];
    int full = 0, brief = 0;

    template <bool Negative>
    MDQR_FN static void multiply(const double* digit, const double* b, bool is_long, i64* word) {
        double x[D];
        static_for<0, D>([&](auto i) MDQR_LAMBDA { x[i] = Negative ? -digit[i] : digit[i]; });
        if (is_long)
            digit_multiply_add<D, D, D>(x, b, word + 1);
        else
            digit_multiply_add<D, 2, D>(x, b, word + 1);
    }
};

MDQR_END
