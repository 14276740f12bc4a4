// Complex numbers of homotopy paths: parts are lanes of doubles, or of N limbs.
#pragma once
#include "mdqr/number/add.hpp"
#include "mdqr/number/div.hpp"

MDQR_BEGIN

// -- real numbers R: T itself, or md<T, N>
template <class T, int N> struct path_real {
    using type = md<T, N>;
};
template <class T> struct path_real<T, 1> {
    using type = T;
};

template <class T> MDQR_FN T sum_of(T a, T b) { return a + b; }
template <class T> MDQR_FN T product_of(T a, T b) { return a * b; }
// c + a b
template <class T> MDQR_FN T add_product_of(T c, T a, T b) { return fma(a, b, c); }
template <class T> MDQR_FN T negative_of(T a) { return -a; }
template <class T> MDQR_FN T inverse_of(T a) { return broadcast<T>(1.0) / a; }
template <class T> MDQR_FN T leading_of(T a) { return a; }

// Long with many limbs: called. Operands in range; others become NaN or infinite.
template <class T, int N> MDQR_CALL md<T, N> sum_of(const md<T, N>& a, const md<T, N>& b) {
    return add_fast(a, b);
}
template <class T, int N> MDQR_CALL md<T, N> product_of(const md<T, N>& a, const md<T, N>& b) {
    return mul_fast(a, b);
}
template <class T, int N>
MDQR_CALL md<T, N> add_product_of(const md<T, N>& c, const md<T, N>& a, const md<T, N>& b) {
    return add_fast(c, mul_fast(a, b));
}
template <class T, int N> MDQR_FN md<T, N> negative_of(const md<T, N>& a) {
    md<T, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = -a.limb[i]; });
    return r;
}
template <class T, int N> MDQR_FN md<T, N> inverse_of(const md<T, N>& a) {
    return div_network(from_double<T, N>(broadcast<T>(1.0)), a);
}
template <class T, int N> MDQR_FN T leading_of(const md<T, N>& a) { return a.limb[0]; }

template <class R> struct real_traits {
    using lane = R;
    static constexpr int limbs = 1;
    MDQR_FN static R from(R a) { return a; }
    MDQR_FN static R& limb(R& a, int) { return a; }
};
template <class T, int N> struct real_traits<md<T, N>> {
    using lane = T;
    static constexpr int limbs = N;
    MDQR_FN static md<T, N> from(T a) { return from_double<T, N>(a); }
    MDQR_FN static T& limb(md<T, N>& a, int i) { return a.limb[i]; }
};
template <class R> using lane_of_real = typename real_traits<R>::lane;

// -- complex numbers
template <class R> struct complex_of {
    R re, im;
};

template <class R> MDQR_FN complex_of<R> operator+(const complex_of<R>& a, const complex_of<R>& b) {
    return {sum_of(a.re, b.re), sum_of(a.im, b.im)};
}
template <class R> MDQR_FN complex_of<R> operator-(const complex_of<R>& a) {
    return {negative_of(a.re), negative_of(a.im)};
}
template <class R> MDQR_FN complex_of<R> operator-(const complex_of<R>& a, const complex_of<R>& b) {
    return a + -b;
}
template <class R> MDQR_FN complex_of<R> operator*(const complex_of<R>& a, const complex_of<R>& b) {
    return {add_product_of(negative_of(product_of(a.im, b.im)), a.re, b.re),
            add_product_of(product_of(a.im, b.re), a.re, b.im)};
}
template <class R> MDQR_FN complex_of<R> times(const R& a, const complex_of<R>& b) {
    return {product_of(a, b.re), product_of(a, b.im)};
}
// c + a b and c - a b.
template <class R>
MDQR_FN complex_of<R> add_product(const complex_of<R>& c, const complex_of<R>& a,
                                  const complex_of<R>& b) {
    return {add_product_of(add_product_of(c.re, a.re, b.re), negative_of(a.im), b.im),
            add_product_of(add_product_of(c.im, a.re, b.im), a.im, b.re)};
}
template <class R>
MDQR_FN complex_of<R> subtract_product(const complex_of<R>& c, const complex_of<R>& a,
                                       const complex_of<R>& b) {
    return add_product(c, -a, b);
}
// Moduli near the ends of the range of doubles give zero, infinity or NaN.
template <class R> MDQR_FN complex_of<R> inverse(const complex_of<R>& a) {
    const R size = inverse_of(add_product_of(product_of(a.im, a.im), a.re, a.re));
    return {product_of(a.re, size), negative_of(product_of(a.im, size))};
}
template <class R> MDQR_FN lane_of_real<R> squared_modulus(const complex_of<R>& a) {
    const lane_of_real<R> re = leading_of(a.re), im = leading_of(a.im);
    return fma(re, re, im * im);
}
template <class R> MDQR_FN complex_of<R> from_lanes(lane_of_real<R> re, lane_of_real<R> im) {
    return {real_traits<R>::from(re), real_traits<R>::from(im)};
}
template <class R> MDQR_FN complex_of<R> constant(double re, double im = 0.0) {
    using T = lane_of_real<R>;
    return from_lanes<R>(broadcast<T>(re), broadcast<T>(im));
}
template <class R> MDQR_FN complex_of<lane_of_real<R>> leading(const complex_of<R>& a) {
    return {leading_of(a.re), leading_of(a.im)};
}
template <class M, class T>
MDQR_FN complex_of<T> select(M m, const complex_of<T>& a, const complex_of<T>& b) {
    return {select(m, a.re, b.re), select(m, a.im, b.im)};
}

template <class T> MDQR_FN T larger(T a, T b) {
    const mask_t<T> above = a > b;
    return select(above, a, b);
}

// Where the parts and limbs of a number lie in memory, from its first double on.
struct number_layout {
    i64 plane, imag;
};
constexpr number_layout pairs = {0, 1};

// One lane from and to memory.
template <class R>
MDQR_FN void take(complex_of<R>& a, int lane, const double* p, number_layout at) {
    for (int i = 0; i < real_traits<R>::limbs; ++i) {
        lane_set(real_traits<R>::limb(a.re, i), lane, p[i * at.plane]);
        lane_set(real_traits<R>::limb(a.im, i), lane, p[i * at.plane + at.imag]);
    }
}
template <class R> MDQR_FN void give(complex_of<R>& a, int lane, double* p, number_layout at) {
    for (int i = 0; i < real_traits<R>::limbs; ++i) {
        p[i * at.plane] = lane_get(real_traits<R>::limb(a.re, i), lane);
        p[i * at.plane + at.imag] = lane_get(real_traits<R>::limb(a.im, i), lane);
    }
}

// exp to some 14 digits, zero below -700; for arguments up to 700.
template <class T> MDQR_FN T exponential(T x) {
    const T low = broadcast<T>(-700.0), magic = broadcast<T>(0x1.8p52);
    const mask_t<T> tiny = x < low;
    const T y = select(tiny, low, x);
    const T shifted = fma(y, broadcast<T>(0x1.71547652b82fep0), magic);
    const T k = shifted - magic;
    const T r = fma(k, broadcast<T>(-0x1.abc9e3b39803fp-56),
                    fma(k, broadcast<T>(-0x1.62e42fefa39efp-1), y));
    T p = broadcast<T>(1.0);
    for (int i = 13; i >= 1; --i)
        p = fma(p * r, broadcast<T>(1.0 / i), broadcast<T>(1.0));
    // The last bits of `shifted` are k.
    const T scale = from_bits((bits(shifted) + 1023) << 52);
    return select(tiny, broadcast<T>(0.0), p * scale);
}

MDQR_END
