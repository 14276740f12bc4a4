// Products, quotients and square roots of more than 9 limbs, by the 51-bit digits of digits.hpp.
//
// Networks of words grow with the cube of N: 16 limbs take 11 000 operations a product, and the
// compiler a minute for each lane type; D = 17 digits take 153 products of digits, 5 operations
// each. Operands are divided by powers of two, so that no digit leaves the range of doubles: x and
// y lie in [1/2, 1].
//
// A product errs by (3 D + 2) 2^(-51D) before it is cut to N limbs (digits.hpp).
//
// Of a quotient x is divided by so much that |q| <= 1, and q = sum c_k 2^(-51-51k) >= 1/2. Digit k
// is the nearest integer to what is left of x over y, but for 2^-40: |c_0| <= 2^51, the others are
// at most 2^50 + 2^11, and 2^(-51D) is left at the end. The words that are left out, and cutting x
// and y to D digits, are as of products: it errs by 2 (3 D + 3) 2^(-51D). Where nothing is cut and
// digits end, as of x / x, the quotient is exact.
//
// A root is the same with 2 s in place of y. Only digit 0, from the root of the first limb, may be
// off by 0.7: |s_1| <= 2^50.5, and twice a product of digits stays below 2^102, where split
// products end.
//
// D is chosen so that all are below 2^-8 u^N; the contract allows u^N for what comes before the
// cut. Pairs of digits that swap under x <-> y count the same: products commute bitwise.
#pragma once
#include "mdqr/digits.hpp"

MDQR_BEGIN

// More limbs than networks are for: elementary functions of 8 limbs work with 9.
template <int N> inline constexpr bool by_digits = N > 9;

// The fewest digits for errors of 2^-8 u^N before the cut.
MDQR_FN constexpr int find_number_digits(int limbs) {
    int digits = limbs + 1;
    while (51 * digits - ceil_log2(8 * (3 * digits + 3)) < 53 * limbs + 8)
        ++digits;
    return digits;
}
template <int N> inline constexpr int number_digits = find_number_digits(N);

template <class T> MDQR_FN ints_t<T> integer_of(T x) { // |x| < 2^51
    return bits(one_sum(x, broadcast<T>(digit_rest))) - bits(digit_rest);
}
template <class T> MDQR_FN T double_of(ints_t<T> i) { // |i| < 2^51
    return one_sum(from_bits(i + bits(digit_rest)), broadcast<T>(-digit_rest));
}
template <class T> MDQR_FN T nearest_integer(T x) { // |x| < 2^51
    return one_sum(one_sum(x, broadcast<T>(digit_rest)), broadcast<T>(-digit_rest));
}

// E with |x| <= 2^E for a number that begins with `leading`; 2^(E-1) <= |x| unless it is subnormal.
template <class T> MDQR_FN ints_t<T> leading_exponent(T leading) {
    return ((bits(leading) >> 52) & i64(0x7ff)) - i64(1022);
}

// x 2^e by two factors: every power that a product or quotient needs, and each limb rounded once
// where it becomes subnormal.
template <class T, int N> MDQR_FN md<T, N> scaled_by_power(const md<T, N>& x, ints_t<T> e) {
    const ints_t<T> half = e >> 1;
    const T first = from_bits((half + i64(1023)) << 52);
    const T second = from_bits((e - half + i64(1023)) << 52);
    return scaled(scaled(x, first), second);
}

// The N limbs of words as carry_words leaves them, times 2^e.
template <int D, int N, class T>
MDQR_CALL md<T, N> from_words_times(const ints_t<T>* word, ints_t<T> e) {
    md<T, N> r = scaled_by_power(from_words<D, N, T>(word), e);
    // Limbs that were rounded on their own may overlap.
    if (any(abs(r.limb[0]) < broadcast<T>(all_normal<N>)))
        r = renormalize<N, N>(r.limb);
    return r;
}

// Fast sums leave limbs out of order where they cancel; digits begin with the first limb.
template <class T, int N> MDQR_FN md<T, N> in_order(md<T, N> x) {
    if (any(not_normalised<N, N>(x.limb)))
        x = renormalize<N, N>(x.limb);
    return x;
}

// The digits of x 2^e, at most 1: long code, once for all that call it.
template <int D, class T, int N>
MDQR_CALL void scaled_to_digits(const md<T, N>& x, ints_t<T> e, T* digit) {
    to_digits<D, N>(scaled_by_power(x, e).limb, digit);
}

