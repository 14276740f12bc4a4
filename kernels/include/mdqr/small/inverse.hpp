// float64 matrices by columns, lanes along the rows: products, the inverse, norms. Sums are in one
// order whatever the number of lanes.
#pragma once
#include "mdqr/small/system.hpp"

MDQR_BEGIN

// Entry (i, j) is at[i * down + j * right]; down is 1 for vectors of lanes.
struct float_matrix {
    double* at;
    int down, right;
};

// acc[g] += sum of m[j][row of lane group g] v[j], j ascending; of magnitudes if Magnitudes.
template <int G, bool Magnitudes, class T>
MDQR_FN void add_columns(const double* m, int right, const double* v, int count, T* acc) {
    for (int j = 0; j < count; ++j, m += right) {
        const T y = broadcast<T>(Magnitudes ? abs(v[j]) : v[j]);
        static_for<0, G>([&](auto g) MDQR_LAMBDA {
            const T x = load<T>(m + g * lanes<T>);
            acc[g] = fma(Magnitudes ? abs(x) : x, y, acc[g]);
        });
    }
}

// to = c + m v, or c + |m| |v|; c is 0 if null. `stride` rows, `count` columns.
template <bool Magnitudes, class T, class Team>
MDQR_CALL void multiply(Team team, float_matrix m, int stride, const double* v, int count,
                        const double* c, double* to) {
    constexpr int L = lanes<T>, G = Team::groups_together;
    const int groups = stride / L;
    team.each((groups + G - 1) / G, [&](int task) {
        const int first = task * G;
        const double* from = m.at + first * L * m.down;
        T acc[G];
        for (int g = 0; g < G; ++g)
            acc[g] = c && first + g < groups ? load<T>(c + (first + g) * L) : broadcast<T>(0.0);
        if (first + G <= groups) {
            add_columns<G, Magnitudes>(from, m.right, v, count, acc);
        } else {
            for (int g = 0; first + g < groups; ++g)
                add_columns<1, Magnitudes>(from + g * L, m.right, v, count, acc + g);
        }
        for (int g = 0; g < G && first + g < groups; ++g)
            store(to + (first + g) * L, acc[g]);
    });
}
template <bool Magnitudes, class T, class Team>
MDQR_FN void multiply_columns(Team team, double* m, int stride, const double* v, int count,
                              const double* c, double* to) {
    multiply<Magnitudes, T>(team, {m, 1, Team::apart(stride)}, stride, v, count, c, to);
}

// Gauss-Jordan elimination with partial pivoting, in place; then m[column][row of its pivot] is the
// inverse with rows and columns exchanged by `pivot`. False where a pivot is zero or not finite.
template <class T, class Team>
MDQR_CALL bool eliminate(Team team, double* m, int n, int stride, int* pivot, double* multiplier,
                         double* factor, double* is_used) {
    constexpr int L = lanes<T>;
    const int apart = Team::apart(stride), groups = stride / L;
    team.each(stride, [&](int i) { is_used[i] = i < n ? 0.0 : 1.0; });
    for (int k = 0; k < n; ++k) {
        double* column = m + i64(k) * apart;
        const int p =
            team.first_largest(n, [&](int i) { return is_used[i] == 0.0 ? abs(column[i]) : 0.0; });
        const double most = p < 0 ? 0.0 : column[p], inverse = 1.0 / most;
        if (p < 0 || !is_finite(most) || !is_finite(inverse))
            return false;
        team.each(n > groups ? n : groups, [&](int i) {
            if (i < n && i != k)
                factor[i] = one_prod(m[i64(i) * apart + p], inverse);
            if (i >= groups)
                return;
            const T y = -load<T>(column + i * L);
            store(multiplier + i * L, y);
            store(column + i * L, one_prod(y, broadcast<T>(inverse)));
            if (i == p / L) {
                pivot[k] = p;
                is_used[p] = 1.0;
                column[p] = inverse;
            }
        });
        team.template each_column<T>(n, [&](int j, column_part part) {
            if (j == k)
                return;
            double* other = m + i64(j) * apart;
            team.template add_multiple<T>(part, stride, multiplier, factor[j], other);
            if (part.has(p))
                other[p] = factor[j];
        });
    }
    return true;
}

// X by columns from what `eliminate` left.
template <class Team>
MDQR_CALL void gather_inverse(Team team, const double* m, int n, int stride, const int* pivot,
                              double* x) {
    const int apart = Team::apart(stride);
    team.each_pair(n, stride, [&](int l, int k) {
        x[i64(pivot[l]) * apart + k] = k < n ? m[i64(l) * apart + pivot[k]] : 0.0;
    });
}

// Sums of rows are formed in so many parts.
inline constexpr int defect_parts = 8;

