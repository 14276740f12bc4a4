// A window of R with a few diagonals below the main one, made triangular by short reflectors.
//
// Reflector j has the rows j to j + tail(j): H^H (alpha, x)^T = (beta, 0)^T, beta real, as in
// householder.hpp. It is never divided by its first entry. With u = (alpha, x) a column y becomes
// r = u^H y / beta in row j, and y_i + u_i (r - y_0) / (alpha - beta) below: u^H y and the scalars
// of u need not wait for each other. With p rows in the tail that is 2 p + 3 products a column, 5
// for a tail of one row, where a rotation takes 4; p rotations take 4 p.
//
// A rise is the same for one column z to the left of R: from its end upwards, reflector j has z_j
// and what reflector j + 1 left below it, so that rows of R get one diagonal below the main one.
//
// Every column is divided by the power of two of its maximum, and u again by that of what is left
// of its column: squares neither overflow nor vanish. R gets the first factor back.
//
// Who includes this has multiply, multiply_add, plus, conjugate, opposite and normalise for
// its numbers. A sum has `lanes` parts, which a tree adds up: threads that share a column get the
// bits of one that has it alone.
#pragma once
#include "mdqr/number/complex.hpp"

MDQR_BEGIN

// A rise of m rows has the shape {m, m - 1, 1, 1}, its reflectors in the opposite order.
struct window_shape {
    int rows, columns, below, lanes; // columns <= rows <= columns + below, below < rows
    // How many rows reflector j has below its own.
    MDQR_FN int tail(int j) const { return below < rows - 1 - j ? below : rows - 1 - j; }
    // Parts of the sum of squares: a power of two.
    MDQR_FN int square_lanes() const {
        int count = 1;
        while (count < 32 && count <= below)
            count *= 2;
        return count;
    }
};

// Number `at`: limb l at data[l * plane + at], imaginary limbs behind the real ones.
struct window_memory {
    double* data;
    i64 plane;
    template <class T, int N> MDQR_FN void get(i64 at, md<T, N>& x, int first = 0) const {
        static_for<0, N>([&](auto l)
                             MDQR_LAMBDA { x.limb[l] = load<T>(data + (first + l) * plane + at); });
    }
    template <class T, int N> MDQR_FN void get(i64 at, cmd<T, N>& x) const {
        get(at, x.re);
        get(at, x.im, N);
    }
    template <class T, int N> MDQR_FN void put(i64 at, const md<T, N>& x, int first = 0) const {
        static_for<0, N>([&](auto l)
                             MDQR_LAMBDA { store(data + (first + l) * plane + at, x.limb[l]); });
    }
    template <class T, int N> MDQR_FN void put(i64 at, const cmd<T, N>& x) const {
        put(at, x.re);
        put(at, x.im, N);
    }
    // One number in all lanes.
    template <class T, int N> MDQR_FN void spread(i64 at, md<T, N>& x, int first = 0) const {
        static_for<0, N>(
            [&](auto l) MDQR_LAMBDA { x.limb[l] = broadcast<T>(data[(first + l) * plane + at]); });
    }
    template <class T, int N> MDQR_FN void spread(i64 at, cmd<T, N>& x) const {
        spread(at, x.re);
        spread(at, x.im, N);
    }
};

// ---- numbers

template <int N, class T, int M> MDQR_FN md<T, N> with_limbs(const md<T, M>& x) {
    md<T, N> r;
    static_for<0, N>([&](auto l) MDQR_LAMBDA {
        if constexpr (l < M)
            r.limb[l] = x.limb[l];
        else
            r.limb[l] = broadcast<T>(0.0);
    });
    return r;
}
template <class T, int N> MDQR_FN void set_real(md<T, N>& x, const md<T, N>& value) { x = value; }
template <class T, int N> MDQR_FN void set_real(cmd<T, N>& x, const md<T, N>& value) {
    x = {value, from_double<T, N>(broadcast<T>(0.0))};
}
template <class Number> MDQR_FN Number number_from(double value) {
    using T = typename Number::lane;
    Number x;
    set_real(x, from_double<T, Number::limbs>(broadcast<T>(value)));
    return x;
}
template <class T, int N> MDQR_FN md<T, N> times_real(const md<T, N>& x, const md<T, N>& factor) {
    return multiply(x, factor);
}
template <class T, int N> MDQR_FN cmd<T, N> times_real(const cmd<T, N>& x, const md<T, N>& factor) {
    return {multiply(x.re, factor), multiply(x.im, factor)};
}