// Digits cut what gaps between limbs move behind them. A power of two (or zero), and nothing below
// it, scales instead: exactly, but for limbs that become subnormal.
template <class T, int N> MDQR_FN mask_t<T> is_power_of_two(const md<T, N>& x) {
    const T power = from_bits(bits(x.limb[0]) & ~((i64(1) << 52) - i64(1)));
    return (power == x.limb[0]) & (x.limb[1] == broadcast<T>(0.0));
}
template <class T, int N> MDQR_FN md<T, N> times_power_of_two(const md<T, N>& x, T power) {
    return in_order(scaled(x, power));
}

// Digits are integers, of which none is NaN or infinite: `leading` is, as IEEE has it, where r is
// to be.
template <class T, int N> MDQR_FN md<T, N> or_special(const md<T, N>& r, T leading) {
    const mask_t<T> special = !(abs(leading) <= broadcast<T>(0x1.fffffffffffffp1023));
    return any(special) ? select(special, from_double<T, N>(leading), r) : r;
}

template <class T, int N>
MDQR_CALL md<T, N> mul_digits(const md<T, N>& any_x, const md<T, N>& any_y) {
    const md<T, N> x = in_order(any_x), y = in_order(any_y);
    constexpr int D = number_digits<N>;
    const ints_t<T> ex = leading_exponent(x.limb[0]), ey = leading_exponent(y.limb[0]);
    T a[D], b[D];
    scaled_to_digits<D>(x, -ex, a);
    scaled_to_digits<D>(y, -ey, b);
    ints_t<T> word[D + 1];
    word[0] = bits(broadcast<T>(0.0));
    static_for<0, D>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        word[K + 1] =
            bits(broadcast<T>(0.0)) - digit_bias<D, D>(K, bits(digit_split), bits(digit_rest));
    });
    digit_multiply_add<D, D, D>(a, b, word + 1);
    carry_words<D>(word);
    md<T, N> r = from_words_times<D, N, T>(word, ex + ey);
    const mask_t<T> scales_y = is_power_of_two(x), scales_x = is_power_of_two(y);
    if (any(scales_x | scales_y)) {
        r = select(scales_y, times_power_of_two(y, x.limb[0]), r);
        r = select(scales_x, times_power_of_two(x, y.limb[0]), r);
    }
    return or_special(r, one_prod(x.limb[0], y.limb[0]));
}

// What quotients and roots have left: word j counts multiples of the unit of digit j.
template <int D, class T> class digit_remainder {
public:
    MDQR_FN explicit digit_remainder(const T* digit) {
        static_for<0, D>([&](auto j) MDQR_LAMBDA { word[j] = integer_of(digit[j]); });
        word[D] = bits(broadcast<T>(0.0));
    }

    // The nearest integer to the remainder in units of digit K over high + low; `low` of the
    // divisor may depend on that integer.
    template <int K, class F> MDQR_FN T next_digit(T high, T reciprocal, F low) {
        if constexpr (K > 0)
            word[K] = word[K] + word[K - 1] * (i64(1) << 51);
        const ints_t<T> carry = (word[K + 1] + (i64(1) << 50)) >> 51;
        word[K] = word[K] + carry;
        word[K + 1] = word[K + 1] - carry * (i64(1) << 51);
        const T whole = double_of<T>(word[K]);
        const T rest = one_prod(double_of<T>(word[K + 1]), broadcast<T>(two_to(-51)));
        // An even integer where it may be a little beyond 2^51.
        const T magic = broadcast<T>(K == 0 ? 2.0 * digit_rest : digit_rest);
        const T near = one_sum(one_sum(one_prod(whole, reciprocal), magic), -magic);
        // What its rounding and that of the reciprocal leave is a few units.
        const T left = one_sum(fma(-near, high, whole), fma(-near, low(near), rest));
        return one_sum(near, nearest_integer(one_prod(left, reciprocal)));
    }

    // -= the product of digits whose indices add up to K.
    template <int K> MDQR_FN void subtract(T a, T b) {
        if constexpr (K < D) {
            const T c = broadcast<T>(digit_split), c2 = broadcast<T>(digit_split + digit_rest);
            const T h = fma(-a, b, c), l = fma(-a, b, one_sum(c2, -h));
            word[K] = word[K] + (bits(h) - bits(digit_split));
            word[K + 1] = word[K + 1] + (bits(l) - bits(digit_rest));
        }
    }

private:
    ints_t<T> word[D + 1];
};

