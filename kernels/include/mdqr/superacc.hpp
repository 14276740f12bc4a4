// Exact sums of doubles and of products of doubles over the whole range, rounded once to N limbs.
//
// A fixed-point number of 32-bit digits in 64-bit words (Kulisch, "Computer Arithmetic and
// Validity", 2008): word[i] has weight 2^(32 i - bias). Products of two doubles begin at 2^-2148
// and end below 2^2048; the words above take 2^120 terms, the upper half of each word 2^28 deposits
// between two carries.
#pragma once
#include "mdqr/number/eft.hpp"

MDQR_BEGIN

class superacc {
public:
    MDQR_FN superacc() {
        for (int i = 0; i < words; ++i)
            word[i] = 0;
    }

    MDQR_FN void clear() {
        for (int i = low; i <= high; ++i)
            word[i] = 0;
        low = changed = words;
        high = -1;
        deposits = 0;
        non_finite = 0.0;
        is_non_finite = false;
        terms = only_negative_zeros = false;
    }

    // += x
    MDQR_FN void add(double x) {
        if (note(x))
            return;
        const parts p = split(x);
        deposit(p.mantissa, p.exponent, p.negative);
    }

    // += a b, exactly; 0 inf and inf - inf are NaN.
    MDQR_FN void add_product(double a, double b) {
        if (!is_finite(a) || !is_finite(b) || a == 0.0 || b == 0.0) {
            note(one_prod(a, b));
            return;
        }
        terms = true;
        only_negative_zeros = false;
        const parts p = split(a), q = split(b);
        const bool negative = p.negative != q.negative;
        const int e = p.exponent + q.exponent;
        const u64 p0 = p.mantissa & mask, p1 = p.mantissa >> 32, q0 = q.mantissa & mask,
                  q1 = q.mantissa >> 32;
        deposit(p0 * q0, e, negative);
        deposit(p0 * q1 + p1 * q0, e + 32, negative);
        deposit(p1 * q1, e + 64, negative);
    }

    // += value 2^e. Bits below 2^-bias are cut off (towards zero).
    MDQR_FN void add_scaled(i64 value, int e) {
        terms = true;
        only_negative_zeros = false;
        u64 magnitude = value < 0 ? u64(0) - u64(value) : u64(value);
        if (e < -bias) {
            magnitude = -bias - e > 63 ? 0 : magnitude >> (-bias - e);
            e = -bias;
        }
        deposit(magnitude, e, value < 0);
    }

    MDQR_FN void negate() {
        for (int i = low; i <= high; ++i)
            word[i] = -word[i];
        changed = low;
        non_finite = -non_finite;
        // An exact zero is +0 either way, unless every term was -0.
        only_negative_zeros = false;
    }

    // The N limbs nearest to the sum: each the nearest double (ties to even) of what remains, then
    // downward FastTwoSum sweeps until the limbs are normalised. The sum is consumed.
    template <int N> MDQR_FN void round(double (&limb)[N]) {
        for (int i = 0; i < N; ++i)
            limb[i] = 0.0;
        if (is_non_finite) {
            limb[0] = non_finite;
            return;
        }
        if (terms && only_negative_zeros) {
            limb[0] = -0.0;
            return;
        }
        bool negative = false;
        for (int i = 0; i < N; ++i) {
            if (make_positive())
                negative = !negative;
            if (is_zero())
                break;
            const double x = leading();
            limb[i] = negative ? -x : x;
            if (x == 0.0)
                break;
            if (!is_finite(x))
                return;
            const parts p = split(x);
            deposit(p.mantissa, p.exponent, true);
        }
        bool again = N > 1;
        for (int pass = 0; again && pass < N; ++pass) {
            again = false;
            for (int i = 0; i + 1 < N; ++i) {
                const double before = limb[i];
                fast_two_sum(limb[i], limb[i + 1], limb[i], limb[i + 1]);
                again = again || limb[i] != before;
            }
            // A tie may round up to infinity, whose error is NaN.
            if (!is_finite(limb[0])) {
                for (int i = 1; i < N; ++i)
                    limb[i] = 0.0;
                return;
            }
        }
    }

private:
    static constexpr int bias = 2176;
    static constexpr int words = 136;
    static constexpr u64 mask = 0xffffffffULL;

    struct parts {
        u64 mantissa;
        int exponent;
        bool negative;
    };

