// Numbers and reflectors of the panel: sums and products relative to their operands.
#pragma once
#include "panel/digits.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int parts = MDQR_COMPLEX ? 2 : 1, number_planes = limbs * parts;
// Digits of a real number, and of a number.
inline constexpr int D = result_digits<limbs>, total_digits = D * parts;
// Sums, scalars and T by digits: with few limbs these take longer than the limbs themselves.
inline constexpr bool sums_in_digits = limbs > 2;
inline constexpr bool updates_by_digits = limbs > 4 || (limbs > 2 && MDQR_COMPLEX);
// Two rows on the way where a number leaves the registers for them: operations wait for each other.
inline constexpr int rows_at_once = number_planes <= 2 ? 2 : 1;
inline constexpr int scalar_words = sums_in_digits ? total_digits : number_planes;

// By value, and out of line where there are many limbs.
template <int N> MDQR_CALL md<double, N> normalise_call(md<double, N> x) {
    return renormalize<N, N>(x.limb);
}
template <int N> MDQR_FN void normalise(md<double, N>& x) {
    if constexpr (N == 2)
        two_sum(x.limb[0], x.limb[1], x.limb[0], x.limb[1]);
    else if constexpr (N > 4)
        x = normalise_call(x);
    else
        x = renormalize<N, N>(x.limb);
}
template <int N> MDQR_FN void normalise(cmd<double, N>& x) {
    normalise(x.re);
    normalise(x.im);
}

template <int N>
MDQR_CALL md<double, N> multiply_add_call(md<double, N> a, md<double, N> x, md<double, N> y) {
    return add_fast(a, mul_fast(x, y));
}
template <int N> MDQR_CALL md<double, N> multiply_call(md<double, N> x, md<double, N> y) {
    return mul_fast(x, y);
}
template <int N> MDQR_CALL md<double, N> plus_call(md<double, N> x, md<double, N> y) {
    return add_fast(x, y);
}
template <int N> MDQR_CALL md<double, N> scale_result_call(md<double, N> x, int e) {
    normalise(x);
    return scale_result(x, e);
}

template <int N> MDQR_FN md<double, N> plus(const md<double, N>& x, const md<double, N>& y) {
    if constexpr (N > 4)
        return plus_call(x, y);
    else
        return add_fast(x, y);
}
template <int N> MDQR_FN cmd<double, N> plus(const cmd<double, N>& x, const cmd<double, N>& y) {
    return {plus(x.re, y.re), plus(x.im, y.im)};
}

// a += x y.
template <int N>
MDQR_FN void multiply_add(md<double, N>& a, const md<double, N>& x, const md<double, N>& y) {
    if constexpr (N > 4)
        a = multiply_add_call(a, x, y);
    else
        a = add_fast(a, mul_fast(x, y));
}
template <int N>
MDQR_FN void add_four_products(cmd<double, N>& a, const cmd<double, N>& x,
                               const cmd<double, N>& y) {
    multiply_add(a.re, x.re, y.re);
    multiply_add(a.re, neg(x.im), y.im);
    multiply_add(a.im, x.re, y.im);
    multiply_add(a.im, x.im, y.re);
}
// By reference: all parts of three numbers do not fit the registers together with a product.
template <int N>
MDQR_CALL void multiply_add_call(cmd<double, N>& a, const cmd<double, N>& x,
                                 const cmd<double, N>& y) {
    add_four_products(a, x, y);
}
template <int N>
MDQR_FN void multiply_add(cmd<double, N>& a, const cmd<double, N>& x, const cmd<double, N>& y) {
    if constexpr (N > 4)
        multiply_add_call(a, x, y);
    else
        add_four_products(a, x, y);
}

