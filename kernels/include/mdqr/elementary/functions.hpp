// The elementary functions of operations.def by name.
#pragma once
#include "mdqr/elementary/complex_inverse.hpp"
#include "mdqr/elementary/erf.hpp"
#include "mdqr/elementary/gamma.hpp"
#include "mdqr/elementary/logaddexp.hpp"

MDQR_BEGIN

template <class Number> MDQR_FN Number apply_exp(const Number& x) { return exp(x); }
template <class Number> MDQR_FN Number apply_exp2(const Number& x) { return exp2(x); }
template <class Number> MDQR_FN Number apply_expm1(const Number& x) { return expm1(x); }
template <class Number> MDQR_FN Number apply_log(const Number& x) { return log(x); }
template <class Number> MDQR_FN Number apply_log2(const Number& x) { return log2(x); }
template <class Number> MDQR_FN Number apply_log10(const Number& x) { return log10(x); }
template <class Number> MDQR_FN Number apply_log1p(const Number& x) { return log1p(x); }
template <class Number> MDQR_FN Number apply_sin(const Number& x) { return sin(x); }
template <class Number> MDQR_FN Number apply_cos(const Number& x) { return cos(x); }
template <class Number> MDQR_FN Number apply_tan(const Number& x) { return tan(x); }
template <class Number> MDQR_FN Number apply_sinpi(const Number& x) { return sinpi(x); }
template <class Number> MDQR_FN Number apply_cospi(const Number& x) { return cospi(x); }
template <class Number> MDQR_FN Number apply_arcsin(const Number& x) { return arcsin(x); }
template <class Number> MDQR_FN Number apply_arccos(const Number& x) { return arccos(x); }
template <class Number> MDQR_FN Number apply_arctan(const Number& x) { return arctan(x); }
template <class Number> MDQR_FN Number apply_sinh(const Number& x) { return sinh(x); }
template <class Number> MDQR_FN Number apply_cosh(const Number& x) { return cosh(x); }
template <class Number> MDQR_FN Number apply_tanh(const Number& x) { return tanh(x); }
template <class Number> MDQR_FN Number apply_arcsinh(const Number& x) { return arcsinh(x); }
template <class Number> MDQR_FN Number apply_arccosh(const Number& x) { return arccosh(x); }
template <class Number> MDQR_FN Number apply_arctanh(const Number& x) { return arctanh(x); }
template <class Number> MDQR_FN Number apply_cbrt(const Number& x) { return cbrt(x); }
template <class Number> MDQR_FN Number apply_gamma(const Number& x) { return gamma(x); }
template <class Number> MDQR_FN Number apply_lgamma(const Number& x) { return lgamma(x); }
template <class Number> MDQR_FN Number apply_erf(const Number& x) { return erf(x); }
template <class Number> MDQR_FN Number apply_erfc(const Number& x) { return erfc(x); }

template <class Number> MDQR_FN Number apply_arctan2(const Number& y, const Number& x) {
    return arctan2(y, x);
}
template <class Number> MDQR_FN Number apply_power(const Number& x, const Number& y) {
    return power(x, y);
}
template <class Number> MDQR_FN Number apply_logaddexp(const Number& x, const Number& y) {
    return logaddexp(x, y);
}

MDQR_END
