// What a lane type must offer, for T = double. `kernels/host/level/simd.hpp` gives the same names
// to vectors; vector types have no namespace, so a file that uses them includes simd.hpp before any
// other header.
#pragma once
#include "mdqr/config.hpp"
#if defined(_WIN32) && !defined(__FMA__)
#include "mdqr/number/software_fma.hpp"
#endif

MDQR_BEGIN

template <class T> struct lane_traits;

template <> struct lane_traits<double> {
    using mask = bool;
    using ints = i64;
    static constexpr int lanes = 1;
};

template <class T> using mask_t = typename lane_traits<T>::mask;
template <class T> using ints_t = typename lane_traits<T>::ints;
template <class T> inline constexpr int lanes = lane_traits<T>::lanes;

#if MDQR_DEVICE
MDQR_FN double one_sum(double a, double b) {
#if defined(__CUDA_ARCH__)
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
}
MDQR_FN double one_prod(double a, double b) {
#if defined(__CUDA_ARCH__)
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}
MDQR_FN double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, c);
#else
    return ::fma(a, b, c);
#endif
}
MDQR_FN double sqrt(double a) {
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(a);
#else
    return ::sqrt(a);
#endif
}
MDQR_FN i64 bits(double a) {
#if defined(__CUDA_ARCH__)
    return __double_as_longlong(a);
#else
    union {
        double d;
        i64 i;
    } u;
    u.d = a;
    return u.i;
#endif
}
MDQR_FN double from_bits(i64 a) {
#if defined(__CUDA_ARCH__)
    return __longlong_as_double(a);
#else
    union {
        i64 i;
        double d;
    } u;
    u.i = a;
    return u.d;
#endif
}
#else
MDQR_FN double one_sum(double a, double b) { return a + b; }
MDQR_FN double one_prod(double a, double b) { return a * b; }
#if defined(_WIN32) && !defined(__FMA__)
MDQR_FN double fma(double a, double b, double c) { return software_fma(a, b, c); }
#else
MDQR_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif
MDQR_FN double sqrt(double a) { return __builtin_sqrt(a); }
MDQR_FN i64 bits(double a) {
    i64 r;
    __builtin_memcpy(&r, &a, sizeof r);
    return r;
}
MDQR_FN double from_bits(i64 a) {
    double r;
    __builtin_memcpy(&r, &a, sizeof r);
    return r;
}
#endif

MDQR_FN bool any(bool m) { return m; }
MDQR_FN double select(bool m, double a, double b) { return m ? a : b; }
MDQR_FN i64 select_ints(bool m, i64 a, i64 b) { return m ? a : b; }
MDQR_FN double abs(double a) { return from_bits(bits(a) & 0x7fffffffffffffffLL); }

template <class T> MDQR_FN T broadcast(double a);
template <> MDQR_FN double broadcast<double>(double a) { return a; }
template <class T> MDQR_FN T load(const double* p);
template <> MDQR_FN double load<double>(const double* p) { return *p; }
MDQR_FN void store(double* p, double a) { *p = a; }

MDQR_FN double gather(const double* table, i64 at) { return table[at]; }

MDQR_FN double lane_get(double a, int) { return a; }
MDQR_FN void lane_set(double& a, int, double b) { a = b; }
MDQR_FN bool mask_get(bool m, int) { return m; }

MDQR_FN bool is_finite(double a) {
    return (bits(a) & 0x7ff0000000000000LL) != 0x7ff0000000000000LL;
}

MDQR_FN bool is_nan(double a) { return a != a; }
MDQR_FN double copysign(double magnitude, double sign) {
    return from_bits((bits(magnitude) & 0x7fffffffffffffffLL) |
                     (bits(sign) & ~0x7fffffffffffffffLL));
}
MDQR_FN double infinity() { return from_bits(0x7ff0000000000000LL); }
MDQR_FN double not_a_number() { return from_bits(0x7ff8000000000000LL); }

// Exponent E with 2^E <= |a| < 2^(E+1); -1075 stands for zero, 1024 for infinities and NaN.
MDQR_FN int exponent(double a) {
    const i64 magnitude = bits(a) & 0x7fffffffffffffffLL;
    if (magnitude == 0)
        return -1075;
    const int field = int(magnitude >> 52);
    if (field != 0)
        return field - 1023;
    int e = -1074;
    for (i64 rest = magnitude >> 1; rest != 0; rest >>= 1)
        ++e;
    return e;
}

// 2^e as a constant expression.
MDQR_FN constexpr double power_of_two_constant(int e) {
    double r = 1.0;
    for (; e > 0; --e)
        r *= 2.0;
    for (; e < 0; ++e)
        r *= 0.5;
    return r;
}

// 2^e for -1022 <= e <= 1023.
MDQR_FN double power_of_two(int e) { return from_bits(i64(e + 1023) << 52); }

// a * 2^e, rounded once at most: the first factors keep every bit that the last one rounds.
MDQR_FN double scale(double a, int e) {
    if (e > 1023) {
        a = one_prod(a, power_of_two(1023));
        e -= 1023;
        if (e > 1023) {
            a = one_prod(a, power_of_two(1023));
            e -= 1023;
            if (e > 1023)
                e = 1023;
        }
    } else if (e < -1022) {
        // 2^-969 leaves 53 bits above the subnormal range for the last step.
        a = one_prod(a, power_of_two(-969));
        e += 969;
        if (e < -1022) {
            a = one_prod(a, power_of_two(-969));
            e += 969;
            if (e < -1022)
                e = -1022;
        }
    }
    return one_prod(a, power_of_two(e));
}

MDQR_END