// sum digit[k] 2^(-49-51k+e).
template <int D, int N, class T> MDQR_FN md<T, N> from_digits(const T* digit, ints_t<T> e) {
    ints_t<T> word[D + 1];
    word[0] = bits(broadcast<T>(0.0));
    static_for<0, D>([&](auto k) MDQR_LAMBDA { word[k + 1] = integer_of(digit[k]); });
    carry_words<D>(word);
    return from_words_times<D, N, T>(word, e);
}

// y not zero.
template <class T, int N>
MDQR_CALL md<T, N> div_digits(const md<T, N>& any_x, const md<T, N>& any_y) {
    const md<T, N> x = in_order(any_x), y = in_order(any_y);
    constexpr int D = number_digits<N>;
    const ints_t<T> ey = leading_exponent(y.limb[0]);
    // Word k counts half of what digit k of the quotient counts.
    const md<T, 2> half = scaled_by_power(md<T, 2>{{y.limb[0], y.limb[1]}}, -ey - i64(1));
    const T high = half.limb[0], low = half.limb[1];
    ints_t<T> ex = leading_exponent(x.limb[0]);
    const md<T, 1> first = scaled_by_power(md<T, 1>{{x.limb[0]}}, -ex - i64(1));
    const ints_t<T> zero = bits(broadcast<T>(0.0));
    ex = ex + select_ints(abs(first.limb[0]) > abs(high), zero + i64(1), zero);
    T a[D], b[D], c[D];
    scaled_to_digits<D>(x, -ex, a);
    scaled_to_digits<D>(y, -ey, b);
    digit_remainder<D, T> remainder(a);
    const T reciprocal = broadcast<T>(1.0) / high;
    static_for<0, D>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        c[K] =
            remainder.template next_digit<K>(high, reciprocal, [&](T) MDQR_LAMBDA { return low; });
        static_for<0, D - K>(
            [&](auto i) MDQR_LAMBDA { remainder.template subtract<K + i.value>(c[K], b[i]); });
    });
    const md<T, N> r = or_special(from_digits<D, N>(c, ex - ey - i64(2)), x.limb[0] / y.limb[0]);
    const mask_t<T> scales = is_power_of_two(y);
    return any(scales) ? select(scales, times_power_of_two(x, broadcast<T>(1.0) / y.limb[0]), r)
                       : r;
}

// x positive.
template <class T, int N> MDQR_CALL md<T, N> sqrt_digits(const md<T, N>& any_x) {
    const md<T, N> x = in_order(any_x);
    constexpr int D = number_digits<N>;
    // An even exponent: a quarter or more is left.
    const ints_t<T> half = (leading_exponent(x.limb[0]) + i64(1)) >> 1;
    T a[D], s[D], twice[D];
    scaled_to_digits<D>(x, half * i64(-2) - i64(1), a);
    digit_remainder<D, T> remainder(a);
    const md<T, 1> square = scaled_by_power(md<T, 1>{{x.limb[0]}}, half * i64(-2));
    s[0] = nearest_integer(one_prod(sqrt(square.limb[0]), broadcast<T>(two_to(50))));
    twice[0] = one_sum(s[0], s[0]);
    remainder.template subtract<0>(s[0], s[0]);
    const T high = one_prod(s[0], broadcast<T>(two_to(-50)));
    const T reciprocal = broadcast<T>(1.0) / high;
    static_for<1, D>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        // The divisor is the root without the next digits, and half of the next one.
        s[K] = remainder.template next_digit<K>(high, reciprocal, [&](T next) MDQR_LAMBDA {
            return K == 1 ? one_prod(next, broadcast<T>(two_to(-102)))
                          : one_prod(s[1], broadcast<T>(two_to(-101)));
        });
        twice[K] = one_sum(s[K], s[K]);
        static_for<0, K>(
            [&](auto i) MDQR_LAMBDA { remainder.template subtract<K + i.value>(s[K], twice[i]); });
        remainder.template subtract<2 * K>(s[K], s[K]);
    });
    return or_special(from_digits<D, N>(s, half - i64(1)), sqrt(x.limb[0]));
}

MDQR_END
