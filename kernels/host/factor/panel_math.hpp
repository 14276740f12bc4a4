// Inner loops of the Householder panel: columns as planes of limbs, rows in 8 virtual lanes.
//
// Row i belongs to virtual lane i mod 8, lanes are combined as ((0+4)+(2+6)) + ((1+5)+(3+7)): the
// sums do not depend on the number of hardware lanes. Sums and products are the fast forms,
// relative to their operands.
#pragma once
#include "level/level.hpp"

#include "mdqr/householder.hpp"
#include "level/networks.hpp"

MDQR_BEGIN

constexpr int panel_lanes = 8, panel_vectors = panel_lanes / lanes<lane>;

template <class T> struct number_of;
template <class T, int N> struct number_of<md<T, N>> {
    using scalar = md<double, N>;
    static constexpr int planes = N;
};
template <class T, int N> struct number_of<cmd<T, N>> {
    using scalar = cmd<double, N>;
    static constexpr int planes = 2 * N;
};

// A column: planes of `rows` doubles (a multiple of 8), real limbs and then imaginary ones.
struct column {
    double* data;
    ptrdiff_t rows;
};

template <int N> MDQR_FN void read(const column& c, ptrdiff_t row, md<lane, N>& x, int first = 0) {
    static_for<0, N>(
        [&](auto i) MDQR_LAMBDA { x.limb[i] = load<lane>(c.data + (first + i) * c.rows + row); });
}
template <int N> MDQR_FN void read(const column& c, ptrdiff_t row, cmd<lane, N>& x) {
    read(c, row, x.re);
    read(c, row, x.im, N);
}
template <int N>
MDQR_FN void write(const column& c, ptrdiff_t row, const md<lane, N>& x, int first = 0) {
    static_for<0, N>([&](auto i)
                         MDQR_LAMBDA { store(c.data + (first + i) * c.rows + row, x.limb[i]); });
}
template <int N> MDQR_FN void write(const column& c, ptrdiff_t row, const cmd<lane, N>& x) {
    write(c, row, x.re);
    write(c, row, x.im, N);
}

template <int N>
MDQR_FN void read_one(const column& c, ptrdiff_t row, md<double, N>& x, int first = 0) {
    for (int i = 0; i < N; ++i)
        x.limb[i] = c.data[(first + i) * c.rows + row];
}
template <int N> MDQR_FN void read_one(const column& c, ptrdiff_t row, cmd<double, N>& x) {
    read_one(c, row, x.re);
    read_one(c, row, x.im, N);
}
template <int N>
MDQR_FN void write_one(const column& c, ptrdiff_t row, const md<double, N>& x, int first = 0) {
    for (int i = 0; i < N; ++i)
        c.data[(first + i) * c.rows + row] = x.limb[i];
}
template <int N> MDQR_FN void write_one(const column& c, ptrdiff_t row, const cmd<double, N>& x) {
    write_one(c, row, x.re);
    write_one(c, row, x.im, N);
}

// a += x y.
template <int N>
MDQR_FN void multiply_add(md<lane, N>& a, const md<lane, N>& x, const md<lane, N>& y) {
    if constexpr (N > 4)
        multiply_add_call(a, x, y);
    else
        a = add_fast(a, mul_fast(x, y));
}
template <int N>
MDQR_FN void multiply_add(cmd<lane, N>& a, const cmd<lane, N>& x, const cmd<lane, N>& y) {
    multiply_add(a.re, x.re, y.re);
    multiply_add(a.re, neg(x.im), y.im);
    multiply_add(a.im, x.re, y.im);
    multiply_add(a.im, x.im, y.re);
}

template <int N> MDQR_FN md<lane, N> multiply(const md<lane, N>& x, const md<lane, N>& y) {
    if constexpr (N <= 4)
        return mul_fast(x, y);
    md<lane, N> r;
    multiply_call(r, x, y);
    return r;
}
template <int N> MDQR_FN cmd<lane, N> multiply(const cmd<lane, N>& x, const cmd<lane, N>& y) {
    cmd<lane, N> r{multiply(x.re, y.re), multiply(x.re, y.im)};
    multiply_add(r.re, neg(x.im), y.im);
    multiply_add(r.im, x.im, y.re);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> conjugate(const md<T, N>& x) { return x; }
template <class T, int N> MDQR_FN cmd<T, N> conjugate(const cmd<T, N>& x) {
    return {x.re, neg(x.im)};
}

template <class T, int N> MDQR_FN md<T, N> opposite(const md<T, N>& x) { return neg(x); }
template <class T, int N> MDQR_FN cmd<T, N> opposite(const cmd<T, N>& x) {
    return {neg(x.re), neg(x.im)};
}

template <int N> MDQR_FN md<lane, N> everywhere(const md<double, N>& x) {
    md<lane, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = broadcast<lane>(x.limb[i]); });
    return r;
}
template <int N> MDQR_FN cmd<lane, N> everywhere(const cmd<double, N>& x) {
    return {everywhere(x.re), everywhere(x.im)};
}

