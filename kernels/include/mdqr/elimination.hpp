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
#include "mdqr/number/inverse.hpp"

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

template <class T, int N> MDQR_FN md<T, N> scaled_down(const md<T, N>& x, int e) {
    const int half = -e / 2;
    return scaled(scaled(x, broadcast<T>(power_of_two(half))),
                  broadcast<T>(power_of_two(-e - half)));
}
template <class T, int N> MDQR_FN cmd<T, N> scaled_down(const cmd<T, N>& x, int e) {
    return {scaled_down(x.re, e), scaled_down(x.im, e)};
}
template <class T, int N> MDQR_FN md<T, N> sum_of(const md<T, N>& x, const md<T, N>& y) {
    return add_network(x, y);
}
template <class T, int N> MDQR_FN cmd<T, N> sum_of(const cmd<T, N>& x, const cmd<T, N>& y) {
    return {add_network(x.re, y.re), add_network(x.im, y.im)};
}
template <class T, int N> MDQR_FN md<T, N> product_of(const md<T, N>& x, const md<T, N>& y) {
    return mul_network(x, y);
}
template <class T, int N> MDQR_FN cmd<T, N> product_of(const cmd<T, N>& x, const md<T, N>& y) {
    return {mul_network(x.re, y), mul_network(x.im, y)};
}
template <class T, int N> MDQR_FN cmd<T, N> product_of(const cmd<T, N>& x, const cmd<T, N>& y) {
    return {add_network(mul_network(x.re, y.re), neg(mul_network(x.im, y.im))),
            add_network(mul_network(x.re, y.im), mul_network(x.im, y.re))};
}

// ---- quotients

template <class T, int N> MDQR_FN md<T, N> one_over(const md<T, N>& x) {
    return inverse_of<networks>(x);
}
template <class T, int N> MDQR_FN cmd<T, N> one_over(const cmd<T, N>& x) {
    const md<T, N> factor =
        inverse_of<networks>(add_network(mul_network(x.re, x.re), mul_network(x.im, x.im)));
    return {mul_network(x.re, factor), neg(mul_network(x.im, factor))};
}
template <int N> MDQR_FN void set_one(md<double, N>& x) { x = from_double<double, N>(1.0); }
template <int N> MDQR_FN void set_one(cmd<double, N>& x) {
    x = {from_double<double, N>(1.0), from_double<double, N>(0.0)};
}
template <class T, int N> MDQR_FN md<T, N> leading_quotient(const md<T, N>& x, const md<T, N>& y) {
    return from_double<T, N>(x.limb[0] / y.limb[0]);
}
template <class T, int N>
MDQR_FN cmd<T, N> leading_quotient(const cmd<T, N>& x, const md<T, N>& y) {
    return {leading_quotient(x.re, y), leading_quotient(x.im, y)};
}
template <class T, int N>
MDQR_FN cmd<T, N> leading_quotient(const cmd<T, N>& x, const cmd<T, N>& y) {
    const T a = x.re.limb[0], b = x.im.limb[0], c = y.re.limb[0], d = y.im.limb[0];
    const T norm = one_sum(one_prod(c, c), one_prod(d, d));
    return {from_double<T, N>(one_sum(one_prod(a, c), one_prod(b, d)) / norm),
            from_double<T, N>(one_sum(one_prod(b, c), -one_prod(a, d)) / norm)};
}
// The first double by division, the others by the inverse: a quotient of one double is exact.
template <class Number, class Divisor>
MDQR_FN Number quotient_by(const Number& x, const Divisor& divisor, const Divisor& inverse) {
    const Number first = leading_quotient(x, divisor);
    const Number rest = sum_of(x, opposite(product_of(first, divisor)));
    return sum_of(first, product_of(rest, inverse));
}
// Divide the entries of vector j behind the first j + 1 by 2^e divisor; they are no larger, or
// hardly.
template <class Team, class Divisor>
MDQR_FN void divide_vector(const Team& team, int j, int e, const Divisor& divisor,
                           const Divisor& inverse) {
    team.each(j, j + 1, [&](auto& x) MDQR_LAMBDA {
        x = quotient_by(scaled_down(x, e), divisor, inverse);
        clear_zeros(x);
    });
}

// The root of a number near 1, given its inverse; that of the square of a double is exact. NaN
// where the number is not positive.
template <class T, int N> MDQR_FN md<T, N> root_by(const md<T, N>& x, const md<T, N>& inverse) {
    const md<T, N> first = from_double<T, N>(sqrt(x.limb[0]));
    const md<T, N> rest = add_network(x, neg(mul_network(first, first)));
    md<T, N> root = select(rest.limb[0] == broadcast<T>(0.0), first, mul_network(x, inverse));
    clear_zeros(root);
    return root;
}
// A pivot of Cholesky's, whose imaginary part is rounding error.
template <int N> MDQR_FN const md<double, N>& real_pivot(const md<double, N>& x) { return x; }
template <int N> MDQR_FN const md<double, N>& real_pivot(const cmd<double, N>& x) { return x.re; }

// ---- the vectors

// Scalars are computed in all lanes: a network of one double waits for branches.

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
        const auto divisor = team.spread(scaled_down(pivot, e));
        divide_vector(team, j, e, divisor, one_over(divisor));
        team.subtract(j, [&](int c) MDQR_LAMBDA { return opposite(team.kept(j, c)); });
    }
}

// Vector j is row j; what is left of its diagonal means nothing. Where a minor is not positive, its
// diagonal entry is not.
template <class Team> MDQR_FN void reduce_definite(const Team& team) {
    for (int j = 0; j < team.steps; ++j) {
        team.each(j, j, [&](auto& x) MDQR_LAMBDA { finish_entry(x); });
        const auto pivot = real_pivot(team.kept(j, j));
        const int half = exponent(pivot.limb[0]) >> 1;
        const auto near = team.spread(scaled_down(pivot, 2 * half));
        const auto inverse = inverse_root<networks>(near), root = root_by(near, inverse);
        divide_vector(team, j, half, root, inverse);
        team.put_diagonal(j, scaled_down(root, -half));
        team.subtract(j, [&](int i) MDQR_LAMBDA { return opposite(conjugate(team.kept(j, i))); });
    }
}

MDQR_END
