// Sums of products by 51-bit digits: D balanced digits a number, integer accumulators, no rounding
// but the cut at the end.
//
// A number x with |x| <= 1 (a row divided by alpha = 2^(e+1), e the exponent of its maximum) is sum
// d_i 2^(-50-51i) with integers |d_i| <= 2^50, i < D. A product of two digits is split by C = 1.5 *
// 2^103 and C2 = C + 1.5 * 2^52:
//   h = fma(a, b, C)      h - C  is a b rounded to a multiple of 2^51; |h - C| <= 2^100 keeps h in
//   [2^103, 2^104) l = fma(a, b, C2 - h) l - 1.5 * 2^52 is the rest, an integer of at most 2^50; C2
//   - h is exact
// so that bits(h) - bits(C) and bits(l) - bits(1.5 * 2^52) are integers: the raw patterns are added
// and the constants taken off at the end, modulo 2^64. (Emmart, Zheng and Weems, ARITH 2018, and
// van der Hoeven 2017 split products in the same way.)
//
// Pairs i + j <= D - 1 are formed, the l of the last diagonal is not. Word k + 1 counts multiples
// of 2^(-49-51k) alpha beta, word 0 takes the carries of word 1. Head-room: a term adds at most D
// 2^49 + (D - 1) 2^50 < 1.5 D 2^50 to a word, so words stay below 2^62 for chunk * D <= 2^11 terms
// between two carries, each of which leaves |word| <= 2^50 (but word 0).
//
// Error, in units of 2^(-51D) alpha beta for each term: pairs left out, (D - 1); l left out, 2 D;
// cutting both operands to D digits, limb by limb, 2 * 1.5 (the first limb cut loses at most 1/2 of
// the last digit, the rest of x is at most 1/4 of it): 3D + 2 together. With alpha beta = 4 *
// 2^(e+f) and a span e + f - max_k(E(a_k) + E(b_k)) <= L the sum of |a||b| is at least 2^(e+f-L),
// and K terms err by at most K eps sum |a||b| if L <= 51D + log2(eps) - log2(4 (3D + 2)).
#pragma once
#include "mdqr/number/renormalize.hpp"

MDQR_BEGIN

// -log2(eps) for so many limbs, as in mdqr/_precision.py.
MDQR_FN constexpr int find_eps_bits(int limbs) {
    return 53 * limbs - (limbs >= 2 && limbs <= 4 ? 2 : 1);
}
template <int N> inline constexpr int eps_bits = find_eps_bits(N);

MDQR_FN constexpr int ceil_log2(int x) {
    int e = 0;
    while ((1 << e) < x)
        ++e;
    return e;
}
// The largest span for an error of K 2^-bits sum |a||b|.
MDQR_FN constexpr int find_span_limit(int digits, int bits) {
    return 51 * digits - bits - ceil_log2(4 * (3 * digits + 2));
}
template <int D, int Bits> inline constexpr int span_limit = find_span_limit(D, Bits);

// The fewest digits, and not less than `least`, whose span is 24 or more: what the span test
// refuses takes many times as long.
MDQR_FN constexpr int find_digits(int least, int bits) {
    int digits = least;
    while (find_span_limit(digits, bits) < 24)
        ++digits;
    return digits;
}
// Digits for a result of N limbs, and for one that is to be as good as 2N limbs.
template <int N>
inline constexpr int result_digits = find_digits(N < 2 ? 3 : N + 1, find_eps_bits(N));
template <int N>
inline constexpr int residual_digits = find_digits(2 * N + 1, 2 * find_eps_bits(N));

template <int D> inline constexpr int chunk_limit = 2048 / D;

MDQR_FN constexpr double two_to(int e) { return power_of_two_constant(e); }

inline constexpr double digit_split = 1.5 * two_to(103);
inline constexpr double digit_rest = 1.5 * two_to(52);

// Weights of so many digits are doubles. Of more, numbers are at most 2^lifted<D>, so that no limb
// of them underflows, and what follows these digits is lifted again.
inline constexpr int digits_in_range = 18;
template <int D> inline constexpr int lifted = D > digits_in_range ? 900 : 0;

// Move what is left of one limb to the digits from number I on; true if it reaches one behind those
// that are not checked.
template <int I, int Unchecked, int D, class T> MDQR_FN bool limb_to_digits(T x, T* digit) {
    constexpr int e = lifted<D> - 50 - 51 * (I % digits_in_range);
    constexpr double weight = two_to(e), inverse = two_to(-e);
    const T magic = broadcast<T>(digit_rest * weight);
    const T part = one_sum(one_sum(x, magic), -magic);
    digit[I] = fma(part, broadcast<T>(inverse), digit[I]);
    if constexpr (I + 1 < D) {
        T rest = one_sum(x, -part);
        if constexpr ((I + 1) % digits_in_range == 0)
            rest = one_prod(rest, broadcast<T>(two_to(51 * digits_in_range)));
        // Two digits hold most limbs; the test skips work that would add zeros.
        if constexpr (Unchecked > 1)
            return limb_to_digits<I + 1, Unchecked - 1, D>(rest, digit);
        else if (any(rest != broadcast<T>(0.0))) {
            limb_to_digits<I + 1, 1, D>(rest, digit);
            return true;
        }
    }
    return false;
}

// Digits that M limbs reach where two hold each limb.
template <int D, int M> inline constexpr int near_digits = M + 1 < D ? M + 1 : D;

