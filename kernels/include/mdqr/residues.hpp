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

// Words of the largest integers: more bits than limbs hold are cut by the plan.
inline constexpr int most_words = 32;

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
    const i64 mask = 0xffffffffLL;
    ints_t<T> carry = bits(broadcast<T>(0.0));
    for (int j = 0; j < words; ++j) {
        const ints_t<T> w = word[j] + carry + (j == words - 1 ? i64(1) << 31 : i64(0));
        word[j] = w & mask;
        carry = w >> 32;
    }
}

// Balanced digits of `width` bits from exact sums of them; the highest keeps what is left.
template <class T> MDQR_FN void carry_pieces(T* piece, int pieces, int width) {
    const T magic = broadcast<T>(digit_rest);
    const T down = broadcast<T>(power_of_two(-width)), up = broadcast<T>(power_of_two(width));
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
    md<T, N> r = renormalize<F + 1, N>(v);
    // The sign of the rest decides if it is below half a unit in the last place of the last limb;
    // not where there are zeros between limbs or in front. A limb of half a unit in the last place
    // of the one before it is a tie, of which the sum has two forms.
    const int least = width * (top - F + 1) - unit + 54;
    mask_t<T> bad = (rest != zero) & (abs(r.limb[N - 1]) <
                                      broadcast<T>(power_of_two(least < -1022 ? -1022 : least)));
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        const T more = fma(v[i + 1], broadcast<T>(two_to(-51)), v[i + 1]);
        bad = bad | (one_sum(v[i], more) != v[i]);
    });
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

MDQR_END
