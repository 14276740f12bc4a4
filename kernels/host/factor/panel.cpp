// Householder QR of panels for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
//
// Every column is divided by the power of two of its maximum on the way in, and again inside each
// reflector by that of what is left of it; R gets the first factor back, v, tau and T do not depend
// on it.
#include "level/level.hpp"

#include "products/matmul_operand.hpp"
#include "products/matmul_scratch.hpp"
#include "factor/panel_math.hpp"
#include "module/entries.hpp"

MDQR_BEGIN

template <class Number> class panel {
public:
    panel(const block_view& h, const block_view& tau, const block_view& t, const block_view& a,
          ptrdiff_t item)
        : h(h), tau(tau), t(t), a(a), item(item), m(a.shape[1]), w(a.shape[2]) {
        rows = (m + panel_lanes - 1) / panel_lanes * panel_lanes;
        t_rows = (w + panel_lanes - 1) / panel_lanes * panel_lanes;
        const ptrdiff_t matrix = planes * rows * w, square = planes * t_rows * w;
        double* memory = mdqr_host::matmul_scratch(2 * matrix + square + (planes + 1) * w);
        columns = memory;
        vectors = memory + matrix;
        triangle = memory + 2 * matrix;
        dots = memory + 2 * matrix + square;
        exponents = dots + planes * w;
        for (ptrdiff_t i = 0; i < square; ++i)
            triangle[i] = 0.0;
    }

    void run(bool parallel) {
        const auto for_each_column = [&](auto task) {
            if (parallel)
                parallel_for(w, task);
            else
                for (ptrdiff_t c = 0; c < w; ++c)
                    task(c);
        };
        for_each_column([&](ptrdiff_t c) { read_column(c); });
        for (ptrdiff_t j = 0; j < w; ++j) {
            const scalar factor = reflect(j);
            for_each_column([&](ptrdiff_t c) {
                if (c < j)
                    write_one(dot_at(c), 0,
                              column_dot<Number>(vector_at(c), vector_at(j), first_group(j), rows));
                if (c > j)
                    apply(j, c, factor);
            });
            extend_triangle(j, factor);
        }
        for_each_column([&](ptrdiff_t c) { write_column(c); });
        mdqr_host::trim_matmul_scratch();
    }

private:
    static constexpr int N = Number::limbs, planes = number_of<Number>::planes;
    using scalar = typename number_of<Number>::scalar;

    const block_view &h, &tau, &t, &a;
    const ptrdiff_t item, m, w;
    ptrdiff_t rows, t_rows;
    double *columns, *vectors, *triangle, *dots, *exponents;

    column column_at(ptrdiff_t c) const { return {columns + c * planes * rows, rows}; }
    column vector_at(ptrdiff_t c) const { return {vectors + c * planes * rows, rows}; }
    column triangle_at(ptrdiff_t c) const { return {triangle + c * planes * t_rows, t_rows}; }
    column dot_at(ptrdiff_t c) const { return {dots + c * planes, 1}; }
    static ptrdiff_t first_group(ptrdiff_t j) { return j / panel_lanes * panel_lanes; }

    // Exponent of the largest leading limb of rows [from, m); a column that is not finite keeps its
    // scale.
    int column_exponent(const column& c, ptrdiff_t from) const {
        u64 peak = 0;
        for (int part = 0; part < planes / N; ++part) {
            const double* p = c.data + part * N * rows;
            for (ptrdiff_t i = from; i < m; ++i) {
                const u64 b = magnitude_bits(p[i]);
                peak = b > peak ? b : peak;
            }
        }
        return peak == 0 || peak >= infinity_bits ? 0 : exponent(from_bits(i64(peak)));
    }

    bool has_entries(const column& c) const {
        for (ptrdiff_t i = 0; i < planes * rows; ++i)
            if (c.data[i] != 0.0)
                return true;
        return false;
    }

    // Multiply rows from a multiple of 8 on by 2^-e; both factors are normal.
    void scale_column(const column& from, const column& to, ptrdiff_t begin, int e) const {
        const int half = -e / 2;
        const double first = power_of_two(half), second = power_of_two(-e - half);
        for (int plane = 0; plane < planes; ++plane)
            for (ptrdiff_t i = begin; i < rows; ++i)
                to.data[plane * rows + i] = from.data[plane * rows + i] * first * second;
    }

    void read_column(ptrdiff_t c) {
        const column to = column_at(c);
        for (int plane = 0; plane < planes; ++plane) {
            const int part = plane / N, limb = plane % N;
            const double* from =
                a.data + item * a.stride[0] + c * a.stride[2] + part * a.imag + limb * a.plane;
            double* p = to.data + plane * rows;
            for (ptrdiff_t i = 0; i < rows; ++i)
                p[i] = i < m && limb < a.limbs ? from[i * a.stride[1]] : 0.0;
        }
        const int e = column_exponent(to, 0);
        exponents[c] = e;
        scale_column(to, to, 0, e);
    }

    // Make v and tau of column j, and leave beta on the diagonal.
    scalar reflect(ptrdiff_t j) {
        const column x = column_at(j), v = vector_at(j);
        // Fast sums leave zeros on top where a column cancels: leading limbs must tell its size.
        for (ptrdiff_t i = first_group(j); i < rows; i += lanes<lane>) {
            Number y;
            read(x, i, y);
            normalise(y);
            write(x, i, y);
        }
        const int e = column_exponent(x, j);
        for (ptrdiff_t i = 0; i < planes * rows; ++i)
            v.data[i] = 0.0;
        scale_column(x, v, first_group(j), e);
        scalar alpha;
        read_one(v, j, alpha);
        for (int plane = 0; plane < planes; ++plane)
            for (ptrdiff_t i = first_group(j); i <= j; ++i)
                v.data[plane * rows + i] = 0.0;
        md<double, N> sigma = column_square<Number>(v, first_group(j), rows);
        normalise(sigma);
        // Entries whose squares underflow are removed, too: with many limbs eps is below them.
        if (sigma.limb[0] == 0.0 && has_entries(v))
            sigma.limb[0] = power_of_two(-1022);
        normalise(alpha);
        const reflector<scalar> r = make_reflector(alpha, sigma);
        const Number factor = everywhere(r.inverse);
        for (ptrdiff_t i = first_group(j); i < rows; i += lanes<lane>) {
            Number y = zero_number<Number>();
            if (!r.is_identity) {
                read(v, i, y);
                y = multiply(y, factor);
                normalise(y);
            }
            write(v, i, y);
        }
        v.data[j] = 1.0;
        for (int plane = 0; plane < planes; ++plane)
            x.data[plane * rows + j] = 0.0;
        write_one(x, j, scale_result_call(r.beta, e));
        return r.tau;
    }

    // Column c := H_j^H times column c.
    void apply(ptrdiff_t j, ptrdiff_t c, const scalar& factor) {
        const scalar z = column_dot<Number>(vector_at(j), column_at(c), first_group(j), rows);
        column_update<Number>(column_at(c), vector_at(j), opposite(mul(conjugate(factor), z)),
                              first_group(j), rows);
    }

    // T[:j, j] = -tau T[:j, :j] V^H v, T[j, j] = tau.
    void extend_triangle(ptrdiff_t j, const scalar& factor) {
        const Number times = everywhere(opposite(factor));
        for (ptrdiff_t i = 0; i < j; i += lanes<lane>) {
            Number sum = zero_number<Number>();
            for (ptrdiff_t c = 0; c < j; ++c) {
                scalar z;
                read_one(dot_at(c), 0, z);
                Number y;
                read(triangle_at(c), i, y);
                multiply_add(sum, y, everywhere(z));
            }
            sum = multiply(sum, times);
            normalise(sum);
            write(triangle_at(j), i, sum);
        }
        write_one(triangle_at(j), j, factor);
        put(tau, item * tau.stride[0] + j * tau.stride[1], factor);
    }

    static void put(const block_view& to, ptrdiff_t offset, const md<double, N>& x, int part = 0) {
        for (int i = 0; i < N; ++i)
            to.data[offset + part * to.imag + i * to.plane] = x.limb[i];
    }
    static void put(const block_view& to, ptrdiff_t offset, const cmd<double, N>& x) {
        put(to, offset, x.re);
        put(to, offset, x.im, 1);
    }

    void write_column(ptrdiff_t c) {
        const int e = int(exponents[c]);
        for (ptrdiff_t i = 0; i < m; ++i) {
            scalar x;
            if (i > c) {
                read_one(vector_at(c), i, x);
            } else {
                read_one(column_at(c), i, x);
                x = unscale(x, e);
            }
            put(h, item * h.stride[0] + i * h.stride[1] + c * h.stride[2], x);
        }
        for (ptrdiff_t i = 0; i < w; ++i) {
            scalar x;
            read_one(triangle_at(c), i, x);
            put(t, item * t.stride[0] + i * t.stride[1] + c * t.stride[2], x);
        }
    }
};

template <class Number>
void factor_panels(const block_view& h, const block_view& tau, const block_view& t,
                   const block_view& a) {
    const ptrdiff_t items = a.shape[0], m = a.shape[1], w = a.shape[2];
    if (w == 0)
        return;
    // Nanoseconds of one column against the others, roughly; waking a thread costs some 10
    // microseconds.
    const ptrdiff_t work = m * w * Number::limbs * Number::limbs / 4;
    if (items == 1) {
        panel<Number>(h, tau, t, a, 0).run(work > 20000);
    } else {
        parallel_for(items, [&](ptrdiff_t item) { panel<Number>(h, tau, t, a, item).run(false); });
    }
}

template <int N>
void mdqr_qr_panel(const block_view& h, const block_view& tau, const block_view& t,
                   const block_view& a) {
    if (h.imag != 0)
        factor_panels<cmd<lane, N>>(h, tau, t, a);
    else
        factor_panels<md<lane, N>>(h, tau, t, a);
}

template void mdqr_qr_panel<MDQR_LIMBS>(const block_view&, const block_view&, const block_view&,
                                        const block_view&);

MDQR_END
