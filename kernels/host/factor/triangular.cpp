// Substitution with a triangular tile for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
//
// x_i = (b_i - sum of a_ik x_k) / a_ii, the terms in the order in which the x_k become known. Many
// right-hand sides: lanes go along them; few: along the rows that wait for x_k. Both do the same
// operations in the same order.
//
// The tile is equilibrated by powers of two (columns, then rows, then each right-hand side), so
// that the fast forms stay in range. A column whose numbers leave 2^-240 .. 2^240, or what their
// limbs allow, is solved again by the operations of the contract.
#include "level/level.hpp"

#include "products/matmul_operand.hpp"
#include "products/matmul_scratch.hpp"
#include "factor/panel_math.hpp"
#include "module/entries.hpp"

MDQR_BEGIN

constexpr int small_end = small_exponent<MDQR_LIMBS>;
constexpr double smallest_safe = power_of_two_constant(small_end < 240 ? -small_end : -240),
                 largest_safe = 0x1p240;
MDQR_FN bool is_safe(double x) {
    return x == 0.0 || (abs(x) >= smallest_safe && abs(x) <= largest_safe);
}

template <class Number> class triangle {
public:
    static constexpr int N = Number::limbs, planes = number_of<Number>::planes, L = lanes<lane>;
    using scalar = typename number_of<Number>::scalar;

    triangle(const block_view& out, const block_view& a, const block_view& b, bool lower, bool unit,
             ptrdiff_t item)
        : out(out), a(a), b(b), lower(lower), unit(unit), item(item), w(a.shape[1]) {
        rows = (w + panel_lanes - 1) / panel_lanes * panel_lanes;
        double* memory =
            mdqr_host::matmul_scratch((2 * planes + 2) * rows + planes * rows * (w + L));
        row_e = memory;
        column_e = memory + rows;
        diagonal = memory + 2 * rows;
        work = memory + (2 + planes) * rows;
        matrix = work + planes * rows * L;
    }

    // Columns [first, first + count) of b; the tile is packed once.
    void solve(ptrdiff_t first, ptrdiff_t count) {
        equilibrate();
        const bool along_rows = count < L;
        pack(along_rows);
        if (along_rows)
            for (ptrdiff_t c = first; c < first + count; ++c)
                solve_one(c);
        else
            for (ptrdiff_t c = first; c < first + count; c += L)
                solve_many(c, first + count - c < L ? first + count - c : L);
        mdqr_host::trim_matmul_scratch();
    }

private:
    const block_view &out, &a, &b;
    const bool lower, unit;
    const ptrdiff_t item, w;
    ptrdiff_t rows;
    double *row_e, *column_e, *diagonal, *work, *matrix;
    bool tile_is_safe;

    // The i-th row in the order of substitution.
    ptrdiff_t order(ptrdiff_t i) const { return lower ? i : w - 1 - i; }
    const double* a_at(ptrdiff_t i, ptrdiff_t k) const {
        return a.data + item * a.stride[0] + i * a.stride[1] + k * a.stride[2];
    }
    const double* b_at(ptrdiff_t i, ptrdiff_t c) const {
        return b.data + item * b.stride[0] + i * b.stride[1] + c * b.stride[2];
    }
    double* out_at(ptrdiff_t i, ptrdiff_t c) const {
        return out.data + item * out.stride[0] + i * out.stride[1] + c * out.stride[2];
    }

    static double magnitude(const block_view& v, const double* p) {
        const double re = abs(*p), im = planes > N ? abs(p[v.imag]) : 0.0;
        return re >= im || re != re ? re : im;
    }
    double a_magnitude(ptrdiff_t i, ptrdiff_t k) const {
        return unit && i == k ? 1.0 : magnitude(a, a_at(i, k));
    }
    static int exponent_of(double largest) {
        return largest == 0.0 || !is_finite(largest) ? 0 : exponent(largest);
    }

    // Columns have the maximum 1 .. 2 after division by 2^column_e, and then rows by 2^row_e.
    void equilibrate() {
        for (ptrdiff_t k = 0; k < w; ++k) {
            double largest = 0.0;
            for (ptrdiff_t i = lower ? k : 0; i < (lower ? w : k + 1); ++i)
                largest = a_magnitude(i, k) > largest ? a_magnitude(i, k) : largest;
            column_e[k] = exponent_of(largest);
        }
        for (ptrdiff_t i = 0; i < w; ++i) {
            double largest = 0.0;
            for (ptrdiff_t k = lower ? 0 : i; k < (lower ? i + 1 : w); ++k) {
                const double x = scale(a_magnitude(i, k), -int(column_e[k]));
                largest = x > largest ? x : largest;
            }
            row_e[i] = exponent_of(largest);
        }
    }

    scalar read_scaled(const block_view& v, const double* p, int e) const {
        double x[planes];
        const bool one_factor = e >= -1022 && e <= 1022;
        const double factor = one_factor ? power_of_two(-e) : 1.0;
        for (int plane = 0; plane < planes; ++plane) {
            const double limb =
                plane % N < v.limbs ? p[plane / N * v.imag + plane % N * v.plane] : 0.0;
            x[plane] = one_factor ? limb * factor : scale(limb, -e);
        }
        scalar r;
        read_one({x, 1}, 0, r);
        return r;
    }

    // Off-diagonal elements, with their sign changed, as scalars [k][i][plane] or lanes
    // [k][plane][i].
    void pack(bool along_rows) {
        tile_is_safe = true;
        for (ptrdiff_t i = 0; i < planes * rows * w; ++i)
            matrix[i] = 0.0;
        for (ptrdiff_t i = 0; i < w; ++i)
            for (ptrdiff_t k = lower ? 0 : i; k < (lower ? i + 1 : w); ++k) {
                if (unit && i == k) {
                    write_one({diagonal + planes * i, 1}, 0, one(-int(row_e[i] + column_e[i])));
                    continue;
                }
                const scalar x = read_scaled(a, a_at(i, k), int(row_e[i] + column_e[k]));
                tile_is_safe = tile_is_safe && leading_is_safe(x);
                if (i == k)
                    write_one({diagonal + planes * i, 1}, 0, x);
                else if (along_rows)
                    write_one({matrix + k * planes * rows, rows}, i, opposite(x));
                else
                    write_one({matrix + (k * w + i) * planes, 1}, 0, opposite(x));
            }
    }
    static scalar one(int e) {
        scalar r = zero_number<scalar>();
        reinterpret_cast<double*>(&r)[0] = scale(1.0, e);
        return r;
    }
    static bool leading_is_safe(const md<double, N>& x) { return is_safe(x.limb[0]); }
    static bool leading_is_safe(const cmd<double, N>& x) {
        return is_safe(x.re.limb[0]) && is_safe(x.im.limb[0]);
    }

    template <class X> static void mark_unsafe(const X& leading, double* safe) {
        double x[L];
        store(x, leading);
        for (int i = 0; i < L; ++i)
            if (!is_safe(x[i]))
                safe[i] = 0.0;
    }
    static void mark_unsafe(const md<lane, N>& x, double* safe) { mark_unsafe(x.limb[0], safe); }
    static void mark_unsafe(const cmd<lane, N>& x, double* safe) {
        mark_unsafe(x.re.limb[0], safe);
        mark_unsafe(x.im.limb[0], safe);
    }

    // Exponent of the largest element of a right-hand side after row scaling.
    int side_exponent(ptrdiff_t c) const {
        int e = -5000;
        for (ptrdiff_t i = 0; i < w; ++i) {
            const double x = magnitude(b, b_at(i, c));
            if (x != 0.0 && is_finite(x)) {
                const int f = exponent(x) - int(row_e[i]);
                e = f > e ? f : e;
            }
        }
        return e == -5000 ? 0 : e;
    }

    static column work_row(double* at) { return {at, L}; }

    void solve_many(ptrdiff_t first, ptrdiff_t count) {
        int e[L] = {};
        double safe[L];
        for (int c = 0; c < L; ++c) {
            safe[c] = tile_is_safe ? 1.0 : 0.0;
            e[c] = c < count ? side_exponent(first + c) : 0;
        }
        for (ptrdiff_t i = 0; i < w && tile_is_safe; ++i)
            write(work_row(work + i * planes * L), 0, read_side(i, first, count, e));
        for (ptrdiff_t step = 0; step < w && tile_is_safe; ++step) {
            const ptrdiff_t i = order(step);
            Number x;
            scalar d;
            read(work_row(work + i * planes * L), 0, x);
            read_one({diagonal + planes * i, 1}, 0, d);
            normalise(x);
            x = div(x, everywhere(d));
            mark_unsafe(x, safe);
            write(work_row(work + i * planes * L), 0, x);
            for (ptrdiff_t r = lower ? i + 1 : 0; r < (lower ? w : i); ++r) {
                Number sum;
                scalar element;
                read(work_row(work + r * planes * L), 0, sum);
                read_one({matrix + (i * w + r) * planes, 1}, 0, element);
                multiply_add(sum, everywhere(element), x);
                write(work_row(work + r * planes * L), 0, sum);
            }
        }
        for (ptrdiff_t i = 0; i < w && tile_is_safe; ++i) {
            Number x;
            read(work_row(work + i * planes * L), 0, x);
            put_many(i, first, count, e, safe, x);
        }
        for (ptrdiff_t c = 0; c < count; ++c)
            if (safe[c] == 0.0)
                solve_slow(first + c);
    }

    // One column, lanes along the rows that wait.
    void solve_one(ptrdiff_t c) {
        const int e = side_exponent(c);
        const column x{work, rows};
        bool safe = tile_is_safe;
        for (ptrdiff_t i = 0; i < planes * rows; ++i)
            work[i] = 0.0;
        for (ptrdiff_t i = 0; i < w; ++i)
            write_one(x, i, read_scaled(b, b_at(i, c), e + int(row_e[i])));
        for (ptrdiff_t step = 0; step < w && safe; ++step) {
            const ptrdiff_t i = order(step);
            scalar y, d;
            read_one(x, i, y);
            normalise(y);
            read_one({diagonal + planes * i, 1}, 0, d);
            y = div(y, d);
            safe = leading_is_safe(y);
            write_one(x, i, y);
            const Number factor = everywhere(y);
            for (ptrdiff_t r = lower ? (i + 1) / L * L : 0; r < (lower ? w : i); r += L) {
                Number sum, element;
                read(x, r, sum);
                read({matrix + i * planes * rows, rows}, r, element);
                multiply_add(sum, element, factor);
                write(x, r, sum);
            }
        }
        if (!safe)
            return solve_slow(c);
        for (ptrdiff_t i = 0; i < w; ++i) {
            scalar y;
            read_one(x, i, y);
            put(i, c, unscaled_one(y, e - int(column_e[i])));
        }
    }
    static md<double, N> unscaled_one(const md<double, N>& x, int e) {
        return scale_result_call(x, e);
    }
    static cmd<double, N> unscaled_one(const cmd<double, N>& x, int e) {
        return {scale_result_call(x.re, e), scale_result_call(x.im, e)};
    }

    // One column by the operations of the contract, on the numbers as they are.
    __attribute__((noinline)) void solve_slow(ptrdiff_t c) {
        const column x{work, rows};
        for (ptrdiff_t step = 0; step < w; ++step) {
            const ptrdiff_t i = order(step);
            scalar sum = read_scaled(b, b_at(i, c), 0);
            for (ptrdiff_t before = 0; before < step; ++before) {
                scalar y;
                read_one(x, order(before), y);
                sum = sub(sum, mul(read_scaled(a, a_at(i, order(before)), 0), y));
            }
            write_one(x, i, unit ? sum : div(sum, read_scaled(a, a_at(i, i), 0)));
        }
        for (ptrdiff_t i = 0; i < w; ++i) {
            scalar y;
            read_one(x, i, y);
            put(i, c, y);
        }
    }

    void put(ptrdiff_t i, ptrdiff_t c, const scalar& x) const {
        double y[planes];
        write_one({y, 1}, 0, x);
        for (int plane = 0; plane < planes; ++plane)
            out_at(i, c)[plane / N * out.imag + plane % N * out.plane] = y[plane];
    }

    Number read_side(ptrdiff_t i, ptrdiff_t first, ptrdiff_t count, const int* e) const {
        double x[planes * L] = {};
        for (int c = 0; c < count; ++c)
            write_one({x + c, L}, 0, read_scaled(b, b_at(i, first + c), e[c] + int(row_e[i])));
        Number r;
        read(column{x, L}, 0, r);
        return r;
    }

    void put_many(ptrdiff_t i, ptrdiff_t first, ptrdiff_t count, const int* e, const double* safe,
                  Number x) const {
        x = unscaled_number(x, e, -int(column_e[i]));
        double y[planes * L];
        write(column{y, L}, 0, x);
        double* p = out_at(i, first);
        for (int plane = 0; plane < planes; ++plane)
            for (int c = 0; c < count; ++c)
                if (safe[c] != 0.0)
                    p[plane / N * out.imag + plane % N * out.plane + c * out.stride[2]] =
                        y[plane * L + c];
    }
    static md<lane, N> unscaled_number(const md<lane, N>& x, const int* e, int f) {
        return unscaled(x, e, f);
    }
    static cmd<lane, N> unscaled_number(const cmd<lane, N>& x, const int* e, int f) {
        return {unscaled(x.re, e, f), unscaled(x.im, e, f)};
    }
};

