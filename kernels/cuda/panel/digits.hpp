// Scalars of a panel as digits: x = sum of d_k 2^(-51 (k + 1)), |x| < 1, integers |d_k| of little
// more than 2^50 (|d_0| up to 2^51) in doubles.
//
// Products are those of mdqr/digits.hpp: the h of the digits i and j belongs to word i + j, its l
// to the next one, so that words count what digits count. Sums of words are exact and do not depend
// on their order. Carries are taken all at once: a word is cut to 51 bits and gets what is above
// 51 bits of the next one, which leaves digits a little above 2^50.
//
// Reciprocals and roots start from a double, and that from 20 bits; each step triples their digits,
// and the second one reaches nine. Of more the third one begins with nine, right to eight and a
// half.
// With x0 and the residual e,
//   1 / d      = x0 (1 + e + e^2 + O(e^3)),              e = 1 - d x0,
//   1 / sqrt s = x0 (1 + e / 2 + 3 e^2 / 8 + O(e^3)),    e = 1 - s x0^2.
#pragma once
#include "device/device.hpp"

#include "mdqr/digits.hpp"

MDQR_BEGIN

template <int M> struct digits {
    double d[M];
};
template <int M> struct words {
    i64 w[M];
};

// 2^e, word 0 counting 2^-51.
MDQR_FN constexpr i64 top_word(int e) { return i64(1) << (51 + e); }

// The pairs (i, j) of digits with i + j = k, i in [FirstA, A), j in [FirstB, B).
template <int A, int B, int FirstA, int FirstB> MDQR_FN constexpr int pairs_of(int k) {
    int n = 0;
    for (int i = FirstA; i < A; ++i)
        if (k - i >= FirstB && k - i < B)
            ++n;
    return n;
}

// R words of a product; digits below FirstA and FirstB are zero.
template <int R, int FirstA = 0, int FirstB = 0, int A, int B>
MDQR_FN words<R> product(const digits<A>& a, const digits<B>& b) {
    words<R> r;
    static_for<0, R>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        constexpr int high = pairs_of<A, B, FirstA, FirstB>(K);
        constexpr int low = K > 0 ? pairs_of<A, B, FirstA, FirstB>(K - 1) : 0;
        r.w[K] =
            i64(u64(0) - u64(high) * u64(bits(digit_split)) - u64(low) * u64(bits(digit_rest)));
    });
    static_for<FirstB, B>([&](auto j) MDQR_LAMBDA {
        constexpr int J = j.value, end = A < R - J ? A : R - J;
        static_for<FirstA, end>([&](auto i) MDQR_LAMBDA {
            constexpr int K = i.value + J;
            const double h = fma(a.d[i], b.d[J], digit_split);
            r.w[K] = wrapping_add(r.w[K], bits(h));
            if constexpr (K + 1 < R) {
                const double l = fma(a.d[i], b.d[J], one_sum(digit_split + digit_rest, -h));
                r.w[K + 1] = wrapping_add(r.w[K + 1], bits(l));
            }
        });
    });
    return r;
}

template <int M> MDQR_FN words<M> plus(const words<M>& x, const words<M>& y) {
    words<M> r;
    static_for<0, M>([&](auto k) MDQR_LAMBDA { r.w[k] = wrapping_add(x.w[k], y.w[k]); });
    return r;
}
template <int M> MDQR_FN words<M> times(const words<M>& x, i64 factor) {
    words<M> r;
    static_for<0, M>([&](auto k) MDQR_LAMBDA { r.w[k] = x.w[k] * factor; });
    return r;
}
// 2^e - x.
template <int M> MDQR_FN words<M> less_than(int e, const words<M>& x) {
    words<M> r = times(x, -1);
    r.w[0] += top_word(e);
    return r;
}

// What a word gives to the one above it.
MDQR_FN i64 carry_of(i64 word) { return (word + (i64(1) << 50)) >> 51; }

