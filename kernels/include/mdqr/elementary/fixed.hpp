// Fixed-point numbers of 24-bit digits held in doubles: sum(digit[i] 2^(-24 i)).
//
// Digits are signed and at most 2^23, after one addition 2^24, so that products of digits are exact
// and so are sums of 21 of them, of 38 where only one factor was added: a product of two numbers is
// one fma a pair of digits, and its carries. All that is ever rounded is what lies below the last
// digit. One guard digit is summed and carried, so that a product of digits 0 to F errs by 0.5
// units of its last digit, and at most (F - 1) / 4 more for the pairs left out. The elementary
// functions evaluate their series in these numbers, whose terms take the fewer digits the smaller
// they are.
//
// Above 8 limbs digits are `long`: loops take the place of straight-line code (long_digits.hpp,
// looped.hpp).
#pragma once
#include "mdqr/elementary/constants.hpp"
#include "mdqr/elementary/long_digits.hpp"
#include "mdqr/number/add.hpp"
#include "mdqr/number/mul.hpp"

// Steps on digits are inlined on a GPU while they fit into registers; elsewhere they are called.
#if MDQR_DEVICE && defined(MDQR_LIMBS)
#if MDQR_LIMBS <= 4
#define MDQR_STEP MDQR_FN
#endif
#endif
#if !defined(MDQR_STEP)
#define MDQR_STEP MDQR_CALL
#endif

MDQR_BEGIN

// The last digit for N limbs: at least 40 bits more than eps, as much as N + 1 limbs hold within 9
// bits.
template <int N> MDQR_FN constexpr int find_last_digit() {
    constexpr int last = (53 * N + 61) / digit_bits;
    static_assert(last + 1 < row_digits,
                  "mdqr: constants.hpp has too few digits for so many limbs, see "
                  "generate_constants.py");
    static_assert(last <= 37, "mdqr: sums of so many products of digits are not exact");
    return last;
}
template <int N> inline constexpr int last_digit = find_last_digit<N>();

// One limb more than the result: what the steps of a function hand on.
template <class T, int N> using wide = md<T, N + 1>;

template <class T, int F> struct fixed {
    T digit[F + 1];
};

// Nearest integers, ties to even, for |a| <= 2^51; as integers; and back.
template <class T> MDQR_FN T nearest(T a) {
    return one_sum(one_sum(a, broadcast<T>(0x1.8p52)), -broadcast<T>(0x1.8p52));
}
template <class T> MDQR_FN ints_t<T> to_ints(T a) {
    return bits(one_sum(a, broadcast<T>(0x1.8p52))) - 0x4338000000000000LL;
}
template <class T> MDQR_FN T from_ints(ints_t<T> a) {
    return one_sum(from_bits(a + 0x4338000000000000LL), -broadcast<T>(0x1.8p52));
}

template <int E> inline constexpr double two_to_the = power_of_two_constant(E);

// Digits Last down to First + 1 become at most 2^23; the value stays.
template <int First, int Last, class T> MDQR_FN void carry(T* a) {
    if constexpr (has_long_digits(Last)) {
        carry_together(a, First, Last);
    } else {
        const T magic = broadcast<T>(0x1.8p52);
        MDQR_UNROLL
        for (int i = Last; i > First; --i) {
            const T c =
                one_sum(exact_fma(a[i], broadcast<T>(two_to_the<-digit_bits>), magic), -magic);
            a[i] = exact_fma(c, broadcast<T>(-two_to_the<digit_bits>), a[i]);
            a[i - 1] = one_sum(a[i - 1], c);
        }
    }
}

// r[0 .. L] = a b for digits A0 .. A1 of a and B0 .. B1 of b, the others being zero. May overwrite
// an operand.
template <int A0, int A1, int B0, int B1, int L, class T>
MDQR_STEP void multiply_digits(T* r, const T* a, const T* b) {
    constexpr int first = A0 + B0, guard = L + 1 < A1 + B1 ? L + 1 : A1 + B1;
    if constexpr (has_long_digits(L)) {
        T sum[L + 2 + sums_at_once];
        for (int i = 0; i < L + 2 + sums_at_once; ++i)
            sum[i] = broadcast<T>(0.0);
        add_products(sum, first, guard, a, A0, A1, padded<T, L>(b, B0, B1), B0, B1);
        carry_together(sum, first > 0 ? first - 1 : 0, guard);
        for (int i = 0; i <= L; ++i)
            r[i] = sum[i];
    } else {
        T sum[L + 2];
        MDQR_UNROLL
        for (int i = 0; i <= L + 1; ++i)
            sum[i] = broadcast<T>(0.0);
        MDQR_UNROLL
        for (int i = first; i <= guard; ++i) {
            const int from = A0 > i - B1 ? A0 : i - B1, to = A1 < i - B0 ? A1 : i - B0;
            T s = one_prod(a[from], b[i - from]);
            MDQR_UNROLL
            for (int j = from + 1; j <= to; ++j)
                s = exact_fma(a[j], b[i - j], s);
            sum[i] = s;
        }
        carry<(first > 0 ? first - 1 : 0), guard>(sum);
        MDQR_UNROLL
        for (int i = 0; i <= L; ++i)
            r[i] = sum[i];
    }
}

