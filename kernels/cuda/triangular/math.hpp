// Substitution in a triangle: what the kernels for small and for large orders share.
//
// A warp owns 32 rows, a lane each. The rows are divided by their diagonal elements beforehand, in
// parallel: r_i = 1 / a_ii, c_ij = -r_i a_ij, s_i = r_i (b_i - known terms). Then x_j = s_j, and
// every lane below adds c_ij x_j: one multiply-add a row is all that depends on the row before.
//
// Backward error. A computed c_ij is r_i a_ij (1 + d), |d| <= 4 eps (reciprocal and product of the
// contract, complex 14 eps), the same d belongs to s_i. Multiplied by a_ii, row i therefore reads
// sum of a_ij (1 + d_ij) x_j = b_i (1 + d_i), where d_ij adds to |d| the error of one product and
// one of each sum that the term went through. In units of eps a product errs by 1.5 / 3.4 and a sum
// by 0.75 / 0.25 (N = 2 / 4); |b_i| <= sum of |a_ij x_j| up to the same errors. With at most w sums
// a term this is less than (w + 16) eps (|a| |x|)_i. N = 8: a sum errs by 0.5, and a term passes at
// most w / 8 + 36 sums. Guarded products (1 eps) keep the bound for every w, fast ones (45 found)
// from w = 64 on: only there they are used. For complex numbers the bound is twice as large.
//
// Range. Where products turn subnormal the fast operations lose 2^-1068 a term, times a divisor or
// a solution of 2^340 at most. Therefore every solution must be at most 2^340, and some term of its
// row, divided by the diagonal element, at least 2^-280: the loss is then below the bound for N
// = 8. Overflow on the way shows as infinity or NaN in the solution. Such systems are solved again
// by the operations of the contract, those with zeros on the diagonal too.
#pragma once
#include "device/device.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int warp_lanes = 32, rows_of_tile = 32;
inline constexpr int number_planes = (MDQR_COMPLEX ? 2 : 1) * MDQR_LIMBS;
inline constexpr int most_exponent = 340, least_exponent = -280;
// The square of a complex divisor keeps all its limbs.
inline constexpr int most_divisor_exponent = MDQR_COMPLEX ? 280 : 340;
inline constexpr int absent = -1000000;
// A NaN that no result holds: results are published with the default one.
inline constexpr i64 unset = 0x7ff80000756e7365LL;

MDQR_FN int lane_index() { return thread_index() % warp_lanes; }
MDQR_FN int warp_index() { return thread_index() / warp_lanes; }

// ---- numbers

MDQR_FN void normalise(md<double, limbs>& x) {
    if constexpr (limbs > 2)
        x = renormalize<limbs, limbs>(x.limb);
}
MDQR_FN void normalise(cmd<double, limbs>& x) {
    normalise(x.re);
    normalise(x.im);
}
// +0 below limb 0, as the contract wants.
MDQR_FN void clear_zeros(md<double, limbs>& x) { clear_negative_zeros(x); }
MDQR_FN void clear_zeros(cmd<double, limbs>& x) {
    clear_negative_zeros(x.re);
    clear_negative_zeros(x.im);
}
MDQR_FN void assign(md<double, limbs>& x, double value) { x = from_double<double, limbs>(value); }
MDQR_FN void assign(cmd<double, limbs>& x, double value) {
    assign(x.re, value);
    assign(x.im, 0.0);
}
MDQR_FN number number_of(double value) {
    number x;
    assign(x, value);
    return x;
}
MDQR_FN md<double, limbs> opposite(const md<double, limbs>& x) { return neg(x); }
MDQR_FN cmd<double, limbs> opposite(const cmd<double, limbs>& x) { return {neg(x.re), neg(x.im)}; }

MDQR_FN md<double, limbs> from_lane(const md<double, limbs>& x, int lane) {
    md<double, limbs> r;
    static_for<0, limbs>([&](auto i) MDQR_LAMBDA { r.limb[i] = shuffle(x.limb[i], lane); });
    return r;
}
MDQR_FN cmd<double, limbs> from_lane(const cmd<double, limbs>& x, int lane) {
    return {from_lane(x.re, lane), from_lane(x.im, lane)};
}

