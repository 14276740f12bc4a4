// The columns of Gaussian elimination with partial pivoting, and the rows of Cholesky's
// factorisation, one after the other: what blocked factorisations have besides products.
//
// A panel is a few vectors: of A = L U columns, of A = C^H C rows of C. Each entry of a vector
// meets the vectors before it in their order, so its limbs do not depend on who works on which
// entries. A team says that: it has `steps` vectors to reduce, and calls functions for numbers `at`
// a place, one or as many as there are lanes.
//
// With k steps an entry errs by (k + 12) eps (real, up to 4 limbs) of the sum of the moduli of its
// terms, with 8 limbs by 45 eps more: mul.hpp, add.hpp (N. J. Higham, Accuracy and Stability of
// Numerical Algorithms, chapters 9 and 10). A complex product is four, and its sums are two.
//
// Who includes this has multiply_add, normalise, conjugate and opposite for its numbers.
#pragma once
#include "mdqr/number/complex.hpp"

MDQR_BEGIN

// A number of the contract: fast sums leave limbs out of order, and zeros on top.
template <class T, int N> MDQR_FN void clear_zeros(md<T, N>& x) { clear_negative_zeros(x); }
template <class T, int N> MDQR_FN void clear_zeros(cmd<T, N>& x) {
    clear_negative_zeros(x.re);
    clear_negative_zeros(x.im);
}
template <class Number> MDQR_FN void finish_entry(Number& x) {
    if constexpr (Number::limbs > 2)
        normalise(x);
    clear_zeros(x);
}

// As LAPACK, complex numbers have the sum of the moduli of their parts.
template <int N> MDQR_FN double pivot_size(const md<double, N>& x) { return abs(x.limb[0]); }
template <int N> MDQR_FN double pivot_size(const cmd<double, N>& x) {
    return one_sum(abs(x.re.limb[0]), abs(x.im.limb[0]));
}

template <int N> MDQR_FN void set_one(md<double, N>& x) { x = from_double<double, N>(1.0); }
template <int N> MDQR_FN void set_one(cmd<double, N>& x) {
    x = {from_double<double, N>(1.0), from_double<double, N>(0.0)};
}

template <class T, int N> MDQR_FN md<T, N> scaled_down(const md<T, N>& x, int e) {
    const int half = -e / 2;
    return scaled(scaled(x, broadcast<T>(power_of_two(half))),
                  broadcast<T>(power_of_two(-e - half)));
}
template <class T, int N> MDQR_FN cmd<T, N> scaled_down(const cmd<T, N>& x, int e) {
    return {scaled_down(x.re, e), scaled_down(x.im, e)};
}
template <class T, int N> MDQR_FN cmd<T, N> div_network(const cmd<T, N>& x, const md<T, N>& y) {
    return {div_network(x.re, y), div_network(x.im, y)};
}
// Divide the entries of vector j behind the first j + 1 by 2^e times a number near 1; they are no
// larger, or hardly.
template <class Team, class Divisor>
MDQR_FN void divide_vector(const Team& team, int j, int e, const Divisor& near) {
    const auto divisor = team.spread(near);
    team.each(j, j + 1, [&](auto& x) MDQR_LAMBDA {
        x = div_network(scaled_down(x, e), divisor);
        clear_zeros(x);
    });
}

// A pivot of Cholesky's, whose imaginary part is rounding error.
template <int N> MDQR_FN const md<double, N>& real_pivot(const md<double, N>& x) { return x; }
template <int N> MDQR_FN const md<double, N>& real_pivot(const cmd<double, N>& x) { return x.re; }

// Vector j is column j: `team.exchange(j)` brings the largest entry from row j on to row j, and
// keeps that row, which is one of U.
template <class Team> MDQR_FN void eliminate(const Team& team) {
    for (int j = 0; j < team.steps; ++j) {
        team.each(j, j, [&](auto& x) MDQR_LAMBDA { finish_entry(x); });
        team.exchange(j);
        auto pivot = team.kept(j, j);
        // Below a zero pivot there are zeros.
        if (pivot_size(pivot) == 0.0)
            set_one(pivot);
        const int e = exponent(pivot_size(pivot));
        divide_vector(team, j, e, scaled_down(pivot, e));
        team.subtract(j, [&](int c) MDQR_LAMBDA { return opposite(team.kept(j, c)); });
    }
}

// Vector j is row j; what is left of its diagonal means nothing. Where a minor is not positive, its
// diagonal entry is not.
template <class Team> MDQR_FN void reduce_definite(const Team& team) {
    for (int j = 0; j < team.steps; ++j) {
        team.each(j, j, [&](auto& x) MDQR_LAMBDA { finish_entry(x); });
        const auto root = sqrt(real_pivot(team.kept(j, j)));
        const int e = exponent(root.limb[0]);
        divide_vector(team, j, e, scaled_down(root, e));
        team.put_diagonal(j, root);
        team.subtract(j, [&](int i) MDQR_LAMBDA { return opposite(conjugate(team.kept(j, i))); });
    }
}

MDQR_END