// Magnitude of the leading limbs, as bits; NaN is the largest.
template <int N> MDQR_FN i64 peak_of(const md<double, N>& x) { return bits(abs(x.limb[0])); }
template <int N> MDQR_FN i64 peak_of(const cmd<double, N>& x) {
    const i64 re = peak_of(x.re), im = peak_of(x.im);
    return re > im ? re : im;
}
template <int N> MDQR_FN i64 imaginary_peak(const md<double, N>&) { return 0; }
template <int N> MDQR_FN i64 imaginary_peak(const cmd<double, N>& x) { return peak_of(x.im); }
// Of what has this peak; 0 where it is zero or not finite.
MDQR_FN int peak_exponent(i64 peak) {
    return peak == 0 || peak >= bits(infinity()) ? 0 : exponent(from_bits(peak));
}

// x 2^-e; both factors are normal.
template <int N> MDQR_FN md<double, N> shifted_down(const md<double, N>& x, int e) {
    const int half = -e / 2;
    return scaled(scaled(x, power_of_two(half)), power_of_two(-e - half));
}
template <int N> MDQR_FN cmd<double, N> shifted_down(const cmd<double, N>& x, int e) {
    return {shifted_down(x.re, e), shifted_down(x.im, e)};
}

// ---- scalars of a reflector

// 1 / sqrt(s) and 1 / d, far from the ends of the range: a step from half of the limbs, rounded up.
template <class T, int N> MDQR_FN md<T, N> inverse_root(const md<T, N>& s) {
    const T one = broadcast<T>(1.0);
    if constexpr (N == 1) {
        return from_double<T, 1>(one / sqrt(s.limb[0]));
    } else {
        const md<T, (N + 1) / 2> y = inverse_root(with_limbs<(N + 1) / 2>(s));
        const md<T, N> wide = with_limbs<N>(y);
        md<T, N> e = plus(from_double<T, N>(one), neg(multiply(s, multiply(wide, wide))));
        normalise(e);
        const T square = one_prod(one_prod(e.limb[0], e.limb[0]), broadcast<T>(0.375));
        const md<T, (N + 1) / 2> half = scaled(with_limbs<(N + 1) / 2>(e), broadcast<T>(0.5));
        const md<T, (N + 1) / 2> factor = add_fast(half, from_double<T, (N + 1) / 2>(square));
        return plus(wide, with_limbs<N>(mul_fast(y, factor)));
    }
}
template <class T, int N> MDQR_FN md<T, N> inverse_of(const md<T, N>& d) {
    const T one = broadcast<T>(1.0);
    if constexpr (N == 1) {
        return from_double<T, 1>(one / d.limb[0]);
    } else {
        const md<T, (N + 1) / 2> x = inverse_of(with_limbs<(N + 1) / 2>(d));
        const md<T, N> wide = with_limbs<N>(x);
        md<T, N> e = plus(from_double<T, N>(one), neg(multiply(d, wide)));
        normalise(e);
        const T square = one_prod(e.limb[0], e.limb[0]);
        const md<T, (N + 1) / 2> factor =
            add_fast(with_limbs<(N + 1) / 2>(e), from_double<T, (N + 1) / 2>(square));
        return plus(wide, with_limbs<N>(mul_fast(x, factor)));
    }
}

template <class Number> struct window_reflector {
    using real = md<typename Number::lane, Number::limbs>;
    real root, beta; // root = 1 / beta
    Number inverse;  // 1 / (alpha - beta)
};

// |alpha - beta| = |re alpha| + |beta|, plus i im alpha.
template <class T, int N>
MDQR_FN md<T, N> inverse_difference(const md<T, N>& size, const md<T, N>&, T sign) {
    return scaled(inverse_of(size), -sign);
}
template <class T, int N>
MDQR_FN cmd<T, N> inverse_difference(const md<T, N>& size, const cmd<T, N>& alpha, T sign) {
    md<T, N> square = multiply(size, size);
    multiply_add(square, alpha.im, alpha.im);
    const md<T, N> q = inverse_of(square);
    return {scaled(multiply(size, q), -sign), neg(multiply(alpha.im, q))};
}
template <class T, int N> MDQR_FN const md<T, N>& real_of(const md<T, N>& x) { return x; }
template <class T, int N> MDQR_FN const md<T, N>& real_of(const cmd<T, N>& x) { return x.re; }