MDQR_FN md<double, limbs> plus(const md<double, limbs>& x, const md<double, limbs>& y) {
    return add_fast(x, y);
}
MDQR_FN cmd<double, limbs> plus(const cmd<double, limbs>& x, const cmd<double, limbs>& y) {
    return {add_fast(x.re, y.re), add_fast(x.im, y.im)};
}
// Products and reciprocals of numbers in range.
MDQR_CALL md<double, limbs> product(const md<double, limbs>& x, const md<double, limbs>& y) {
    return mul_network(x, y);
}
MDQR_CALL cmd<double, limbs> product(const cmd<double, limbs>& x, const cmd<double, limbs>& y) {
    return {add_fast(mul_network(x.re, y.re), neg(mul_network(x.im, y.im))),
            add_fast(mul_network(x.re, y.im), mul_network(x.im, y.re))};
}
MDQR_CALL number inverse(const number& x) { return div_network(number_of(1.0), x); }

// s + a x; guarded: by products with a guard bin.
template <bool Guarded>
MDQR_FN md<double, limbs> multiply_add_inline(const md<double, limbs>& s,
                                              const md<double, limbs>& a,
                                              const md<double, limbs>& x) {
    if constexpr (Guarded && limbs > 4)
        return add_fast(s, mul_network(a, x));
    else
        return add_fast(s, mul_fast(a, x));
}
template <bool Guarded>
MDQR_CALL md<double, limbs> multiply_add_call(const md<double, limbs>& s,
                                              const md<double, limbs>& a,
                                              const md<double, limbs>& x) {
    return multiply_add_inline<Guarded>(s, a, x);
}
template <bool Guarded>
MDQR_FN void multiply_add(md<double, limbs>& s, const md<double, limbs>& a,
                          const md<double, limbs>& x) {
    if constexpr (number_planes > 8) // four copies of 1,190 operations would not fit in registers
        s = multiply_add_call<Guarded>(s, a, x);
    else
        s = multiply_add_inline<Guarded>(s, a, x);
}
template <bool Guarded>
MDQR_FN void multiply_add(cmd<double, limbs>& s, const cmd<double, limbs>& a,
                          const cmd<double, limbs>& x) {
    multiply_add<Guarded>(s.re, a.re, x.re);
    multiply_add<Guarded>(s.im, a.re, x.im);
    multiply_add<Guarded>(s.re, neg(a.im), x.im);
    multiply_add<Guarded>(s.im, a.im, x.re);
}

// ---- range

MDQR_FN double leading(const md<double, limbs>& x) { return abs(x.limb[0]); }
MDQR_FN double leading(const cmd<double, limbs>& x) {
    const double re = abs(x.re.limb[0]), im = abs(x.im.limb[0]);
    return re >= im || re != re ? re : im;
}
// Exponent of a normal number; 1024 for infinities and NaN.
MDQR_FN int quick_exponent(double x) { return int((bits(x) >> 52) & 0x7ff) - 1023; }
MDQR_FN int term_exponent(double a, double x) {
    return a == 0.0 || x == 0.0 ? absent : quick_exponent(a) + quick_exponent(x);
}
MDQR_FN int larger_of(int a, int b) { return a > b ? a : b; }

// Whether x, the result of a row whose largest term has exponent `size`, is to be trusted.
MDQR_FN bool is_sound(double x, int size) {
    if (quick_exponent(x) > most_exponent)
        return false;
    return (x == 0.0 && size == absent) || larger_of(size, quick_exponent(x)) >= least_exponent;
}
MDQR_FN bool is_sound_divisor(double x) {
    const int e = quick_exponent(x);
    return e >= -most_divisor_exponent && e <= most_divisor_exponent;
}
// A term that vanished in the division would not be seen.
MDQR_FN bool is_sound_coefficient(double a, double c) { return a == 0.0 || c != 0.0; }

// ---- memory that other blocks of the launch read

