// float64 matrices by columns, lanes along the rows: products, the inverse, norms. Sums are in one
// order whatever the number of lanes.
#pragma once
#include "mdqr/small/system.hpp"

MDQR_BEGIN

// acc[g] += sum of m[j][row of lane group g] v[j], j ascending; of magnitudes if Magnitudes.
template <int G, bool Magnitudes, class T>
MDQR_FN void add_columns(const double* m, int stride, const double* v, int count, T* acc) {
    for (int j = 0; j < count; ++j, m += stride) {
        const T y = broadcast<T>(Magnitudes ? abs(v[j]) : v[j]);
        static_for<0, G>([&](auto g) MDQR_LAMBDA {
            const T x = load<T>(m + g * lanes<T>);
            acc[g] = fma(Magnitudes ? abs(x) : x, y, acc[g]);
        });
    }
}

// to = c + m v, or c + |m| |v|; c is 0 if null. `stride` rows, `count` columns.
template <bool Magnitudes, class T, class Team>
MDQR_CALL void multiply_columns(const Team& team, const double* m, int stride, const double* v,
                                int count, const double* c, double* to) {
    constexpr int L = lanes<T>, G = 4;
    const int groups = stride / L;
    team.each((groups + G - 1) / G, [&](int task) {
        const int first = task * G;
        T acc[G];
        for (int g = 0; g < G; ++g)
            acc[g] = c && first + g < groups ? load<T>(c + (first + g) * L) : broadcast<T>(0.0);
        if (first + G <= groups) {
            add_columns<G, Magnitudes>(m + first * L, stride, v, count, acc);
        } else {
            for (int g = 0; first + g < groups; ++g)
                add_columns<1, Magnitudes>(m + (first + g) * L, stride, v, count, acc + g);
        }
        for (int g = 0; g < G && first + g < groups; ++g)
            store(to + (first + g) * L, acc[g]);
    });
}

