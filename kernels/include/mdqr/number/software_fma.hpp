// a * b + c, rounded once, by integers: for targets without the instruction whose C library does
// not round it right. The one of mingw-w64 10 is wrong in a tenth of random products.
#pragma once
#include "mdqr/config.hpp"

#if !MDQR_DEVICE
MDQR_BEGIN

namespace by_integers {

using wide = unsigned __int128;
constexpr int top = 124; // the leading bit of both terms before the sum

struct term { // size * 2^exponent
    wide size;
    int exponent;
    bool negative;
};

inline u64 bits_of(double a) {
    u64 r;
    __builtin_memcpy(&r, &a, sizeof r);
    return r;
}

inline double power(int e) { // -1022 <= e <= 1023
    const u64 field = u64(e + 1023) << 52;
    double r;
    __builtin_memcpy(&r, &field, sizeof r);
    return r;
}

// Of a finite number that is not 0, with 53 bits.
inline term take(double a) {
    const u64 word = bits_of(a);
    const int field = int(word >> 52 & 0x7ff);
    const u64 fraction = word & 0xfffffffffffffULL;
    const bool negative = word >> 63 != 0;
    if (field != 0)
        return {fraction | 1ULL << 52, field - 1075, negative};
    const int shift = __builtin_clzll(fraction) - 11;
    return {fraction << shift, -1074 - shift, negative};
}

inline int leading(wide a) {
    const u64 high = u64(a >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(u64(a));
}

inline term raised(term a) {
    const int shift = top - leading(a.size);
    return {a.size << shift, a.exponent - shift, a.negative};
}

// A bit below all others stands for those that are shifted out: enough to round by, as sums that
// cancel shift out none but zeros.
inline term sum(term x, term y) {
    if (x.exponent < y.exponent || (x.exponent == y.exponent && x.size < y.size)) {
        const term held = x;
        x = y;
        y = held;
    }
    const int shift = x.exponent - y.exponent;
    const wide kept = shift > top ? 0 : y.size >> shift;
    const bool lost = shift > top || kept << shift != y.size;
    const wide low = kept | wide(lost);
    return {x.negative == y.negative ? x.size + low : x.size - low, x.exponent, x.negative};
}

inline double rounded(const term& a) {
    if (a.size == 0)
        return 0.0;
    const double sign = a.negative ? -1.0 : 1.0;
    const int first = leading(a.size) + a.exponent; // 2^first <= |a| < 2^(first + 1)
    if (first > 1023)
        return sign * __builtin_inf();
    const int last = first - 52 > -1074 ? first - 52 : -1074, cut = last - a.exponent;
    if (cut > 127)
        return sign * 0.0;
    wide kept = a.size;
    int exponent = a.exponent;
    if (cut > 0) {
        const wide half = wide(1) << (cut - 1), rest = a.size & ((half << 1) - 1);
        kept = (a.size >> (cut - 1)) >> 1;
        kept += rest > half || (rest == half && (kept & 1));
        exponent = last;
    }
    // Two factors: the first product is exact, the second has no bit to round.
    const int part = exponent / 2;
    return sign * double(u64(kept)) * power(part) * power(exponent - part);
}

} // namespace by_integers

inline double software_fma(double a, double b, double c) {
    const auto finite = [](double x) { return (by_integers::bits_of(x) >> 52 & 0x7ff) != 0x7ff; };
    if (!finite(a) || !finite(b) || a == 0.0 || b == 0.0)
        return a * b + c;
    if (!finite(c))
        return c + c;
    if (c == 0.0)
        return a * b;
    const by_integers::term x = by_integers::take(a), y = by_integers::take(b);
    const by_integers::term product{x.size * y.size, x.exponent + y.exponent,
                                    x.negative != y.negative};
    return by_integers::rounded(
        by_integers::sum(by_integers::raised(product), by_integers::raised(by_integers::take(c))));
}

MDQR_END
#endif