MDQR_FN double without_payload(double x) { return x != x ? not_a_number() : x; }
MDQR_FN void publish_number(const planes& to, i64 offset, const md<double, limbs>& x) {
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        publish(reinterpret_cast<i64*>(to.data) + l * to.plane + offset,
                bits(without_payload(x.limb[l])));
    });
}
MDQR_FN void publish_number(const planes& to, i64 offset, const cmd<double, limbs>& x) {
    publish_number(to, offset, x.re);
    publish_number(to, offset + to.imag, x.im);
}
// False if a limb is not there yet.
MDQR_FN bool look_for(const planes& from, i64 offset, md<double, limbs>& x) {
    const i64* words = reinterpret_cast<const i64*>(from.data) + offset;
    i64 word[limbs];
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA { word[l] = load_word(words + l * from.plane); });
    bool found = true;
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        found = found && word[l] != unset;
        x.limb[l] = from_bits(word[l]);
    });
    return found;
}
MDQR_FN bool look_for(const planes& from, i64 offset, cmd<double, limbs>& x) {
    const bool re = look_for(from, offset, x.re), im = look_for(from, offset + from.imag, x.im);
    return re && im;
}
MDQR_FN void await_number(const planes& from, i64 offset, number& x) {
    while (!look_for(from, offset, x))
        between_looks();
}
MDQR_FN void await_limb(const double* address) {
    while (load_word(reinterpret_cast<const i64*>(address)) == unset)
        between_looks();
}

// ---- the triangle of 32 rows

// Divided rows: c_ij at [j][plane][i]; `rows` <= 32 of both.
struct divided_rows {
    double* data;
    int rows;
    MDQR_FN planes to() const { return {data, rows, i64(limbs) * rows, limbs}; }
    MDQR_FN i64 at(int i, int j) const { return i64(j) * number_planes * rows + i; }
};

// Between two renormalisations words overlap by a few bits, which the next sum bears; they lose
// nothing, so that x_j has one value before and after.
inline constexpr int rows_unnormalised = limbs > 2 ? 8 : 1;

// x_j for the rows that the lanes hold, in order; `record(x, size)` is called by the lane of a row
// some rows after x is known, `size` follows the largest term of the row.
template <bool Guarded, class Record>
MDQR_FN void substitute(number s, int size, const divided_rows& c, int rows, Record record) {
    const int lane = lane_index(), row = lane < c.rows ? lane : c.rows - 1;
    const planes coefficients = c.to();
#pragma unroll 1
    for (int j = 0;; ++j) {
        if (j % rows_unnormalised == 0 || j == rows) {
            normalise(s);
            if (lane < j && lane / rows_unnormalised == (j - 1) / rows_unnormalised) {
                number known = s;
                clear_zeros(known);
                record(known, size);
            }
            if (j == rows)
                break;
        }
        number element;
        load_number(coefficients, c.at(row, j), element);
        const number x = from_lane(s, j);
        if (lane > j) {
            size = larger_of(size, term_exponent(leading(element), leading(x)));
            multiply_add<Guarded>(s, element, x);
        }
    }
}

// ---- by the operations of the contract

// One column of one system: pointers to its first values.
struct system_view {
    planes out, a, b;
    i64 out_row, a_row, a_column, b_row;
    bool unit;
};

// Rows [first, first + rows), rows <= 32, by one warp, in the order of plain substitution; the rows
// before have been or are being published.
MDQR_COLD void substitute_slow(const system_view& v, i64 first, int rows) {
    const int lane = lane_index();
    const bool is_row = lane < rows;
    const i64 at = (first + lane) * v.a_row;
    number s = number_of(0.0), x, element;
    if (is_row)
        load_number(v.b, (first + lane) * v.b_row, s);
    for (i64 j = 0; j < first; ++j) {
        await_number(v.out, j * v.out_row, x);
        if (is_row) {
            load_number(v.a, at + j * v.a_column, element);
            s = sub(s, mul(element, x));
        }
    }
    for (int j = 0; j < rows; ++j) {
        x = s;
        if (lane == j) {
            if (!v.unit) {
                load_number(v.a, at + (first + j) * v.a_column, element);
                x = div(s, element);
            }
            publish_number(v.out, (first + j) * v.out_row, x);
        }
        x = from_lane(x, j);
        if (is_row && lane > j) {
            load_number(v.a, at + (first + j) * v.a_column, element);
            s = sub(s, mul(element, x));
        }
    }
    sync_warp();
}

MDQR_END
