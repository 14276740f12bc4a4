// Operands of large products as integer slices for the FP64 tensor cores.
//
// A row of A (column of B) is divided by alpha = 2^(e+1), e the exponent of its maximum, and cut
// into S balanced slices: x = sum d_i w_i, w_i = 2^(-21-22i), integers |d_i| <= 2^21. Products of
// slices are integers of at most 2^42; a diagonal i + j = k adds at most S of them a term, so that
// its sum is exact in a double for S K <= 2^11 terms between two carries. (Ozaki, Ogita, Oishi and
// Rump, Numerical Algorithms 59, 2012; Mukunoki et al., ISC 2020.)
//
// Error, in units of 2^(-22S) alpha beta for each term: pairs left out (i + j >= S), |d_i d_j w_i
// w_j| <= 2^(-22(i+j)), S - 1 and 2^-20 of that below; cutting both operands to S slices, limb by
// limb, 2 * 1.5 (the first limb cut loses at most 1/2 of w_(S-1) = 2^(1-22S), the rest of x is at
// most 1/4 of it): S + 3 together. K terms err by at most K eps sum|a||b| if
//   sum|a||b| >= 2^-L alpha beta,  L = 22 S - log2(1/eps) - log2(S + 3).
// Complex: twice the terms, and the modulus of an error is up to sqrt 2 times that of a part: L is
// 2 less. |a||b| is at least the sum of moduli that either part is formed from. One more plane
// holds leading limbs, whose products tell sum|a||b|: cut to 21 bits, which takes 2^-19 off, and
// raised to 2^-500, which adds less than 2^-499 K; the limit is an integer below L, which covers
// both.
#pragma once
#include "mdqr/digits.hpp"

#include "products/matmul_range.hpp"

MDQR_BEGIN

// The least S whose L is 30 or more: 7, 12, 21 for N = 2, 4, 8.
MDQR_FN constexpr int least_slices(int eps) {
    int s = 1;
    while (22 * s - eps - ceil_log2(s + 3) < 30)
        ++s;
    return s;
}
template <int N> inline constexpr int product_slices = least_slices(eps_bits<N>);
inline constexpr int slices = product_slices<limbs>;
// Planes of 32-bit words in memory: the slices, and the leading limb.
inline constexpr int sliced_planes = slices + 1;

// The largest L that is used; above 40 bits the exact accumulator is asked in any case.
inline constexpr int slice_span = (22 * slices - eps_bits<limbs> - ceil_log2(slices + 3) < 40
                                       ? 22 * slices - eps_bits<limbs> - ceil_log2(slices + 3)
                                       : 40) -
                                  (MDQR_COMPLEX ? 2 : 0);

// Rows are padded to whole tiles, the inner dimension to whole groups of four quads.
inline constexpr int quad = 4; // terms of one step of the tensor core

// Word of slice or plane s, row r, term 4 q + t: at(item, q, s) + 4 r + t. Slices are stored plus
// 2^31, the leading limb as the upper half of a double.
struct sliced {
    unsigned* word;
    i64* exponent;
    i64 items, rows, quads; // padded; items: 1 if one matrix serves the batch
    MDQR_FN unsigned* at(i64 item, i64 q, int s) const {
        return word + ((item * quads + q) * sliced_planes + s) * rows * quad;
    }
    MDQR_FN i64 item_of(i64 item) const { return items == 1 ? 0 : item; }
};

MDQR_FN double slice_value(unsigned word) {
    return one_sum(from_bits(0x4330000000000000LL | i64(word)), -(two_to(52) + two_to(31)));
}
MDQR_FN int slice_integer(unsigned word) { return int(word ^ 0x80000000u); }
MDQR_FN unsigned slice_word(double d) {
    return unsigned(u64(bits(one_sum(d, digit_rest)))) ^ 0x80000000u;
}
MDQR_FN double leading_value(unsigned word) { return from_bits(i64(u64(word) << 32)); }
MDQR_FN unsigned leading_word(double scaled, double raw) {
    if (raw == 0.0)
        return 0;
    constexpr unsigned least = 523u << 20; // 2^-500
    const unsigned word = unsigned(u64(bits(abs(scaled))) >> 32);
    return word < least ? least : word;
}

// Move what is left of one limb to the slices from number I on.
template <int I, int S> MDQR_FN void limb_to_slices(double x, double* slice) {
    constexpr double weight = two_to(-21 - 22 * I), inverse = two_to(21 + 22 * I);
    const double magic = digit_rest * weight;
    const double part = one_sum(one_sum(x, magic), -magic);
    slice[I] = fma(part, inverse, slice[I]);
    if constexpr (I + 1 < S) {
        const double rest = one_sum(x, -part);
        if (rest != 0.0)
            limb_to_slices<I + 1, S>(rest, slice);
    }
}

// Balanced slices of the number with limbs x[0..N), |x| < 1, normalised.
template <int S, int N> MDQR_FN void to_slices(const double* x, double* slice) {
    static_for<0, S>([&](auto i) MDQR_LAMBDA { slice[i] = 0.0; });
    // |limb l| <= 2^(-53l): it reaches slice 53l / 22 at most. Two limbs meet in one slice at most.
    static_for<0, N>([&](auto l) MDQR_LAMBDA {
        constexpr int first = 53 * l.value / 22;
        if constexpr (first < S)
            limb_to_slices<first, S>(x[l], slice);
    });
    static_for_down<S - 1, 1>([&](auto i) MDQR_LAMBDA {
        const double magic = digit_rest * two_to(22);
        const double part = one_sum(one_sum(slice[i], magic), -magic);
        slice[i] = one_sum(slice[i], -part);
        slice[i - 1] = fma(part, two_to(-22), slice[i - 1]);
    });
}

MDQR_END
