// The operations of operations.def by name, on every lane type that they have a form for.
#pragma once
#include "mdqr/number/complex.hpp"
#include "mdqr/number/rounding.hpp"

MDQR_BEGIN

template <class Number> MDQR_FN Number apply_sqrt(const Number& x) { return sqrt(x); }
template <class Number> MDQR_FN Number apply_square(const Number& x) { return sqr(x); }
template <class T, int N> MDQR_FN md<T, N> apply_reciprocal(const md<T, N>& x) {
    return div(from_double<T, N>(broadcast<T>(1.0)), x);
}
template <class T, int N> MDQR_FN cmd<T, N> apply_reciprocal(const cmd<T, N>& x) {
    return reciprocal(x);
}
template <class T, int N> MDQR_FN md<T, N> apply_abs(const cmd<T, N>& x) { return abs(x); }
template <int N> MDQR_FN md<double, N> apply_floor(const md<double, N>& x) { return floor(x); }
template <int N> MDQR_FN md<double, N> apply_ceil(const md<double, N>& x) { return ceil(x); }
template <int N> MDQR_FN md<double, N> apply_rint(const md<double, N>& x) { return rint(x); }

template <class Number> MDQR_FN Number apply_add(const Number& x, const Number& y) {
    return add(x, y);
}
template <class Number> MDQR_FN Number apply_subtract(const Number& x, const Number& y) {
    return sub(x, y);
}
template <class Number> MDQR_FN Number apply_multiply(const Number& x, const Number& y) {
    return mul(x, y);
}
template <class Number> MDQR_FN Number apply_divide(const Number& x, const Number& y) {
    return div(x, y);
}
template <class T, int N> MDQR_FN md<T, N> apply_hypot(const md<T, N>& x, const md<T, N>& y) {
    return hypot(x, y);
}

MDQR_END
