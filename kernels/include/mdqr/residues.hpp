// Exact products through residues: numbers as integers on a grid, and integers back from what they
// are modulo coprime numbers (the Chinese remainder theorem). The plan, with all tables, is made by
// mdqr/linalg/_products/exact/plan.py.
//
// A row of numbers becomes integers X = x 2^(tau - e), 2^e above its maximum, each limb rounded to
// the nearest: |X| <= 2^tau, and all together at most one unit off. They are kept as words of 32
// bits of X + 2^(32 words - 1), which is not negative, so that residues are sums of bytes times the
// residues of 256^j.
//
// With residues r_i of C modulo m_i, P the product of all m_i, and W_i = 1 modulo m_i, 0 modulo the
// others: C = sum r_i W_i - k P, k the nearest integer to sum r_i W_i / P, since |C| <= P / 4. W_i
// and P are cut to balanced digits of `width` bits, so few that all sums of digits are exact.
#pragma once
#include "mdqr/digits.hpp"
#include "mdqr/number/contract.hpp"
#include "mdqr/superacc.hpp"

MDQR_BEGIN

// Words of the largest integers, of each part of a number: more bits than limbs hold are cut by the
// plan.
inline constexpr int most_words = 32;

// Exponents of zeros, and of what is not finite.
inline constexpr i64 absent_exponent = -(i64(1) << 40), non_finite_exponent = i64(1) << 40;

template <class T> MDQR_FN ints_t<T> splat_ints(i64 x) { return bits(broadcast<T>(0.0)) + x; }
template <class T> MDQR_FN ints_t<T> larger_ints(ints_t<T> a, ints_t<T> b) {
    return select_ints(a > b, a, b);
}
template <class T> MDQR_FN ints_t<T> smaller_ints(ints_t<T> a, ints_t<T> b) {
    return select_ints(a < b, a, b);
}
template <class T> MDQR_FN ints_t<T> field_of(T x) { return (bits(x) >> 52) & i64(0x7ff); }

// E with |x| < 2^E, E - 1 the exponent of x unless it is subnormal.
template <class T> MDQR_FN ints_t<T> exponents_above(T x) {
    const ints_t<T> field = field_of(x);
    ints_t<T> e = larger_ints<T>(field, splat_ints<T>(1)) - i64(1022);
    e = select_ints(field == i64(0x7ff), splat_ints<T>(non_finite_exponent), e);
    return select_ints(x == broadcast<T>(0.0), splat_ints<T>(absent_exponent), e);
}

// The exponent of the lowest bit that is set.
template <class T> MDQR_FN ints_t<T> lowest_bits(T x) {
    const ints_t<T> field = field_of(x), zero = splat_ints<T>(0);
    const ints_t<T> mantissa = (bits(x) & i64(0xfffffffffffffLL)) |
                               select_ints(field == i64(0), zero, splat_ints<T>(i64(1) << 52));
    const T two_to_52 = broadcast<T>(0x1p52);
    const T low = one_sum(from_bits((mantissa & (zero - mantissa)) + bits(two_to_52)), -two_to_52);
    const ints_t<T> e =
        larger_ints<T>(field, splat_ints<T>(1)) - i64(1075) + (field_of(low) - i64(1023));
    return select_ints(x == broadcast<T>(0.0), splat_ints<T>(non_finite_exponent), e);
}

// The factors 2^e, as two.
template <class T> MDQR_FN void power_factors(ints_t<T> e, T& first, T& second) {
    e = larger_ints<T>(smaller_ints<T>(e, splat_ints<T>(2000)), splat_ints<T>(-2000));
    const ints_t<T> half = e >> 1;
    first = from_bits((half + i64(1023)) << 52);
    second = from_bits((e - half + i64(1023)) << 52);
}

// floor(v first second), v >= 0 the first limb of a magnitude: limbs below may make it smaller by a
// unit in its last place.
template <class T> MDQR_FN ints_t<T> floor_magnitude(T v, T first, T second) {
    const T y = one_prod(one_prod(v, first), second);
    const T half = one_sum(one_prod(y, broadcast<T>(1.0 - 0x1p-50)), broadcast<T>(-0.5));
    const T magic = broadcast<T>(digit_rest);
    return larger_ints<T>(bits(one_sum(half, magic)) - bits(magic), splat_ints<T>(0));
}

// word[0..top] += y rounded to an integer, |y| < 2^(32 top + 51).
template <class T> MDQR_FN void add_integer(T y, int top, ints_t<T>* word) {
    const T magic = broadcast<T>(digit_rest), zero = broadcast<T>(0.0);
    for (int j = top; j >= 0; --j) {
        const T moved = one_sum(one_prod(y, broadcast<T>(power_of_two(-32 * j))), magic);
        word[j] = word[j] + (bits(moved) - bits(magic));
        y = fma(one_sum(magic, -moved), broadcast<T>(power_of_two(32 * j)), y);
        if (!any(y != zero))
            break;
    }
}