// Leave |digit| <= 2^50 in digits Last down to First, and carry to the one above.
template <int Last, int First, class T> MDQR_FN void carry_digits(T* digit) {
    static_for_down<Last, First>([&](auto i) MDQR_LAMBDA {
        constexpr double down = two_to(-51);
        const T magic = broadcast<T>(digit_split);
        const T part = one_sum(one_sum(digit[i], magic), -magic);
        digit[i] = one_sum(digit[i], -part);
        digit[i - 1] = fma(part, broadcast<T>(down), digit[i - 1]);
    });
}

// Balanced digits (integers in doubles) of the number with limbs x[0..M), |x| <= 2^lifted<D>,
// normalised; true if those behind near_digits may not be zero.
template <int D, int M, class T> MDQR_FN bool to_digits(const T* x, T* digit) {
    static_assert(M <= digits_in_range, "mdqr: digits of so many limbs leave the range of doubles");
    static_for<0, D>([&](auto i) MDQR_LAMBDA { digit[i] = broadcast<T>(0.0); });
    bool is_far = false;
    // |limb l| <= 2^(-53l): it reaches digit l at most.
    static_for<0, (M < D ? M : D)>([&](auto l) MDQR_LAMBDA {
        if (limb_to_digits<l.value, 2, D>(x[l], digit))
            is_far = true;
    });
    // Digits of one limb are what rounding leaves of one another, so there are no carries.
    if constexpr (M > 1) {
        constexpr int near = near_digits<D, M>;
        if (is_far)
            carry_digits<D - 1, near>(digit);
        carry_digits<near - 1, 1>(digit);
    }
    return is_far;
}

// How many h and l a term adds to word k + 1 when the operands have DA and DB digits.
MDQR_FN constexpr int digit_pairs(int DA, int DB, int k) {
    int n = 0;
    for (int i = 0; i < DA; ++i)
        if (k - i >= 0 && k - i < DB)
            ++n;
    return n;
}
template <int DA, int DB> MDQR_FN constexpr i64 digit_bias(int k, i64 h_bits, i64 l_bits) {
    return i64(u64(digit_pairs(DA, DB, k)) * u64(h_bits) +
               (k > 0 ? u64(digit_pairs(DA, DB, k - 1)) * u64(l_bits) : u64(0)));
}

template <class T> struct as_lanes_of {
    MDQR_FN static T get(double x) { return broadcast<T>(x); }
    MDQR_FN static T get(const T& x) { return x; }
};
template <> struct as_lanes_of<double> {
    MDQR_FN static double get(double x) { return x; }
};
template <class T, class B> MDQR_FN T as_lanes(const B& x) { return as_lanes_of<T>::get(x); }

MDQR_FN i64 wrapping_add(i64 a, i64 b) { return i64(u64(a) + u64(b)); }
template <class I> MDQR_FN I wrapping_add(I a, I b) { return a + b; }
template <class I> MDQR_FN I wrapping_add(I a, i64 b) { return a + b; }

// word[0..D) += raw patterns of the products of a (DA digits) and b (DB digits; the same for all
// lanes, or one a lane).
template <int D, int DA, int DB, class T, class B>
MDQR_FN void digit_multiply_add(const T* a, const B* b, ints_t<T>* word) {
    const T c = broadcast<T>(digit_split), c2 = broadcast<T>(digit_split + digit_rest);
    static_for<0, DB>([&](auto j) MDQR_LAMBDA {
        constexpr int J = j.value;
        const T y = as_lanes<T>(b[j]);
        static_for<0, (DA < D - J ? DA : D - J)>([&](auto i) MDQR_LAMBDA {
            constexpr int k = i.value + J;
            const T h = fma(a[i], y, c);
            word[k] = wrapping_add(word[k], bits(h));
            if constexpr (k + 1 < D) {
                const T l = fma(a[i], y, one_sum(c2, -h));
                word[k + 1] = wrapping_add(word[k + 1], bits(l));
            }
        });
    });
}

// Carry from word[D] down to word[0]; leaves |word[k]| <= 2^50 for k > 0.
template <int D, class I> MDQR_FN void carry_words(I* word) {
    static_for_down<D, 1>([&](auto k) MDQR_LAMBDA {
        const I c = (word[k] + (i64(1) << 50)) >> 51;
        word[k] = word[k] - c * (i64(1) << 51);
        word[k - 1] = word[k - 1] + c;
    });
}

// The N limbs of the sum in units of alpha beta; words as carry_words leaves them and |word[0]| <
// 2^50.
template <int D, int N, class T> MDQR_FN md<T, N> from_words(const ints_t<T>* word) {
    static_assert(N < D);
    T v[D + 1], w[D];
    static_for<0, D + 1>([&](auto k) MDQR_LAMBDA {
        constexpr double weight = two_to(2 - 51 * k.value);
        const T magic = broadcast<T>(digit_rest);
        v[k] = one_prod(one_sum(from_bits(word[k] + bits(magic)), -magic), broadcast<T>(weight));
    });
    static_for<0, D>([&](auto k) MDQR_LAMBDA { w[k] = v[k + 1]; });
    // Without word 0, which is mostly 0. Upwards, every error is 0 or at least twice the next one;
    // downwards, each limb is filled up from the words below it.
    sweep_up<D>(w);
    sweep_down<D>(w);
    mask_t<T> bad = v[0] != broadcast<T>(0.0);
    static_for<0, N>([&](auto i) MDQR_LAMBDA { bad = bad | (one_sum(w[i], w[i + 1]) != w[i]); });
    md<T, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = w[i]; });
    // Left to do: large sums, words that cancelled to 0, and ties.
    if (any(bad))
        r = select(bad, renormalize<D + 1, N>(v), r);
    return r;
}

MDQR_END