// Sum of a[i] b[i] in 8 parts and a tree.
template <class T> MDQR_FN double dot_of_eight(const double* a, const double* b, int count) {
    constexpr int L = lanes<T>, V = 8 / L;
    T part[V];
    for (int v = 0; v < V; ++v)
        part[v] = broadcast<T>(0.0);
    for (int i = 0; i < count; i += 8)
        static_for<0, V>([&](auto v) MDQR_LAMBDA {
            part[v] = fma(load<T>(a + i + v * L), load<T>(b + i + v * L), part[v]);
        });
    alignas(64) double x[8];
    for (int v = 0; v < V; ++v)
        store(x + v * L, part[v]);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// Gauss-Jordan elimination with partial pivoting, in place; then m[column][row of its pivot] is the
// inverse with rows and columns exchanged by `pivot`. False where a pivot is zero or not finite.
template <class T, class Team>
MDQR_CALL bool eliminate(const Team& team, double* m, int n, int stride, int* pivot,
                         double* multiplier, double* is_used) {
    constexpr int L = lanes<T>;
    team.each(stride, [&](int i) { is_used[i] = i < n ? 0.0 : 1.0; });
    for (int k = 0; k < n; ++k) {
        double* column = m + i64(k) * stride;
        int p = -1;
        double most = 0.0;
        for (int i = 0; i < n; ++i)
            if (is_used[i] == 0.0 && abs(column[i]) > most) {
                most = abs(column[i]);
                p = i;
            }
        if (p < 0 || !is_finite(most) || !is_finite(1.0 / most))
            return false;
        const double inverse = 1.0 / column[p];
        pivot[k] = p;
        is_used[p] = 1.0;
        team.each(stride / L, [&](int g) {
            const T y = -load<T>(column + g * L);
            store(multiplier + g * L, y);
            store(column + g * L, one_prod(y, broadcast<T>(inverse)));
        });
        column[p] = inverse;
        team.each(n, [&](int j) {
            if (j == k)
                return;
            double* other = m + i64(j) * stride;
            const double factor = one_prod(other[p], inverse);
            const T y = broadcast<T>(factor);
            for (int i = 0; i < stride; i += L)
                store(other + i, fma(load<T>(multiplier + i), y, load<T>(other + i)));
            other[p] = factor;
        });
    }
    return true;
}

// X by columns from what `eliminate` left.
template <class Team>
MDQR_CALL void gather_inverse(const Team& team, const double* m, int n, int stride,
                              const int* pivot, double* x) {
    team.each(n, [&](int l) {
        double* to = x + i64(pivot[l]) * stride;
        for (int k = 0; k < n; ++k)
            to[k] = m[i64(l) * stride + pivot[k]];
        for (int k = n; k < stride; ++k)
            to[k] = 0.0;
    });
}

// Row sums of |fl(I - X A)| for square matrices by columns.
template <class T, class Team>
MDQR_CALL void defect_rows(const Team& team, const double* x, const double* a, int n, int stride,
                           double* sums) {
    constexpr int L = lanes<T>, J = 4;
    team.each(stride / L, [&](int g) {
        T sum = broadcast<T>(0.0);
        alignas(64) double row[L];
        for (int j = 0; j < n; j += J) {
            T acc[J];
            for (int c = 0; c < J; ++c) {
                for (int l = 0; l < L; ++l)
                    row[l] = g * L + l == j + c ? 1.0 : 0.0;
                acc[c] = load<T>(row);
            }
            const double* from = x + g * L;
            // Columns beyond the last repeat it and are not counted.
            const double* column[J];
            for (int c = 0; c < J; ++c)
                column[c] = a + i64(j + c < n ? j + c : n - 1) * stride;
            for (int k = 0; k < n; ++k, from += stride) {
                const T y = -load<T>(from);
                static_for<0, J>([&](auto c) MDQR_LAMBDA {
                    acc[c] = fma(y, broadcast<T>(column[c][k]), acc[c]);
                });
            }
            for (int c = 0; c < J && j + c < n; ++c)
                sum = one_sum(sum, abs(acc[c]));
        }
        store(sums + g * L, sum);
    });
}

// Gram-Schmidt, column by column: the columns q become orthonormal and r, by columns, triangular.
// False where a length is zero or not finite.
template <class T, class Team>
MDQR_CALL bool orthogonalize(const Team& team, double* q, int n, int stride, double* r,
                             int r_stride) {
    constexpr int L = lanes<T>;
    for (int k = 0; k < n; ++k) {
        double* column = q + i64(k) * stride;
        const double length = sqrt(dot_of_eight<T>(column, column, stride)), inverse = 1.0 / length;
        if (!(length > 0.0) || !is_finite(length) || !is_finite(inverse))
            return false;
        team.each(stride / L, [&](int g) {
            store(column + g * L, one_prod(load<T>(column + g * L), broadcast<T>(inverse)));
        });
        for (int i = k; i < r_stride; ++i)
            r[i64(k) * r_stride + i] = i == k ? length : 0.0;
        team.each(n - k - 1, [&](int task) {
            double* other = column + i64(task + 1) * stride;
            const double dot = dot_of_eight<T>(column, other, stride);
            const T y = broadcast<T>(-dot);
            for (int i = 0; i < stride; i += L)
                store(other + i, fma(load<T>(column + i), y, load<T>(other + i)));
            r[i64(k + 1 + task) * r_stride + k] = dot;
        });
    }
    return true;
}

// X = R^-1 of an upper triangle, by columns.
template <class T, class Team>
MDQR_CALL void invert_triangle(const Team& team, const double* r, int n, int stride, double* x) {
    for (int j = 0; j < n; ++j) {
        double* column = x + i64(j) * stride;
        const double* of_r = r + i64(j) * stride;
        multiply_columns<false, T>(team, x, stride, of_r, j, nullptr, column);
        const double inverse = 1.0 / of_r[j];
        team.each(stride, [&](int i) {
            column[i] = i == j ? inverse : i < j ? one_prod(-column[i], inverse) : 0.0;
        });
    }
}

// to[i][j] = from[j][i] for i < m, j < n, padded with zeros.
template <class Team>
MDQR_CALL void transpose(const Team& team, const double* from, int m, int n, int stride, double* to,
                         int to_stride) {
    team.each(m, [&](int i) {
        for (int j = 0; j < to_stride; ++j)
            to[i64(i) * to_stride + j] = j < n ? from[i64(j) * stride + i] : 0.0;
    });
}

// The largest singular value, from below: power iteration from an irregular mix of all columns.
template <class T, class Team>
MDQR_CALL double norm_estimate(const Team& team, const double* m, int n, int stride, double* v,
                               double* y) {
    constexpr int iterations = 8;
    for (int j = 0; j < padded(n); ++j) {
        const double place = (j + 1.0) * (j + 2.0) * 0.6180339887498949;
        v[j] = j < n ? place - double(i64(place)) - 0.5 : 0.0;
    }
    multiply_columns<false, T>(team, m, stride, v, n, nullptr, y);
    double norm = 0.0;
    for (int k = 0; k < iterations; ++k) {
        const double scale_y = 1.0 / sqrt(dot_of_eight<T>(y, y, stride));
        team.each(n, [&](int j) {
            v[j] = one_prod(dot_of_eight<T>(m + i64(j) * stride, y, stride), scale_y);
        });
        for (int j = n; j < padded(n); ++j)
            v[j] = 0.0;
        const double length = sqrt(dot_of_eight<T>(v, v, padded(n)));
        norm = length > norm ? length : norm;
        multiply_columns<false, T>(team, m, stride, v, n, nullptr, y);
    }
    return norm;
}

MDQR_END