template <int Top, class T, int Words> MDQR_FN void add_integer(T y, ints_t<T> (&word)[Words]) {
    static_for_down<Top, 0>([&](auto j) MDQR_LAMBDA {
        if (any(y != broadcast<T>(0.0))) {
            const T magic = broadcast<T>(digit_rest);
            const T moved = one_sum(one_prod(y, broadcast<T>(two_to(-32 * j.value))), magic);
            word[j] = word[j] + (bits(moved) - bits(magic));
            y = fma(one_sum(magic, -moved), broadcast<T>(two_to(32 * j.value)), y);
        }
    });
}

// Words in [0, 2^32) of an integer and 2^(32 words - 1).
template <class T> MDQR_FN void carry_integer(ints_t<T>* word, int words) {
    const i64 mask = 0xffffffffLL;
    ints_t<T> carry = bits(broadcast<T>(0.0));
    MDQR_UNROLL
    for (int j = 0; j < words; ++j) {
        const ints_t<T> w = word[j] + carry + (j == words - 1 ? i64(1) << 31 : i64(0));
        word[j] = w & mask;
        carry = w >> 32;
    }
}

// The words of the integer with limbs x[0..limbs) times first * second, which leaves |x| <= 2^tau;
// each in [0, 2^32), 2^(32 words - 1) added.
template <class T>
MDQR_FN void to_words(const T* x, int limbs, T first, T second, int tau, ints_t<T>* word,
                      int words) {
    for (int j = 0; j < words; ++j)
        word[j] = bits(broadcast<T>(0.0));
    for (int l = 0; l < limbs && tau - 53 * l >= -1; ++l) {
        const int top = tau - 53 * l < 0 ? 0 : (tau - 53 * l) / 32;
        add_integer(one_prod(one_prod(x[l], first), second), top < words ? top : words - 1, word);
    }
    carry_integer<T>(word, words);
}

// The same for numbers of words and limbs known to the compiler: arrays are registers. What a limb
// does not reach adds zeros.
template <int Words, int Limbs, class T>
MDQR_FN void to_words(const T (&x)[Limbs], T first, T second, ints_t<T> (&word)[Words]) {
    static_for<0, Words>([&](auto j) MDQR_LAMBDA { word[j] = splat_ints<T>(0); });
    static_for<0, Limbs>([&](auto l) MDQR_LAMBDA {
        // Limb l is below 2^(32 Words - 1 - 53 l).
        constexpr int bound = 32 * Words - 1 - 53 * l.value;
        if constexpr (bound >= 0)
            add_integer<bound / 32>(one_prod(one_prod(x[l], first), second), word);
    });
    carry_integer<T>(word, Words);
}

// Balanced digits of `width` bits from exact sums of them; the highest keeps what is left.
template <class T> MDQR_FN void carry_pieces(T* piece, int pieces, int width) {
    const T magic = broadcast<T>(digit_rest);
    const T down = broadcast<T>(power_of_two(-width)), up = broadcast<T>(power_of_two(width));
    MDQR_UNROLL
    for (int l = 0; l + 1 < pieces; ++l) {
        const T c = one_sum(fma(piece[l], down, magic), -magic);
        piece[l] = fma(-c, up, piece[l]);
        piece[l + 1] = one_sum(piece[l + 1], c);
    }
}

// Digits in front that N limbs take, of at least 30 bits each, and more for leading zeros.
template <int N> inline constexpr int front_pieces = 53 * N / 30 + 5;

// The nearest N limbs to sum piece[l] 2^(width l - unit), in the greedy form; exact, one lane.
template <int N>
MDQR_COLD md<double, N> round_pieces(const double* piece, int pieces, int width, int unit) {
    superacc sum;
    for (int l = 0; l < pieces; ++l)
        sum.add_scaled(i64(piece[l]), width * l - unit);
    md<double, N> r;
    sum.round(r.limb);
    return r;
}

