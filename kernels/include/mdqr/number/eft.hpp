// Error-free transforms (Moller 1965, Knuth, Dekker 1971; product by fma).
// Round to nearest is assumed. Additions are exact as stated even when results are subnormal;
// `two_prod` is exact where |a b| >= 2^-969 and otherwise leaves an error of at most 2^-1075.
#pragma once
#include "mdqr/number/lane.hpp"

MDQR_BEGIN

// s + e = a + b exactly, s = fl(a + b). 6 operations.
template <class T> MDQR_FN void two_sum(T a, T b, T& s, T& e) {
    const T sum = one_sum(a, b);
    const T bb = one_sum(sum, -a);
    const T err = one_sum(one_sum(a, -one_sum(sum, -bb)), one_sum(b, -bb));
    s = sum;
    e = err;
}

// The same where exponent(a) >= exponent(b) or one of them is zero. 3 operations.
template <class T> MDQR_FN void fast_two_sum(T a, T b, T& s, T& e) {
    const T sum = one_sum(a, b);
    const T err = one_sum(b, -one_sum(sum, -a));
    s = sum;
    e = err;
}

// p + e = a b. 2 operations.
template <class T> MDQR_FN void two_prod(T a, T b, T& p, T& e) {
    const T product = one_prod(a, b);
    const T err = fma(a, b, -product);
    p = product;
    e = err;
}

MDQR_END