template <class T, int F> MDQR_FN fixed<T, F> multiply(const fixed<T, F>& a, const fixed<T, F>& b) {
    fixed<T, F> r;
    multiply_digits<0, F, 0, F, F>(r.digit, a.digit, b.digit);
    return r;
}

// The same for |a| < 1/2 2^(24 - 24 A0).
template <int A0, class T, int F>
MDQR_FN fixed<T, F> multiply_small(const fixed<T, F>& a, const fixed<T, F>& b) {
    fixed<T, F> r;
    multiply_digits<A0, F, 0, F, F>(r.digit, a.digit, b.digit);
    return r;
}

// One digit after the other, without carries.
template <class T, int F> MDQR_FN fixed<T, F> plus(const fixed<T, F>& a, const fixed<T, F>& b) {
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = one_sum(a.digit[i], b.digit[i]);
    return r;
}
template <class T, int F> MDQR_FN fixed<T, F> minus(const fixed<T, F>& a) {
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = -a.digit[i];
    return r;
}
template <class T, int F>
MDQR_FN fixed<T, F> select(mask_t<T> m, const fixed<T, F>& a, const fixed<T, F>& b) {
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = select(m, a.digit[i], b.digit[i]);
    return r;
}

// A row of a table, the same or another one for every lane.
template <class T, int F> MDQR_FN fixed<T, F> constant(const double* row) {
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = broadcast<T>(row[i]);
    return r;
}
// The first row where there is none, as for lanes that are no numbers.
template <class T, int F, int Size> MDQR_FN fixed<T, F> row_of(const double (&table)[Size], T row) {
    const T zero = broadcast<T>(0.0), last = broadcast<T>(Size / row_digits - 1);
    const T known = select((row >= zero) & (row <= last), row, zero);
    const ints_t<T> at = to_ints(one_prod(known, broadcast<T>(row_digits)));
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = gather(table + i, at);
    return r;
}

// Adds x, which has no bit above digit `at`, to digits from there on; few hold a limb.
template <class T> MDQR_CALL void add_limb(T* digit, int at, int last, T x) {
    const T magic = broadcast<T>(0x1.8p52), zero = broadcast<T>(0.0);
    T rest = x, many = broadcast<T>(power_of_two(digit_bits * at));
    T unit = broadcast<T>(power_of_two(-digit_bits * at));
    for (int i = at; i <= last && any(rest != zero); ++i) {
        const T d = one_sum(exact_fma(rest, many, magic), -magic);
        rest = exact_fma(d, -unit, rest);
        digit[i] = one_sum(digit[i], d);
        many = one_prod(many, broadcast<T>(two_to_the<digit_bits>));
        unit = one_prod(unit, broadcast<T>(two_to_the<-digit_bits>));
    }
}

// The digits of x, |x| < 2^B with B <= 23; each limb is rounded below the last digit.
template <int F, int B, class T, int M> MDQR_CALL fixed<T, F> to_fixed(const md<T, M>& x) {
    const T magic = broadcast<T>(0x1.8p52);
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = broadcast<T>(0.0);
    if constexpr (has_long_digits(F)) {
        for (int l = 0; l < M; ++l)
            add_limb(r.digit, (53 * l + 23 - B) / digit_bits, F, x.limb[l]);
    } else {
        static_for<0, M>([&](auto l) MDQR_LAMBDA {
            T rest = x.limb[l];
            static_for<(53 * l.value + 23 - B) / digit_bits, F + 1>([&](auto i) MDQR_LAMBDA {
                constexpr double unit = two_to_the<-digit_bits * i.value>,
                                 many = two_to_the<digit_bits * i.value>;
                const T d = one_sum(exact_fma(rest, broadcast<T>(many), magic), -magic);
                rest = exact_fma(d, broadcast<T>(-unit), rest);
                r.digit[i] = one_sum(r.digit[i], d);
            });
        });
    }
    return r;
}

// Digits by pairs, exactly; w has room for (F + 2) / 2 words.
template <class T, int F> MDQR_FN void to_words(T* w, const fixed<T, F>& x) {
    static_for<0, (F + 2) / 2>([&](auto j) MDQR_LAMBDA {
        constexpr double unit = two_to_the<-2 * digit_bits * j.value>;
        w[j] = one_prod(x.digit[2 * j], broadcast<T>(unit));
        if constexpr (2 * j.value + 1 <= F)
            w[j] =
                exact_fma(x.digit[2 * j + 1], broadcast<T>(unit * two_to_the<-digit_bits>), w[j]);
    });
}

template <int M, class T, int F> MDQR_CALL md<T, M> to_limbs(const fixed<T, F>& x) {
    constexpr int words = (F + 2) / 2;
    T w[words];
    to_words(w, x);
    return renormalize<words, M>(w);
}

