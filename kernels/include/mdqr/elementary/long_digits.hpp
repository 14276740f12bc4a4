// Sums of products of more digits than straight-line code is for: loops, whose code does not grow
// with the digits.
#pragma once
#include "mdqr/digits.hpp"

MDQR_BEGIN

inline constexpr int digit_bits = 24;

// Above 22 digits (8 limbs) loops are taken.
MDQR_FN constexpr bool has_long_digits(int last) { return last > 22; }

// a b + c where the product of the doubles is exact: the same with one rounding or two, so that
// processors without a fused operation need not emulate one.
template <class T> MDQR_FN T exact_fma(T a, T b, T c) {
#if MDQR_DEVICE || defined(__FMA__) || defined(__aarch64__)
    return fma(a, b, c);
#else
    return one_sum(one_prod(a, b), c);
#endif
}

// Sums are formed by so many at a time, two products each a step; what reads and writes beyond the
// ends finds zeros and room.
inline constexpr int sums_at_once = 4;

// Digits with zeros around them.
template <class T, int F> struct padded {
    static constexpr int origin = sums_at_once;
    T digit[F + 1 + 2 * origin];

    MDQR_FN padded(int first, int last) {
        const T zero = broadcast<T>(0.0);
        for (int i = 1; i <= origin; ++i) {
            digit[origin + first - i] = zero;
            digit[origin + last + i] = zero;
        }
    }
    MDQR_FN padded(const T* a, int first, int last) : padded(first, last) {
        for (int i = first; i <= last; ++i)
            digit[origin + i] = a[i];
    }
};

// sum[i] += a[j] b[i - j] over j for i = first .. last, digits a0 .. a1 of a and b0 .. b1 of b; the
// sums up to sums_at_once - 1 behind the last are touched.
template <class T, class A, int F>
MDQR_CALL void add_products(T* sum, int first, int last, const A* a, int a0, int a1,
                            const padded<T, F>& b, int b0, int b1) {
    for (int i = first; i <= last; i += sums_at_once) {
        const int from = a0 > i - b1 ? a0 : i - b1;
        const int beyond = i + sums_at_once - 1 - b0, to = a1 < beyond ? a1 : beyond;
        T s[sums_at_once], u[sums_at_once], *const at = sum + i;
        static_for<0, sums_at_once>([&](auto m) MDQR_LAMBDA {
            s[m.value] = at[m.value];
            u[m.value] = broadcast<T>(0.0);
        });
        // Pointers, since indices of 32 bits cost more than the products.
        const A* x = a + from;
        const T* y = b.digit + padded<T, F>::origin + i - from;
        int left = to - from + 1;
        for (; left >= 2; left -= 2, x += 2, y -= 2)
            static_for<0, sums_at_once>([&](auto m) MDQR_LAMBDA {
                s[m.value] = exact_fma(as_lanes<T>(x[0]), y[m.value], s[m.value]);
                u[m.value] = exact_fma(as_lanes<T>(x[1]), y[m.value - 1], u[m.value]);
            });
        if (left > 0)
            static_for<0, sums_at_once>([&](auto m) MDQR_LAMBDA {
                s[m.value] = exact_fma(as_lanes<T>(x[0]), y[m.value], s[m.value]);
            });
        static_for<0, sums_at_once>(
            [&](auto m) MDQR_LAMBDA { at[m.value] = one_sum(s[m.value], u[m.value]); });
    }
}

// What a digit hands to the one before, and what stays.
template <class T> MDQR_FN T take_carry(T& digit) {
    const T magic = broadcast<T>(0x1.8p52), down = broadcast<T>(power_of_two_constant(-digit_bits));
    const T c = one_sum(exact_fma(digit, down, magic), -magic);
    digit = exact_fma(c, broadcast<T>(-power_of_two_constant(digit_bits)), digit);
    return c;
}

// Digits last down to first + 1 become at most 2^23 + 2^5: each hands on its carry, and once more
// that of what is left with the first carry of the next one, so that there is no chain of carries.
template <class T> MDQR_CALL void carry_together(T* a, int first, int last) {
    T once = broadcast<T>(0.0), twice = once;
    for (T* at = a + last; at > a + first; --at) {
        T digit = *at;
        const T c = take_carry(digit);
        digit = one_sum(digit, once);
        const T d = take_carry(digit);
        *at = one_sum(digit, twice);
        once = c;
        twice = d;
    }
    a[first] = one_sum(a[first], one_sum(once, twice));
}

MDQR_END
