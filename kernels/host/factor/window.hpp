// A window with few diagonals below the main one: the reflectors of mdqr/window.hpp, and what they
// are applied to, strip by strip.
//
// Short reflectors cost less than the product with their orthogonal matrix, which is not formed.
// A strip has `strip_columns` columns, its numbers row by row, so that lanes are columns; rows of
// what is multiplied from the right are the conjugates of columns.
#pragma once
#include "level/level.hpp"

#include <memory>
#include <utility>

#include "products/matmul_scratch.hpp"
#include "factor/window_math.hpp"

MDQR_BEGIN

template <class Number, class Element> class window {
public:
    // `r` is one column where reflectors rise.
    window(const block_view& r, const window_shape& q, ptrdiff_t item, bool rises)
        : r(r), q(q), item(item), rises(rises) {
        // Groups may reach beyond the last column.
        width = (q.columns + padding - 1) / padding * padding + padding;
        const i64 entries = i64(q.columns) * (q.below + 1), square = q.rows * width;
        memory.reset(
            new double[size_t(planes * (square + entries + q.columns) + (2 * N + 3) * q.columns)]);
        double* at = memory.get();
        const auto take = [&](i64 count) {
            double* found = at;
            at += count;
            return found;
        };
        matrix = {take(planes * square), square};
        vectors = {take(planes * entries), entries};
        inverses = {take(planes * q.columns), q.columns};
        roots = {take(N * q.columns), q.columns};
        betas = {take(N * q.columns), q.columns};
        exponents = take(q.columns);
        powers = take(q.columns);
        identities = take(q.columns);
    }

    void factor() {
        read(matrix, width, r, 0, q.columns, width);
        for (int c = 0; c < q.columns; ++c)
            scale_column(c);
        for (int j = 0; j < q.columns; ++j) {
            take_vector(j);
            make_scalars(j);
            // Rows from j on of the columns before are read no more.
            reflect(j, matrix, width, (j + 1) / L * L, q.columns);
        }
        for (int c = 0; c < q.columns; ++c)
            write_column(c);
    }

    void rise() {
        read(matrix, width, r, 0, 1, width);
        scale_column(0);
        for (int j = q.columns - 1; j >= 0; --j) {
            take_vector(j);
            make_scalars(j);
            scalar z = number_from<scalar>(0.0);
            matrix.put((j + 1) * width, z);
            md<double, N> beta;
            betas.get(j, beta);
            set_real(z, shifted_down(beta, -int(powers[j])));
            if (identities[j] == 0.0)
                matrix.put(j * width, z);
        }
        for (int i = 0; i < q.rows; ++i)
            put_result(i, 0, unscale(element(i, 0), int(exponents[0])));
    }

    // Columns [first, last) of x := E^H x.
    void apply_left(const block_view& x, ptrdiff_t first, ptrdiff_t last) const {
        const window_memory strip = new_strip();
        read(strip, strip_columns, x, first, last, strip_columns);
        reflect_strip(strip, int(last - first));
        write(strip, x, first, last);
    }

    // Rows [first, last) of x := x E.
    void apply_right(const block_view& x, ptrdiff_t first, ptrdiff_t last) const {
        block_view transposed = x;
        std::swap(transposed.stride[1], transposed.stride[2]);
        const window_memory strip = new_strip();
        read(strip, strip_columns, transposed, first, last, strip_columns);
        conjugate_strip(strip);
        reflect_strip(strip, int(last - first));
        conjugate_strip(strip);
        write(strip, transposed, first, last);
    }

    static constexpr int strip_columns = 32;

private:
    static constexpr int N = Number::limbs, planes = number_of<Number>::planes, L = lanes<lane>,
                         padding = 32;
    // Groups of columns whose sums do not wait for each other, as many as the registers hold.
    static constexpr int together = planes == 1 ? 4 : planes == 2 ? 2 : 1;
    using scalar = typename number_of<Number>::scalar;
    using real = md<lane, N>;

    const block_view& r;
    const window_shape q;
    const ptrdiff_t item;
    const bool rises;
    i64 width;
    std::unique_ptr<double[]> memory;
    window_memory matrix, vectors, inverses, roots, betas;
    double *exponents, *powers, *identities;

    window_memory new_strip() const {
        const i64 size = i64(q.rows) * strip_columns;
        return {mdqr_host::matmul_scratch(size_t(planes * size)), size};
    }
    window_memory vector(int j) const { return {vectors.data + j * (q.below + 1), vectors.plane}; }

    void read(const window_memory& to, i64 stride, const block_view& x, ptrdiff_t first,
              ptrdiff_t last, i64 padded) const {
        for (int k = 0; k < planes; ++k) {
            const plane_view<Element> from(x, item, k / N, k % N);
            for (ptrdiff_t i = 0; i < q.rows; ++i) {
                double* row = to.data + k * to.plane + i * stride;
                from.read(i, first, last - first, row);
                for (ptrdiff_t c = last - first; c < padded; ++c)
                    row[c] = 0.0;
            }
        }
    }

    // The limbs of long sums are put in order.
    void write(const window_memory& strip, const block_view& x, ptrdiff_t first,
               ptrdiff_t last) const {
        for (ptrdiff_t i = 0; i < q.rows; ++i) {
            for (ptrdiff_t c = 0; N > 2 && c < last - first; c += L) {
                Number y;
                strip.get(i * strip_columns + c, y);
                normalise(y);
                strip.put(i * strip_columns + c, y);
            }
            for (int k = 0; k < planes; ++k) {
                const plane_view<Element> to(x, item, k / N, k % N);
                to.write(i, first, last - first, strip.data + k * strip.plane + i * strip_columns);
            }
        }
    }

    void conjugate_strip(const window_memory& strip) const {
        for (int k = N; k < planes; ++k)
            for (i64 i = 0; i < strip.plane; ++i)
                strip.data[k * strip.plane + i] = 0.0 - strip.data[k * strip.plane + i];
    }

    scalar element(i64 i, int c) const {
        scalar x;
        matrix.get(i * width + c, x);
        return x;
    }

    void scale_column(int c) {
        i64 peak = 0;
        for (int i = 0; i < q.rows; ++i) {
            const i64 other = peak_of(element(i, c));
            peak = other > peak ? other : peak;
        }
        const int e = peak_exponent(peak);
        exponents[c] = e;
        for (int i = 0; i < q.rows; ++i)
            matrix.put(i * width + c, shifted_down(element(i, c), e));
    }

    void take_vector(int j) {
        const window_memory u = vector(j);
        const int c = rises ? 0 : j;
        i64 peak = 0, rest = 0;
        for (int i = 0; i <= q.tail(j); ++i) {
            scalar x = element(j + i, c);
            normalise(x);
            u.put(i, x);
            const i64 other = peak_of(x), count = i == 0 ? imaginary_peak(x) : other;
            peak = other > peak ? other : peak;
            rest = count > rest ? count : rest;
        }
        const int e = peak_exponent(peak);
        for (int i = 0; i <= q.tail(j); ++i) {
            scalar x;
            u.get(i, x);
            u.put(i, shifted_down(x, e));
        }
        powers[j] = e;
        identities[j] = rest == 0;
    }

    template <class T> static md<double, N> first_of(const md<T, N>& x) { return lane_of(x, 0); }
    template <class T> static cmd<double, N> first_of(const cmd<T, N>& x) { return lane_of(x, 0); }

    void make_scalars(int j) {
        const window_memory u = vector(j);
        Number alpha;
        u.spread(0, alpha);
        if (identities[j] != 0.0) {
            betas.put(j, lane_of(real_of(alpha), 0));
            return;
        }
        real part[32];
        for (int l = 0; l < q.square_lanes(); ++l)
            part[l] = window_square<Number>(q, u, j, l);
        real s = tree_of(part, q.square_lanes());
        normalise(s);
        const window_reflector<Number> h = make_window_reflector(alpha, s);
        roots.put(j, first_of(h.root));
        betas.put(j, first_of(h.beta));
        inverses.put(j, first_of(h.inverse));
    }

    // Columns from `begin`, a multiple of the lanes, to `end` of a matrix, and what pads them.
    void reflect(int j, const window_memory& y, i64 stride, int begin, int end) const {
        if (identities[j] != 0.0)
            return;
        const window_memory u = vector(j);
        real root;
        Number inverse;
        roots.spread(j, root);
        inverses.spread(j, inverse);
        for (int c = begin; c < end; c += together * L) {
            const i64 at = j * stride + c;
            Number part[8][together];
            for (int l = 0; l < q.lanes; ++l)
                window_dot(q, u, y, at, stride, j, l, part[l]);
            sum_parts(part);
            Number factor[together];
            static_for<0, together>([&](auto k) MDQR_LAMBDA {
                Number y0, r;
                y.get(at + k * L, y0);
                factor[k] = window_factor(root, inverse, part[0][k], y0, r);
                y.put(at + k * L, r);
            });
            update(u, y, at, stride, j, factor);
        }
    }

    void reflect_strip(const window_memory& strip, int columns) const {
        for (int k = 0; k < q.columns; ++k)
            reflect(rises ? q.columns - 1 - k : k, strip, strip_columns, 0, columns);
    }

    MDQR_FN void sum_parts(Number (&part)[8][together]) const {
        for (int half = q.lanes / 2; half > 0; half /= 2)
            for (int l = 0; l < half; ++l)
                static_for<0, together>(
                    [&](auto k) MDQR_LAMBDA { part[l][k] = plus(part[l][k], part[l + half][k]); });
    }

    // y_i += u_i factor below row j.
    MDQR_FN void update(const window_memory& u, const window_memory& y, i64 at, i64 stride, int j,
                        const Number (&factor)[together]) const {
        for (int i = 1; i <= q.tail(j); ++i) {
            Number a;
            u.spread(i, a);
            static_for<0, together>([&](auto k) MDQR_LAMBDA {
                Number b;
                y.get(at + i * stride + k * L, b);
                multiply_add(b, a, factor[k]);
                y.put(at + i * stride + k * L, b);
            });
        }
    }

    void write_column(int c) {
        for (int i = 0; i < q.rows; ++i) {
            scalar x = number_from<scalar>(0.0);
            if (i < c)
                x = unscale(element(i, c), int(exponents[c]));
            if (i == c) {
                md<double, N> beta;
                betas.get(c, beta);
                set_real(x, unscale(beta, int(exponents[c]) + int(powers[c])));
            }
            put_result(i, c, x);
        }
    }

    void put_result(int i, int c, const scalar& x) {
        const double* limb = reinterpret_cast<const double*>(&x);
        for (int k = 0; k < planes; ++k)
            plane_view<Element>(r, item, k / N, k % N).at(i, c) = Element(limb[k]);
    }
};

MDQR_END