template <class Number> MDQR_FN Number zero_number() {
    Number r;
    static_for<0, int(sizeof(Number) / sizeof(typename Number::lane))>([&](auto i) MDQR_LAMBDA {
        reinterpret_cast<typename Number::lane*>(&r)[i] = broadcast<typename Number::lane>(0.0);
    });
    return r;
}

// The sum of the virtual lanes of an accumulator by the fixed tree.
template <int N> MDQR_FN md<double, N> combine_lanes(const md<lane, N>* total) {
    constexpr int L = lanes<lane>;
    double s[N][2 * panel_lanes] = {};
    for (int v = 0; v < panel_vectors; ++v)
        static_for<0, N>([&](auto i) MDQR_LAMBDA { store(s[i] + v * L, total[v].limb[i]); });
    for (int half = panel_lanes / 2; half > 0; half /= 2)
        for (int at = 0; at < half; at += L) {
            md<lane, N> a, b;
            static_for<0, N>([&](auto i) MDQR_LAMBDA {
                a.limb[i] = load<lane>(s[i] + at);
                b.limb[i] = load<lane>(s[i] + at + half);
            });
            if constexpr (N > 4)
                add_call(a, b);
            else
                a = add_fast(a, b);
            static_for<0, N>([&](auto i) MDQR_LAMBDA { store(s[i] + at, a.limb[i]); });
        }
    md<double, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = s[i][0]; });
    return r;
}
template <int N> MDQR_FN cmd<double, N> combine_lanes(const cmd<lane, N>* total) {
    md<lane, N> re[panel_vectors], im[panel_vectors];
    for (int v = 0; v < panel_vectors; ++v) {
        re[v] = total[v].re;
        im[v] = total[v].im;
    }
    return {combine_lanes(re), combine_lanes(im)};
}

// The number with its limbs put in order after fast operations.
template <class T, int N> MDQR_FN void normalise(md<T, N>& x) {
    if constexpr (N > 4)
        normalise_call(x);
    else
        x = renormalize<N, N>(x.limb);
}
template <class T, int N> MDQR_FN void normalise(cmd<T, N>& x) {
    normalise(x.re);
    normalise(x.im);
}

// sum of conj(x_i) y_i over rows [begin, end); both multiples of 8.
template <class Number>
typename number_of<Number>::scalar column_dot(const column& x, const column& y, ptrdiff_t begin,
                                              ptrdiff_t end) {
    Number total[panel_vectors];
    for (int v = 0; v < panel_vectors; ++v)
        total[v] = zero_number<Number>();
    for (ptrdiff_t i = begin; i < end; i += panel_lanes)
        for (int v = 0; v < panel_vectors; ++v) {
            Number a, b;
            read(x, i + v * lanes<lane>, a);
            read(y, i + v * lanes<lane>, b);
            multiply_add(total[v], conjugate(a), b);
        }
    typename number_of<Number>::scalar sum = combine_lanes(total);
    normalise(sum);
    return sum;
}

// sum of |x_i|^2.
template <int N> MDQR_FN void add_square(md<lane, N>& total, const md<lane, N>& x) {
    multiply_add(total, x, x);
}
template <int N> MDQR_FN void add_square(md<lane, N>& total, const cmd<lane, N>& x) {
    multiply_add(total, x.re, x.re);
    multiply_add(total, x.im, x.im);
}
template <class Number>
md<double, Number::limbs> column_square(const column& x, ptrdiff_t begin, ptrdiff_t end) {
    using real = md<lane, Number::limbs>;
    real total[panel_vectors];
    for (int v = 0; v < panel_vectors; ++v)
        total[v] = zero_number<real>();
    for (ptrdiff_t i = begin; i < end; i += panel_lanes)
        for (int v = 0; v < panel_vectors; ++v) {
            Number a;
            read(x, i + v * lanes<lane>, a);
            add_square(total[v], a);
        }
    return combine_lanes(total);
}

// y += x s over rows [begin, end).
template <class Number>
void column_update(const column& y, const column& x, const typename number_of<Number>::scalar& s,
                   ptrdiff_t begin, ptrdiff_t end) {
    const Number factor = everywhere(s);
    for (ptrdiff_t i = begin; i < end; i += lanes<lane>) {
        Number a, b;
        read(x, i, a);
        read(y, i, b);
        multiply_add(b, a, factor);
        write(y, i, b);
    }
}

// The value of a column that was multiplied by 2^-e.
template <int N> MDQR_FN md<double, N> unscale(md<double, N> x, int e) {
    normalise(x);
    return scale_result_call(x, e);
}
template <int N> MDQR_FN cmd<double, N> unscale(const cmd<double, N>& x, int e) {
    return {unscale(x.re, e), unscale(x.im, e)};
}

MDQR_END