template <int M> MDQR_FN words<M> carried(const words<M>& x) {
    words<M> r;
    static_for<0, M>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        r.w[K] = x.w[K];
        if constexpr (K > 0)
            r.w[K] -= carry_of(x.w[K]) * (i64(1) << 51);
        if constexpr (K + 1 < M)
            r.w[K] += carry_of(x.w[K + 1]);
    });
    return r;
}

// Integers of at most 2^51.
MDQR_FN double to_double(i64 word) {
    return one_sum(from_bits(word + bits(digit_rest)), -digit_rest);
}
MDQR_FN i64 to_integer(double digit) { return bits(one_sum(digit, digit_rest)) - bits(digit_rest); }
template <int M> MDQR_FN digits<M> as_digits(const words<M>& x) {
    digits<M> r;
    static_for<0, M>([&](auto k) MDQR_LAMBDA { r.d[k] = to_double(x.w[k]); });
    return r;
}
template <int M> MDQR_FN words<M> as_words(const digits<M>& x) {
    words<M> r;
    static_for<0, M>([&](auto k) MDQR_LAMBDA { r.w[k] = to_integer(x.d[k]); });
    return r;
}
template <int M> MDQR_FN digits<M> normalised(const words<M>& x) { return as_digits(carried(x)); }

// The first R digits, or zeros behind the last.
template <int R, int M> MDQR_FN digits<R> first_of(const digits<M>& x) {
    digits<R> r;
    static_for<0, R>([&](auto k) MDQR_LAMBDA {
        if constexpr (k < M)
            r.d[k] = x.d[k];
        else
            r.d[k] = 0.0;
    });
    return r;
}
template <int M> MDQR_FN digits<M> negative_if(bool negative, const digits<M>& x) {
    digits<M> r;
    static_for<0, M>([&](auto k) MDQR_LAMBDA { r.d[k] = negative ? -x.d[k] : x.d[k]; });
    return r;
}

template <int M> MDQR_FN double leading(const digits<M>& x) {
    return one_prod(fma(x.d[1], two_to(-51), x.d[0]), two_to(-51));
}
template <int M> MDQR_FN bool is_zero(const digits<M>& x) {
    bool zero = true;
    static_for<0, M>([&](auto k) MDQR_LAMBDA { zero = zero && x.d[k] == 0.0; });
    return zero;
}

// -- numbers of limbs -----------------------------------------------------------------------------

// Digits of the number with the limbs x[0..N) / 2. After a cancellation a limb may reach up to 50
// bits above its place.
template <int M, int N> MDQR_FN digits<M> half_as_digits(const double* x) {
    double v[M];
    static_for<0, M>([&](auto k) MDQR_LAMBDA { v[k] = 0.0; });
    static_for<0, N>([&](auto l) MDQR_LAMBDA {
        constexpr int first = l.value > 0 ? l.value - 1 : 0;
        if constexpr (first < M)
            limb_to_digits<first, (l.value > 0 ? 3 : 2), M>(x[l], v);
    });
    digits<M> r;
    double carry[M];
    static_for<1, M>(
        [&](auto k) MDQR_LAMBDA { carry[k] = one_sum(one_sum(v[k], digit_split), -digit_split); });
    static_for<0, M>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        r.d[K] = v[K];
        if constexpr (K > 0)
            r.d[K] = one_sum(r.d[K], -carry[K]);
        if constexpr (K + 1 < M)
            r.d[K] = fma(carry[K + 1], two_to(-51), r.d[K]);
    });
    return r;
}

// The N limbs, normalised.
template <int N, int M> MDQR_FN md<double, N> to_limbs(const digits<M>& x) {
    static_assert(N < M);
    double v[M], w[M];
    static_for<0, M>([&](auto k) MDQR_LAMBDA {
        v[k] = one_prod(x.d[k], two_to(-51 * (k.value + 1)));
        w[k] = v[k];
    });
    // Upwards, every error is 0 or at least twice the next one; downwards, each limb is filled up
    // from the words below it.
    sweep_up<M>(w);
    sweep_down<M>(w);
    bool bad = false;
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        bad = bad || one_sum(w[i], w[i + 1]) != w[i] || (w[i] == 0.0 && w[i + 1] != 0.0);
    });
    if (bad)
        return renormalize<M, N>(v);
    md<double, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = w[i]; });
    return r;
}