template <class Number>
void solve_tiles(const block_view& out, const block_view& a, const block_view& b, bool lower,
                 bool unit) {
    const ptrdiff_t items = out.shape[0], n = out.shape[2];
    if (items == 0 || n == 0 || out.shape[1] == 0)
        return;
    // A task packs the tile for itself, so it takes several groups of columns.
    const ptrdiff_t width = n >= 512 ? 64
                            : n < 64 ? 8
                                     : n / 64 * 8,
                    tasks = (n + width - 1) / width;
    parallel_for(items * tasks, [&](ptrdiff_t t) {
        const ptrdiff_t first = t % tasks * width;
        triangle<Number>(out, a, b, lower, unit, t / tasks)
            .solve(first, n - first < width ? n - first : width);
    });
}

template <int N>
void mdqr_solve_triangular_tile(const block_view& out, const block_view& a, const block_view& b,
                                bool lower, bool unit_diagonal) {
    if (out.imag != 0)
        solve_tiles<cmd<lane, N>>(out, a, b, lower, unit_diagonal);
    else
        solve_tiles<md<lane, N>>(out, a, b, lower, unit_diagonal);
}

template void mdqr_solve_triangular_tile<MDQR_LIMBS>(const block_view&, const block_view&,
                                                     const block_view&, bool, bool);

MDQR_END