// s = |u|^2, at least about 1.
template <class Number, class Real>
MDQR_FN window_reflector<Number> make_window_reflector(const Number& alpha, const Real& s) {
    using T = typename Number::lane;
    const Real re = real_of(alpha), zero = from_double<T, Number::limbs>(broadcast<T>(0.0));
    const T sign = select(re.limb[0] < zero.limb[0], broadcast<T>(1.0), broadcast<T>(-1.0));
    window_reflector<Number> h;
    h.root = inverse_root(s);
    const Real norm = multiply(s, h.root);
    h.inverse = inverse_difference(plus(scaled(re, -sign), norm), alpha, sign);
    h.root = scaled(h.root, sign);
    h.beta = scaled(norm, sign);
    return h;
}

// ---- a column, or as many as a number has lanes

// Part `lane` of |u|^2.
template <class T, int N> MDQR_FN void add_norm(md<T, N>& sum, const md<T, N>& x) {
    multiply_add(sum, x, x);
}
template <class T, int N> MDQR_FN void add_norm(md<T, N>& sum, const cmd<T, N>& x) {
    multiply_add(sum, x.re, x.re);
    multiply_add(sum, x.im, x.im);
}
template <class Number>
MDQR_FN md<typename Number::lane, Number::limbs>
window_square(const window_shape& q, const window_memory& u, int j, int lane) {
    auto sum = number_from<md<typename Number::lane, Number::limbs>>(0.0);
    for (int i = lane; i <= q.tail(j); i += q.square_lanes()) {
        Number x;
        u.spread(i, x);
        add_norm(sum, x);
    }
    return sum;
}

// Part `lane` of u^H y; y_0 lies at `at`, the others `row` apart. `Count` columns, or groups of
// them, behind each other: their sums do not wait for each other.
template <class Number, int Count>
MDQR_FN void window_dot(const window_shape& q, const window_memory& u, const window_memory& y,
                        i64 at, i64 row, int j, int lane, Number (&sum)[Count]) {
    constexpr int apart = lanes<typename Number::lane>;
    static_for<0, Count>([&](auto k) MDQR_LAMBDA { sum[k] = number_from<Number>(0.0); });
    for (int i = lane; i <= q.tail(j); i += q.lanes) {
        Number a;
        u.spread(i, a);
        a = conjugate(a);
        static_for<0, Count>([&](auto k) MDQR_LAMBDA {
            Number b;
            y.get(at + i * row + k * apart, b);
            multiply_add(sum[k], a, b);
        });
    }
}

// r, which row j becomes, and the factor of u below.
template <class Number, class Real>
MDQR_FN Number window_factor(const Real& root, const Number& inverse, Number sum, const Number& y0,
                             Number& r) {
    if constexpr (Number::limbs > 2)
        normalise(sum);
    r = times_real(sum, root);
    return multiply(inverse, plus(r, opposite(y0)));
}

// y_i += u_i factor for the rows of a lane below the first, `Together` at a time.
template <int Together, class Number>
MDQR_FN void window_update(const window_shape& q, const window_memory& u, const window_memory& y,
                           i64 at, i64 row, int j, int lane, const Number& factor) {
    const int tail = q.tail(j), step = Together * q.lanes;
    for (int i = lane == 0 ? q.lanes : lane; i <= tail; i += step) {
        Number b[Together];
        static_for<0, Together>([&](auto k) MDQR_LAMBDA {
            const int from = i + k * q.lanes <= tail ? i + k * q.lanes : i;
            Number a;
            u.spread(from, a);
            y.get(at + from * row, b[k]);
            multiply_add(b[k], a, factor);
        });
        static_for<0, Together>([&](auto k) MDQR_LAMBDA {
            if (k == 0 || i + k * q.lanes <= tail)
                y.put(at + (i + k * q.lanes) * row, b[k]);
        });
    }
}

MDQR_END