// The limbs of W words: digits in front and one for the sign of the rest, which is below 2^end;
// `bad` where they may not be the nearest. `v` is changed.
template <int N, int W, class T>
MDQR_FN md<T, N> round_front(T* v, T rest, int end, mask_t<T>& bad) {
    md<T, N> r = renormalize<W, N>(v);
    // What is below the limbs becomes one number, or too many are taken for ties.
    sweep_up<W>(v);
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = v[i]; });
    // The sign of the rest decides if it is below half a unit in the last place of the last limb;
    // not where there are zeros between limbs or in front. A limb of half a unit in the last place
    // of the one before it is a tie, of which the sum has two forms.
    const int least = end + 54 < -1022 ? -1022 : end + 54;
    bad = (rest != broadcast<T>(0.0)) & (abs(r.limb[N - 1]) < broadcast<T>(power_of_two(least)));
    // Nothing behind it is no harm: sums round ties to even, too.
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        mask_t<T> has_more = rest != broadcast<T>(0.0);
        if constexpr (i + 2 < W)
            has_more = has_more | (v[i + 2] != broadcast<T>(0.0));
        const T more = fma(v[i + 1], broadcast<T>(two_to(-51)), v[i + 1]);
        bad = bad | (one_sum(v[i], select(has_more, more, v[i + 1])) != v[i]);
    });
    return r;
}

// The same for all lanes, of digits as carry_pieces leaves them: those in front and one word for
// the sign of the rest.
template <int N, class T>
MDQR_FN md<T, N> from_pieces(const T* piece, int pieces, int width, int unit) {
    constexpr int F = front_pieces<N>;
    const T zero = broadcast<T>(0.0);
    int top = pieces - 1;
    while (top > 0 && !any(piece[top] != zero))
        --top;
    T v[F + 1];
    static_for<0, F>([&](auto i) MDQR_LAMBDA {
        const int l = top - i.value;
        v[i] = l < 0 ? zero : one_prod(piece[l], broadcast<T>(power_of_two(width * l - unit)));
    });
    T rest = zero;
    const T down = broadcast<T>(power_of_two(-width));
    for (int l = 0; l <= top - F; ++l)
        rest = fma(rest, down, piece[l]);
    v[F] = top < F ? zero : one_prod(rest, broadcast<T>(power_of_two(width * (top - F) - unit)));
    mask_t<T> bad;
    md<T, N> r = round_front<N, F + 1>(v, rest, width * (top - F + 1) - unit, bad);
    if (any(bad)) {
        constexpr int most = 64;
        for (int i = 0; i < lanes<T>; ++i) {
            if (!mask_get(bad, i))
                continue;
            double one[most];
            for (int l = 0; l < pieces; ++l)
                one[l] = lane_get(piece[l], i);
            const md<double, N> s = round_pieces<N>(one, pieces, width, unit);
            static_for<0, N>([&](auto l) MDQR_LAMBDA { lane_set(r.limb[l], i, s.limb[l]); });
        }
    }
    return r;
}

// The same for one number, of as many digits as the compiler knows.
template <int N, int Pieces>
MDQR_FN md<double, N> from_pieces(const double (&piece)[Pieces], int width, int unit) {
    // With few digits there is no rest, and no word for it.
    constexpr int F = front_pieces<N>, last = Pieces - 1 - F;
    constexpr int W = last >= 0 ? F + 1 : Pieces > N ? Pieces : N + 1;
    // Moved up until the highest digit is not 0: arrays with fixed indices are registers.
    double p[Pieces];
    static_for<0, Pieces>([&](auto l) MDQR_LAMBDA { p[l] = piece[l]; });
    int zeros = 0;
    while (zeros < Pieces - 1 && p[Pieces - 1] == 0.0) {
        static_for_down<Pieces - 1, 1>([&](auto l) MDQR_LAMBDA { p[l] = p[l - 1]; });
        p[0] = 0.0;
        ++zeros;
    }
    const int end = width * -zeros - unit; // p[l] counts multiples of 2^(width l + end)
    double v[W], rest = 0.0;
    static_for<0, W>([&](auto i) MDQR_LAMBDA {
        constexpr int l = Pieces - 1 - i.value;
        v[i] = 0.0;
        if constexpr (l >= 0 && i.value < F)
            if (p[l] != 0.0)
                v[i] = one_prod(p[l], power_of_two(width * l + end));
    });
    const double down = power_of_two(-width);
    static_for<0, (Pieces > F ? Pieces - F : 0)>([&](auto l)
                                                     MDQR_LAMBDA { rest = fma(rest, down, p[l]); });
    if constexpr (last >= 0)
        v[F] = rest != 0.0 ? one_prod(rest, power_of_two(width * last + end)) : 0.0;
    bool bad;
    md<double, N> r = round_front<N, W>(v, rest, width * (last + 1) + end, bad);
    if (bad) {
        double all[Pieces];
        static_for<0, Pieces>([&](auto l) MDQR_LAMBDA { all[l] = piece[l]; });
        r = round_pieces<N>(all, Pieces, width, unit);
    }
    return r;
}

MDQR_END