    i64 word[words];
    int low = words, high = -1; // the words in use
    int changed = words;        // those below are carried
    int deposits = 0;
    double non_finite = 0.0; // IEEE sum of the terms that are not finite
    bool is_non_finite = false;
    bool terms = false, only_negative_zeros = false;

    // x = mantissa 2^exponent, x finite.
    MDQR_FN static parts split(double x) {
        const i64 b = bits(x);
        const int field = int((b >> 52) & 0x7ff);
        const u64 fraction = u64(b) & 0xfffffffffffffULL;
        return {field ? fraction | 0x10000000000000ULL : fraction, field ? field - 1075 : -1074,
                b < 0};
    }

    // Book zeros and values that are not finite; true if nothing remains to deposit.
    MDQR_FN bool note(double x) {
        const bool negative_zero = x == 0.0 && bits(x) < 0;
        only_negative_zeros = negative_zero && (only_negative_zeros || !terms);
        terms = true;
        if (is_finite(x))
            return x == 0.0;
        non_finite = one_sum(non_finite, x);
        is_non_finite = true;
        return true;
    }

    MDQR_FN void deposit(u64 magnitude, int e, bool negative) {
        const int position = e + bias;
        const int i = position >> 5, shift = position & 31;
        const u64 a = (magnitude & mask) << shift, b = (magnitude >> 32) << shift;
        const i64 sign = negative ? -1 : 0;
        word[i] += (i64(a & mask) ^ sign) - sign;
        word[i + 1] += (i64((a >> 32) + (b & mask)) ^ sign) - sign;
        word[i + 2] += (i64(b >> 32) ^ sign) - sign;
        if (i < low)
            low = i;
        if (i < changed)
            changed = i;
        if (i + 2 > high)
            high = i + 2;
        if (++deposits == 1 << 28)
            carry();
    }

    // Bring all words but the highest into [0, 2^32).
    MDQR_FN void carry() {
        deposits = 0;
        i64 c = 0;
        const int first = changed > low ? changed : low;
        changed = words;
        for (int i = first; i < words - 1; ++i) {
            if (i > high) {
                if (c == 0 || c == -1)
                    break;
                high = i;
            }
            const i64 w = word[i] + c;
            word[i] = w & i64(mask);
            c = w >> 32;
        }
        // What is left is a sign: fold it into the highest word in use.
        if (c != 0)
            word[high] += c * (i64(1) << 32);
    }

    // Replace the sum by its magnitude, carried; true if it was negative.
    MDQR_FN bool make_positive() {
        if (high < 0)
            return false;
        carry();
        const bool negative = word[high] < 0;
        if (negative) {
            for (int i = low; i <= high; ++i)
                word[i] = -word[i];
            changed = low;
            carry();
        }
        while (high > low && word[high] == 0)
            --high;
        return negative;
    }

    // 64 bits from bit position `position` upwards; words are carried and not negative.
    MDQR_FN u64 window(int position) const {
        const int i = position >> 5, shift = position & 31;
        u64 r = digit(i) >> shift;
        r |= digit(i + 1) << (32 - shift);
        if (shift != 0)
            r |= digit(i + 2) << (64 - shift);
        return r;
    }
    MDQR_FN u64 digit(int i) const { return i >= low && i <= high ? u64(word[i]) : 0; }

    // Of a carried sum.
    MDQR_FN bool is_zero() const { return high < 0 || word[high] == 0; }

    // Nearest double (ties to even) of the carried, positive sum.
    MDQR_FN double leading() const {
        int top = 32 * high;
        for (u64 w = u64(word[high]) >> 1; w != 0; w >>= 1)
            ++top;
        const int last = top - 52 > bias - 1074 ? top - 52 : bias - 1074;
        if (top < last - 1)
            return 0.0;
        u64 m = window(last) & 0x1fffffffffffffULL;
        const bool half = (window(last - 1) & 1) != 0;
        if (half) {
            bool sticky = (digit((last - 1) >> 5) & ((u64(1) << ((last - 1) & 31)) - 1)) != 0;
            for (int i = low; i < (last - 1) >> 5 && !sticky; ++i)
                sticky = word[i] != 0;
            if (sticky || (m & 1))
                ++m;
        }
        const int e = last - bias;
        if (e > 971 || (e == 971 && m == (u64(1) << 53)))
            return power_of_two(1023) * 2.0;
        return scale(double(m), e);
    }
};

MDQR_END
