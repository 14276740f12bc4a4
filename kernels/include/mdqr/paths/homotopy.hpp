// A homotopy and its derivatives at the points of some paths, a path a lane; and the solution of
// the linear systems of Newton's method.
#pragma once
#include "mdqr/paths/arguments.hpp"
#include "mdqr/paths/complex.hpp"

MDQR_BEGIN

template <class R> class path_homotopy {
public:
    using T = lane_of_real<R>;
    using number = complex_of<R>;
    using word = mdqr_paths::word;

    // Lanes of numbers that an object uses: powers, coefficients and their rates, products, a
    // matrix with two columns more.
    MDQR_FN static word used(const mdqr_paths::homotopy& h) {
        const word v = h.variables;
        return h.power_start[v] + 2 * h.terms + widest(h) + 1 + v * (v + 2);
    }

    MDQR_FN path_homotopy(const mdqr_paths::homotopy& given, number* memory)
        : h(given), wide(given.variables + 2), powers(memory),
          value(powers + h.power_start[h.variables]), rate(value + h.terms), front(rate + h.terms),
          matrix(front + widest(h) + 1) {}

    // Coefficients at s; `set` has the set of each lane.
    MDQR_CALL void at(const complex_of<T>& given, const int* set) {
        const number s = from_lanes<R>(given.re, given.im), one = constant<R>(1.0);
        const number gamma = constant<R>(h.gamma[0], h.gamma[1]);
        const number below = inverse(gamma * s + one - s);
        const number u = gamma * s * below, u_rate = gamma * below * below;
        for (word t = 0; t < h.terms; ++t) {
            const word k = h.orders;
            number c = coefficient(set, t, k - 1), d = constant<R>(0.0);
            for (word i = k - 2; i >= 0; --i) {
                d = d * u + c;
                c = c * u + coefficient(set, t, i);
            }
            value[t] = c;
            rate[t] = d * u_rate;
        }
        if constexpr (real_traits<R>::limbs == 1)
            for (word t = 0; h.weight && t < h.terms; ++t) {
                const T w = weight(set, t), factor = exponential(w * given.re);
                rate[t] = times(factor, rate[t] + times(w, value[t]));
                value[t] = times(factor, value[t]);
            }
    }

    // H_x, and behind it the columns H and H_s.
    MDQR_CALL void evaluate(const number* x) {
        const word v = h.variables;
        const number zero = constant<R>(0.0);
        for (word i = 0; i < v * wide; ++i)
            matrix[i] = zero;
        for (word j = 0; j < v; ++j) {
            number* p = powers + h.power_start[j];
            const word count = h.power_start[j + 1] - h.power_start[j];
            p[0] = constant<R>(1.0);
            for (word e = 1; e < count; ++e)
                p[e] = e == 1 ? x[j] : p[e - 1] * x[j];
        }
        for (word i = 0; i < h.equations; ++i)
            for (word t = h.start[i]; t < h.start[i + 1]; ++t)
                add_term(t, matrix + i * wide);
        if (h.patch)
            add_patch(x, matrix + h.equations * wide);
    }

    // The columns H and H_s by H_x^-1 times them, with partial pivoting; NaN or infinite where H_x
    // is singular. Without `both` H alone.
    MDQR_CALL void solve(bool both_columns) {
        const int v = int(h.variables), w = int(wide), end = both_columns ? v + 2 : v + 1;
        for (int k = 0; k < v; ++k) {
            exchange(k, end);
            number* const row = matrix + k * w;
            const number pivot = inverse(row[k]);
            row[k] = pivot;
            for (int i = k + 1; i < v; ++i) {
                number* const other = matrix + i * w;
                const number factor = other[k] * pivot;
                for (int j = k + 1; j < end; ++j)
                    other[j] = subtract_product(other[j], factor, row[j]);
            }
        }
        for (int c = v; c < end; ++c)
            for (int i = v - 1; i >= 0; --i) {
                number sum = matrix[i * w + c];
                for (int j = i + 1; j < v; ++j)
                    sum = subtract_product(sum, matrix[i * w + j], matrix[j * w + c]);
                matrix[i * w + c] = sum * matrix[i * w + i];
            }
    }

    MDQR_FN complex_of<T> correction(word j) const {
        return leading(matrix[j * wide + h.variables]);
    }
    MDQR_FN complex_of<T> tangent(word j) const {
        return -leading(matrix[j * wide + h.variables + 1]);
    }

private:
    MDQR_FN static word widest(const mdqr_paths::homotopy& h) {
        word most = 0;
        for (word t = 0; t < h.terms; ++t) {
            const word count = h.factor_start[t + 1] - h.factor_start[t];
            most = count > most ? count : most;
        }
        return most;
    }

    MDQR_FN number coefficient(const int* set, word t, word k) const {
        const word sets = h.coefficient_sets, place = t * h.orders + k;
        const number_layout layout = {h.coefficients.plane, h.coefficients.imag};
        number found{};
        for (int l = 0; l < lanes<T>; ++l) {
            const word row = sets == 1 ? place : place + h.terms * h.orders * set[l];
            take(found, l, h.coefficient + h.coefficients.next * row, layout);
        }
        return found;
    }

    MDQR_FN T weight(const int* set, word t) const {
        if (h.weight_sets == 1)
            return broadcast<T>(h.weight[t]);
        T found{};
        for (int l = 0; l < lanes<T>; ++l)
            lane_set(found, l, h.weight[h.terms * set[l] + t]);
        return found;
    }

    // Products of the first factors, and of the last ones with the coefficient (the derivatives of
    // a product by all its factors, W. Baur and V. Strassen 1983).
    MDQR_FN void add_term(word t, number* row) {
        const word first = h.factor_start[t], count = h.factor_start[t + 1] - first,
                   v = h.variables;
        for (word i = 0; i < count; ++i) {
            const number& factor = powers[h.power[first + i]];
            front[i + 1] = i == 0 ? factor : front[i] * factor;
        }
        number back = value[t];
        for (word i = count - 1; i >= 0; --i) {
            const word j = h.variable[first + i], place = h.power[first + i];
            const word e = place - h.power_start[j];
            number slope = back;
            if (e > 1)
                slope =
                    times(real_traits<R>::from(broadcast<T>(double(e))), slope * powers[place - 1]);
            row[j] = i == 0 ? row[j] + slope : add_product(row[j], slope, front[i]);
            back = back * powers[place];
        }
        row[v] = row[v] + back;
        row[v + 1] =
            count == 0 ? row[v + 1] + rate[t] : add_product(row[v + 1], rate[t], front[count]);
    }

    MDQR_FN void add_patch(const number* x, number* row) {
        const word v = h.variables;
        row[v] = constant<R>(-1.0);
        for (word j = 0; j < v; ++j) {
            row[j] = constant<R>(h.patch[2 * j], h.patch[2 * j + 1]);
            row[v] = add_product(row[v], row[j], x[j]);
        }
    }

    // Bring the largest entry of column k to row k, lane by lane.
    MDQR_FN void exchange(int k, int end) {
        const int v = int(h.variables), w = int(wide);
        T most = squared_modulus(matrix[k * w + k]);
        T place = broadcast<T>(double(k));
        for (int i = k + 1; i < v; ++i) {
            const T size = squared_modulus(matrix[i * w + k]);
            const mask_t<T> above = size > most;
            most = select(above, size, most);
            place = select(above, broadcast<T>(double(i)), place);
        }
        for (int l = 0; l < lanes<T>; ++l) {
            const int i = int(lane_get(place, l));
            if (i == k)
                continue;
            for (int j = k; j < end; ++j) {
                number &a = matrix[k * w + j], &b = matrix[i * w + j];
                swap_lane(a.re, b.re, l);
                swap_lane(a.im, b.im, l);
            }
        }
    }
    MDQR_FN static void swap_lane(R& a, R& b, int l) {
        for (int i = 0; i < real_traits<R>::limbs; ++i) {
            T &p = real_traits<R>::limb(a, i), &q = real_traits<R>::limb(b, i);
            const double kept = lane_get(p, l);
            lane_set(p, l, lane_get(q, l));
            lane_set(q, l, kept);
        }
    }

    const mdqr_paths::homotopy& h;
    const word wide;
    number *powers, *value, *rate, *front, *matrix;
};

MDQR_END