// Row sums of |fl(I - X A)| for square matrices by columns; `part` has `defect_parts` vectors.
template <class T, class Team>
MDQR_CALL void defect_rows(Team team, const double* x, const double* a, int n, int stride,
                           double* part, double* sums) {
    constexpr int L = lanes<T>, J = 4;
    const int apart = Team::apart(stride);
    team.each_pair(defect_parts, stride / L, [&](int p, int g) {
        T sum = broadcast<T>(0.0);
        alignas(64) double row[L];
        for (int j = p * J; j < n; j += defect_parts * J) {
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
                column[c] = a + i64(j + c < n ? j + c : n - 1) * apart;
            for (int k = 0; k < n; ++k, from += apart) {
                const T y = -load<T>(from);
                static_for<0, J>([&](auto c) MDQR_LAMBDA {
                    acc[c] = fma(y, broadcast<T>(column[c][k]), acc[c]);
                });
            }
            for (int c = 0; c < J && j + c < n; ++c)
                sum = one_sum(sum, abs(acc[c]));
        }
        store(part + p * stride + g * L, sum);
    });
    team.each(stride / L, [&](int g) {
        T sum = broadcast<T>(0.0);
        for (int p = 0; p < defect_parts; ++p)
            sum = one_sum(sum, load<T>(part + p * stride + g * L));
        store(sums + g * L, sum);
    });
}

// Gram-Schmidt, column by column: the columns q become orthonormal and r, by columns, triangular.
// False where a length is zero or not finite.
template <class T, class Team>
MDQR_CALL bool orthogonalize(Team team, double* q, int n, int stride, double* r, int r_stride) {
    constexpr int L = lanes<T>;
    const int apart = Team::apart(stride), r_apart = Team::apart(r_stride);
    for (int k = 0; k < n; ++k) {
        double* column = q + i64(k) * apart;
        const double length = sqrt(team.template dot<T>(column, column, stride)),
                     inverse = 1.0 / length;
        if (!(length > 0.0) || !is_finite(length) || !is_finite(inverse))
            return false;
        team.each(stride / L, [&](int g) {
            store(column + g * L, one_prod(load<T>(column + g * L), broadcast<T>(inverse)));
        });
        auto other = [&](int task) { return column + i64(task + 1) * apart; };
        team.template each_dot<T>(
            n - k - 1, stride, [&](int) { return column; }, other,
            [&](int task, column_part part, double dot) {
                double* to = other(task);
                const T y = broadcast<T>(-dot);
                for (int i = part.begin; i < stride; i += part.step)
                    store(to + i, fma(load<T>(column + i), y, load<T>(to + i)));
                if (part.begin == 0)
                    r[i64(k + 1 + task) * r_apart + k] = dot;
            });
        team.each(r_stride, [&](int i) {
            if (i >= k)
                r[i64(k) * r_apart + i] = i == k ? length : 0.0;
        });
    }
    return true;
}

// X = R^-1 of an upper triangle, by columns.
template <class T, class Team>
MDQR_CALL void invert_triangle(Team team, const double* r, int n, int stride, double* x) {
    const int apart = Team::apart(stride);
    for (int j = 0; j < n; ++j) {
        double* column = x + i64(j) * apart;
        const double* of_r = r + i64(j) * apart;
        multiply_columns<false, T>(team, x, stride, of_r, j, nullptr, column);
        const double inverse = 1.0 / of_r[j];
        team.each(stride, [&](int i) {
            column[i] = i == j ? inverse : i < j ? one_prod(-column[i], inverse) : 0.0;
        });
    }
}

// The matrix by columns whose rows are those of `from`, n columns of m entries: a copy at `to`, or
// `from` itself, which has zeros from column n on.
template <class Team>
MDQR_CALL float_matrix by_rows(Team team, double* from, int m, int n, double* to) {
    const int apart = Team::apart(padded(m)), width = padded(n), to_apart = Team::apart(width);
    if constexpr (Team::transposes) {
        team.each_pair(m, width, [&](int i, int j) {
            to[i64(i) * to_apart + j] = j < n ? from[i64(j) * apart + i] : 0.0;
        });
        return {to, 1, to_apart};
    }
    team.each_pair(width - n, padded(m), [&](int j, int i) { from[i64(n + j) * apart + i] = 0.0; });
    return {from, apart, 1};
}

// The largest singular value, from below: power iteration from an irregular mix of all columns.
template <class T, class Team>
MDQR_CALL double norm_estimate(Team team, double* m, int n, int stride, double* v, double* y) {
    constexpr int iterations = 8;
    const int apart = Team::apart(stride);
    team.each(padded(n), [&](int j) {
        const double place = (j + 1.0) * (j + 2.0) * 0.6180339887498949;
        v[j] = j < n ? place - double(i64(place)) - 0.5 : 0.0;
    });
    multiply_columns<false, T>(team, m, stride, v, n, nullptr, y);
    double norm = 0.0;
    for (int k = 0; k < iterations; ++k) {
        const double scale_y = 1.0 / sqrt(team.template dot<T>(y, y, stride));
        team.template each_dot<T>(
            n, stride, [&](int j) { return m + i64(j) * apart; }, [&](int) { return y; },
            [&](int j, column_part part, double dot) {
                if (part.begin == 0)
                    v[j] = one_prod(dot, scale_y);
            });
        const double length = sqrt(team.template dot<T>(v, v, padded(n)));
        norm = length > norm ? length : norm;
        multiply_columns<false, T>(team, m, stride, v, n, nullptr, y);
    }
    return norm;
}

MDQR_END