// -- reciprocals ----------------------------------------------------------------------------------

// To an ulp or two, in less time than the correctly rounded operations.
MDQR_FN double quick_reciprocal(double d) {
    const double x = near_reciprocal(d), e = fma(-d, x, 1.0);
    return fma(x, fma(e, e, e), x);
}
MDQR_FN double quick_reciprocal_root(double s) {
    const double y = near_reciprocal_root(s), e = fma(-one_prod(s, y), y, 1.0);
    return fma(one_prod(y, e), fma(e, 0.375, 0.5), y);
}

// x (1 + q) for q = first t + second t^2 and Known digits x; of the M words of t the first Zeros
// are 0 once carries are taken, and so they are of q but for a carry from word 1 to word 0.
template <int Zeros, int Result, int Known, int M>
MDQR_FN digits<Result> corrected(const digits<Known>& x, const words<M>& residual, i64 first,
                                 i64 second) {
    const words<M> t = carried(residual);
    words<M> q = times(t, first);
    if constexpr (2 * Zeros < M) {
        const digits<M> d = as_digits(t);
        q = plus(q, times(carried(product<M, Zeros, Zeros>(d, d)), second));
    }
    words<Result> r = product<Result, 0, (Zeros > 1 ? Zeros : 0)>(x, normalised(q));
    static_for<0, (Known < Result ? Known : Result)>(
        [&](auto k) MDQR_LAMBDA { r.w[k] += to_integer(x.d[k]); });
    return normalised(r);
}

// 1 / (8 sqrt(s)) for s between 1/16 and 1/4.
template <int M> MDQR_CALL digits<M> reciprocal_root(digits<M> s) {
    static_assert(M <= 18, "mdqr: so many digits take one more step");
    constexpr int first = M < 4 ? M : 4;
    digits<1> seed;
    seed.d[0] = to_double(to_integer(one_prod(two_to(48), quick_reciprocal_root(leading(s)))));
    const digits<2> square = normalised(product<2>(seed, seed));
    const words<4> e = less_than(-6, product<4>(first_of<first>(s), square));
    const digits<3> y = corrected<1, 3>(seed, e, 32, 1536);
    if constexpr (M == 3) {
        return y;
    } else if constexpr (M <= 9) {
        const digits<6> square = normalised(product<6>(y, y));
        return corrected<2, M>(y, less_than(-6, product<M>(s, square)), 32, 1536);
    } else {
        const digits<9> z = reciprocal_root(first_of<9>(s));
        const digits<18> square = normalised(product<18>(z, z));
        return corrected<8, M>(z, less_than(-6, product<M>(s, square)), 32, 1536);
    }
}

// 2^-Shift / d for d between 2^(1 - Shift) and 1, and a little beyond.
template <int Shift, int M> MDQR_CALL digits<M> reciprocal(digits<M> d) {
    static_assert(M <= 18, "mdqr: so many digits take one more step");
    constexpr int first = M < 4 ? M : 4;
    constexpr i64 power = i64(1) << Shift;
    const double x = one_prod(two_to(51 - Shift), quick_reciprocal(leading(d)));
    digits<2> seed;
    seed.d[0] = to_double(to_integer(x));
    seed.d[1] = to_double(to_integer(one_prod(one_sum(x, -seed.d[0]), two_to(51))));
    const words<4> e = less_than(-Shift, product<4>(first_of<first>(d), seed));
    const digits<3> y = corrected<1, 3>(seed, e, power, power * power);
    if constexpr (M == 3) {
        return y;
    } else if constexpr (M <= 9) {
        return corrected<2, M>(y, less_than(-Shift, product<M>(d, y)), power, power * power);
    } else {
        const digits<9> z = reciprocal<Shift>(first_of<9>(d));
        return corrected<8, M>(z, less_than(-Shift, product<M>(d, z)), power, power * power);
    }
}

MDQR_END