template <int N> MDQR_FN md<double, N> multiply(const md<double, N>& x, const md<double, N>& y) {
    if constexpr (N > 4)
        return multiply_call(x, y);
    else
        return mul_fast(x, y);
}
template <int N> MDQR_FN cmd<double, N> multiply(const cmd<double, N>& x, const cmd<double, N>& y) {
    const md<double, N> zero = from_double<double, N>(0.0);
    cmd<double, N> r{zero, zero};
    if constexpr (N > 4) {
        multiply_add(r, x, y);
    } else {
        r = {multiply(x.re, y.re), multiply(x.re, y.im)};
        multiply_add(r.re, neg(x.im), y.im);
        multiply_add(r.im, x.im, y.re);
    }
    return r;
}

template <int N> MDQR_FN md<double, N> conjugate(const md<double, N>& x) { return x; }
template <int N> MDQR_FN cmd<double, N> conjugate(const cmd<double, N>& x) {
    return {x.re, neg(x.im)};
}
template <int N> MDQR_FN md<double, N> opposite(const md<double, N>& x) { return neg(x); }
template <int N> MDQR_FN cmd<double, N> opposite(const cmd<double, N>& x) {
    return {neg(x.re), neg(x.im)};
}
template <int N> MDQR_FN md<double, N> times_power(const md<double, N>& x, double power) {
    return scaled(x, power);
}
template <int N> MDQR_FN cmd<double, N> times_power(const cmd<double, N>& x, double power) {
    return {scaled(x.re, power), scaled(x.im, power)};
}
// x 2^e with one rounding.
template <int N> MDQR_FN md<double, N> scaled_back(const md<double, N>& x, int e) {
    return scale_result_call(x, e);
}
template <int N> MDQR_FN cmd<double, N> scaled_back(const cmd<double, N>& x, int e) {
    return {scaled_back(x.re, e), scaled_back(x.im, e)};
}

template <int N> MDQR_FN md<double, N>& real_part(md<double, N>& x) { return x; }
template <int N> MDQR_FN md<double, N>& real_part(cmd<double, N>& x) { return x.re; }
template <int N> MDQR_FN md<double, N>& imaginary_part(md<double, N>& x) { return x; }
template <int N> MDQR_FN md<double, N>& imaginary_part(cmd<double, N>& x) { return x.im; }
template <int N> MDQR_FN md<double, N> real_as(const md<double, N>& x, const md<double, N>*) {
    return x;
}
template <int N> MDQR_FN cmd<double, N> real_as(const md<double, N>& x, const cmd<double, N>*) {
    return {x, from_double<double, N>(0.0)};
}
MDQR_FN number from_real(const real_number& x) {
    return real_as(x, static_cast<const number*>(nullptr));
}
MDQR_FN number not_numbers() {
    const real_number bad = from_double<double, limbs>(not_a_number());
    number r = from_real(bad);
    imaginary_part(r) = bad;
    return r;
}
MDQR_FN number zero_number() { return from_real(from_double<double, limbs>(0.0)); }

// The larger magnitude; NaN is the largest of all.
MDQR_FN double larger(double a, double b) { return bits(a) > bits(b) ? a : b; }

// Exponents of columns and parts of them; these two stand for one without a nonzero, and one with
// an infinity or a NaN.
inline constexpr int no_exponent = -4096, non_finite_exponent = 4096;
MDQR_FN int part_exponent(double peak) {
    return peak == 0.0 ? no_exponent : is_finite(peak) ? exponent(peak) : non_finite_exponent;
}
MDQR_FN int usable_exponent(int e) { return e == no_exponent || e == non_finite_exponent ? 0 : e; }

// The limbs of the real part, and of the imaginary one.
template <int Part, int N> MDQR_FN const double* limbs_of(const md<double, N>& x) { return x.limb; }
template <int Part, int N> MDQR_FN const double* limbs_of(const cmd<double, N>& x) {
    return Part == 0 ? x.re.limb : x.im.limb;
}

// The product with 2^-e for |e| <= 2000: both factors are normal.
template <class Number> MDQR_FN Number divided_by_power(const Number& x, int e) {
    const int half = -e / 2;
    return times_power(times_power(x, power_of_two(half)), power_of_two(-e - half));
}

MDQR_END