// The value as a double, to about 2^-45 of the second digit's unit.
template <class T, int F> MDQR_FN T leading(const fixed<T, F>& x) {
    T r = broadcast<T>(0.0);
    static_for_down<3, 0>([&](auto i) MDQR_LAMBDA {
        if constexpr (i.value <= F)
            r = fma(x.digit[i], broadcast<T>(two_to_the<-digit_bits * i.value>), r);
    });
    return r;
}

// Series of long digits, see looped.hpp.
template <class T, int F, int Bits, int Block> struct powers;
template <class Series, int F> struct looped_horner;

// A power series sum c_k t^k of constants for |t| < 2^-bits: Horner's rule with no more digits a
// step than count in the end. `Series` has the coefficients; c_k <= 2^-zeros(k).
template <class Series, int F> struct horner {
    MDQR_FN static constexpr int terms() {
        int k = 1;
        while (k * Series::bits + Series::zeros(k) < digit_bits * F + 4)
            ++k;
        return k;
    }
    // What a step rounds counts 2^-2 units of the last digit at most.
    MDQR_FN static constexpr int last(int k) {
        const int l = (digit_bits * F + 2 - k * Series::bits + digit_bits - 1) / digit_bits;
        return l < 1 ? 1 : l < F ? l : F;
    }
    MDQR_FN static constexpr int first(int k) { return (Series::zeros(k) + 21) / digit_bits; }
    static constexpr int first_of_t = (Series::bits + 22) / digit_bits;

    // What several series of the same argument share.
    template <class T> MDQR_FN static auto argument(const fixed<T, F>& t) {
        if constexpr (has_long_digits(F))
            return powers<T, F, Series::bits, Series::block>(t);
        else
            return t;
    }

    template <int K, class T> MDQR_STEP static void step(T* p, const T* t) {
        constexpr int from = first(K), to = last(K) < from ? from : last(K);
        constexpr int p0 = first(K + 1), p1 = last(K + 1) < p0 ? p0 : last(K + 1);
        T sum[to + 2];
        MDQR_UNROLL
        for (int i = from; i <= to + 1; ++i) {
            T s = broadcast<T>(Series::coefficient(K, i));
            const int begin = first_of_t > i - p1 ? first_of_t : i - p1;
            const int end = i - p0 < F ? i - p0 : F;
            MDQR_UNROLL
            for (int j = begin; j <= end; ++j)
                s = exact_fma(t[j], p[i - j], s);
            sum[i] = s;
        }
        carry<from, to + 1>(sum);
        MDQR_UNROLL
        for (int i = from; i <= to; ++i)
            p[i] = sum[i];
    }

    template <class T, int Bits, int Block>
    MDQR_FN static fixed<T, F> evaluate(const powers<T, F, Bits, Block>& t) {
        return looped_horner<Series, F>::evaluate(t);
    }

    template <class T> MDQR_FN static fixed<T, F> evaluate(const fixed<T, F>& t) {
        constexpr int n = terms();
        static_assert(n <= Series::rows, "mdqr: the table of coefficients is too short");
        if constexpr (has_long_digits(F)) {
            return looped_horner<Series, F>::evaluate(argument(t));
        } else {
            fixed<T, F> p;
            MDQR_UNROLL
            for (int i = 0; i <= F; ++i)
                p.digit[i] = broadcast<T>(0.0);
            constexpr int end = n - 1, from = first(end), to = last(end) < from ? from : last(end);
            MDQR_UNROLL
            for (int i = from; i <= to; ++i)
                p.digit[i] = broadcast<T>(Series::coefficient(end, i));
            static_for_down<n - 2, 0>([&](auto k) MDQR_LAMBDA { step<k.value>(p.digit, t.digit); });
            return p;
        }
    }
};

#define MDQR_SERIES_MEMBERS(name, least_bits)                                                      \
    static constexpr int bits = least_bits;                                                        \
    static constexpr int rows = sizeof(name##_zero_bits) / sizeof(int);                            \
    MDQR_FN static constexpr int zeros(int k) { return name##_zero_bits[k]; }                      \
    MDQR_FN static double coefficient(int k, int i) { return name##_series[row_digits * k + i]; }

#define MDQR_SERIES(name, least_bits)                                                              \
    struct name##_coefficients {                                                                   \
        MDQR_SERIES_MEMBERS(name, least_bits)                                                      \
        static constexpr int block = 1;                                                            \
    }

// Those of which terms can be summed in blocks: c_(k + j) = row(k / block) factor(k / block, j).
#define MDQR_BLOCK_SERIES(name, least_bits)                                                        \
    struct name##_coefficients {                                                                   \
        MDQR_SERIES_MEMBERS(name, least_bits)                                                      \
        static constexpr int block = name##_block;                                                 \
        MDQR_FN static const double* row(int b) { return name##_block_series + row_digits * b; }   \
        MDQR_FN static int row_zeros(int b) { return name##_block_zero_bits[b]; }                  \
        MDQR_FN static double factor(int b, int j) {                                               \
            return name##_block_factors[(block - 1) * b + j - 1];                                  \
        }                                                                                          \
    }

MDQR_END
#include "mdqr/elementary/looped.hpp"
