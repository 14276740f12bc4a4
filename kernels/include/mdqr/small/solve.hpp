// A square system: the inverse X of the leading limbs in float64, then x += X r with residuals r that
// are integers.
//
// Rows and columns are scaled by powers of two. Let a_i >= |I - X A| e, e of ones, row by row, and
// a < 1 their maximum. The error of x satisfies e = X r + (I - X A) e, so that |e| <= |X r| / (1 - a)
// in the maximum norm, and after x += dx
//   |e'_i| <= |X r - dx|_i + a_i |e|.
// Every correction is rounded to an integer of as many bits as the factor is worth, r = b - A x is
// updated by its exact product with the digits of A, and r is only rounded where words end. A solution
// with few bits is found exactly.
#pragma once
#include "mdqr/small/inverse.hpp"
#include "mdqr/small/round.hpp"

MDQR_BEGIN

// Columns may be left to 2^-64 of the largest component.
inline constexpr int graded_bits = 64;
inline constexpr double largest_contraction = 0x1p-5;
inline constexpr int most_steps = 200;

// Integers of `size` bits nearest to y 2^50, and their negatives; y <= 1.
template <class T> MDQR_FN T rounded_correction(T y, int size) {
    const T magic = broadcast<T>(digit_rest * power_of_two(-size));
    return one_prod(one_sum(one_sum(y, magic), -magic), broadcast<T>(0x1p50));
}

// The bits that a step gains where the error is multiplied by `factor`.
MDQR_FN int step_bits(double factor) {
    const int e = -exponent_of(factor) - 1;
    return e < 4 ? 4 : e > 50 ? 50 : e;
}

template <class T, class Team> class small_solve {
public:
    // The memory is counted where its base is null.
    MDQR_FN small_solve(const Team& team, const small_operand& a, small_memory memory)
        : team(team), a(a), n(a.columns()), stride(padded(n)), groups(stride / L) {
        const i64 square = i64(n) * stride;
        a0 = memory.take(square);
        x = memory.take(square);
        work = memory.take(square);
        digits = memory.take(square * most_digits);
        residual = memory.take(stride * word_capacity);
        solution = memory.take(stride * word_capacity);
        double** vectors[] = {&contraction, &inverse_rows, &r, &dx, &approximate, &minus,
                              &rho,         &error,        &t1, &t2};
        for (double** v : vectors)
            *v = memory.take(stride);
        row_powers = memory.take_ints(stride);
        column_powers = memory.take_ints(stride);
        pivot = memory.take_ints(stride);
        used = memory.used;
    }
    i64 used;

    // x may be the memory of nothing else; errors lie at error[i * columns + column].
    MDQR_FN small_outcome run(const small_operand& b, const small_operand& to, double* errors) {
        small_outcome out = {factor(), 0, infinity()};
        if (out.status != served)
            return out;
        limbs = to.limbs;
        built = 0;
        out.condition = one_prod(norm_estimate<T>(team, a0, n, stride, t1, t2),
                                 norm_estimate<T>(team, x, n, stride, t1, t2));
        for (int c = 0; c < b.n && out.status == served; ++c) {
            out.status = column(b, c, to, 0, out.steps);
            if (out.status == unproven)
                out.status = column(b, c, to, 2, out.steps);
            put_errors(to, c, errors);
        }
        return out;
    }

private:
    static constexpr int L = lanes<T>;
    const Team& team;
    const small_operand& a;
    const int n, stride, groups;
    double *a0, *x, *work, *digits, *residual, *solution;
    double *contraction, *inverse_rows, *r, *dx, *approximate, *minus, *rho, *error, *t1, *t2;
    int *row_powers, *column_powers, *pivot;
    int limbs = 1, shortest = 0;          // of the answer; bits of a correction
    int built = 0, filled = 0;            // digits of A in memory, and those that are not all zero
    bool cut = false;                     // A has more digits
    double most = 0.0;                    // of `contraction`

    MDQR_CALL i64 factor() {
        const i64 status = equilibrate(a, true, row_powers, column_powers);
        if (status != served)
            return status;
        leading_limbs<T>(team, a, row_powers, column_powers, stride, a0);
        for (i64 i = 0; i < i64(n) * stride; ++i)
            work[i] = a0[i];
        if (!eliminate<T>(team, work, n, stride, pivot, t1, t2))
            return singular;
        gather_inverse(team, work, n, stride, pivot, x);
        return bound_defect();
    }

    // |I - X A| <= |fl(I - X A0)| + (n + 3) u (1 + |X| |A0|) with the lower limbs of A.
    MDQR_CALL i64 bound_defect() {
        defect_rows<T>(team, x, a0, n, stride, contraction);
        for (int j = 0; j < stride; ++j)
            t2[j] = 1.0;
        multiply_columns<true, T>(team, a0, stride, t2, n, nullptr, t1);
        multiply_columns<true, T>(team, x, stride, t1, n, nullptr, rho);
        multiply_columns<true, T>(team, x, stride, t2, n, nullptr, inverse_rows);
        const double defect = largest_of(contraction, n), product = largest_of(rho, n);
        for (int i = 0; i < n; ++i)
            contraction[i] = one_prod(
                one_sum(contraction[i], one_prod((n + 4) * unit_roundoff, one_sum(1.0, rho[i]))),
                outward);
        for (int i = n; i < stride; ++i)
            contraction[i] = 0.0;
        bool contracts = true; // not with NaN
        for (int i = 0; i < n; ++i)
            contracts &= contraction[i] <= largest_contraction;
        most = largest_of(contraction, n);
        shortest = step_bits(one_sum(defect, one_prod(unit_roundoff, product)));
        return contracts && largest_of(inverse_rows, n) < 0x1p100
                   ? served
                   : ill_conditioned;
    }

    // The larger part of component i.
    MDQR_FN double magnitude(const double* v, int i) const {
        if (a.imag == 0)
            return abs(v[i]);
        const int other = i < a.n ? i + a.n : i - a.n;
        return abs(v[i]) > abs(v[other]) ? abs(v[i]) : abs(v[other]);
    }
    // The smallest component that is not zero, but not below 2^-graded_bits of the largest one.
    MDQR_FN double smallest(const double* v) const {
        const double largest = largest_of(v, n), floor = one_prod(largest, two_power(-graded_bits));
        double r = largest;
        for (int i = 0; i < n; ++i) {
            const double m = magnitude(v, i);
            if (m < r && m != 0.0)
                r = m;
        }
        return r > floor ? r : floor;
    }

    struct state {
        int power;   // the unit of r is 2^power; of x, 2^unit
        int unit;
        int last;    // words of r
        int needed;  // the last word of r has a unit of 2^needed or less
        double lost; // bound of what was cut off r, in its unit
    };

    // r = b and the unit of x; false if b is zero.
    MDQR_CALL i64 start(const small_operand& b, int c, int extra, state& s) {
        int fb = no_exponent;
        for (int i = 0; i < n; ++i) {
            const int e = exponent_of(b.data[b.offset(i, c)]);
            if (e == 1024)
                return not_finite;
            fb = e + row_powers[i] > fb ? e + row_powers[i] : fb;
        }
        for (int g = 0; g < groups; ++g) {
            word_group<T>(residual, g).clear();
            word_group<T>(solution, g).clear();
        }
        for (int i = 0; i < stride; ++i)
            approximate[i] = error[i] = 0.0;
        s.unit = s.power = 0;
        if (fb < no_exponent / 2)
            return unproven; // nothing to do
        fb += 1;
        take_leading(b, c, -fb);
        multiply_columns<false, T>(team, x, stride, r, n, nullptr, dx);
        const int growth = bound_exponent(largest_of(dx, n)) + 1, grow = growth > 0 ? growth : 0;
        s.power = s.unit = fb + grow;
        const int amplified = bound_exponent(largest_of(inverse_rows, n));
        s.needed = exponent_of(smallest(dx)) - grow - bits_of_eps(limbs) - 16 - ceil_log2(n + 2) -
                   amplified;
        s.last = words_for(s.needed, 0) + extra;
        if (s.last > most_digits)
            s.last = most_digits;
        s.needed -= 51 * extra;
        build(s.last);
        take_words(b, c, s);
        return served;
    }
    // Words down to the unit 2^needed where the unit of the vector is 2^down.
    MDQR_FN static int words_for(int needed, int down) {
        const int bits = 2 + down - needed;
        return bits <= 0 ? 0 : (bits + 50) / 51;
    }

    MDQR_CALL void take_leading(const small_operand& b, int c, int power) {
        team.each(groups, [&](int g) {
            const scaled_entries<T, false> entries(b, g * L, n, c, row_powers, power);
            store(r + g * L, entries(0));
        });
    }
    MDQR_CALL void take_words(const small_operand& b, int c, state& s) {
        team.each(groups, [&](int g) {
            const scaled_entries<T, false> entries(b, g * L, n, c, row_powers, -s.power);
            T digit[most_digits];
            // Digit d in units of word d + 1.
            const mask_t<T> rest = cut_to_digits<T>(b.limbs, entries, -49, s.last, digit);
            const word_group<T> words(residual, g);
            for (int d = 0; d < s.last; ++d)
                words.set(d + 1, to_integer(digit[d]));
            t1[g] = any(rest | entries.vanished) ? 1.0 : 0.0;
            store(r + g * L, words.value(s.last));
        });
        s.lost = largest_of(t1, groups) == 0.0 ? 0.0 : last_unit(s.last);
    }
    MDQR_FN static double last_unit(int last) { return power_of_two(2 - 51 * last); }

    MDQR_FN void build(int wanted) {
        if (wanted <= built)
            return;
        filled = matrix_digits<T, false>(team, a, row_powers, column_powers, wanted, digits, t1, t2);
        cut = largest_of(t2, groups) != 0.0;
        built = wanted;
    }

    // Bounds of the error after x += dx, dx rounded by at most `grid`; true if they suffice.
    MDQR_CALL bool prove(const state& s, double grid, int down) {
        multiply_columns<true, T>(team, x, stride, r, n, nullptr, rho);
        const double tiny = largest_of(r, n) == 0.0 ? 0.0 : 0x1p-1000;
        double largest = 0.0;
        for (int i = 0; i < n; ++i) {
            t1[i] = one_sum(one_sum(one_prod((n + 8) * unit_roundoff, rho[i]), tiny),
                            one_prod(inverse_rows[i], s.lost));
            const double e = one_sum(abs(dx[i]), t1[i]);
            largest = e > largest ? e : largest;
        }
        largest = one_prod(largest, outward) / (1.0 - most);
        const double back = two_power(-down), eps = two_power(-bits_of_eps(limbs) - 8);
        bool proven = true;
        for (int i = 0; i < n; ++i)
            error[i] = one_prod(one_prod(one_sum(one_sum(t1[i], one_prod(contraction[i], largest)),
                                                 grid), outward), back);
        for (int i = 0; i < n; ++i)
            proven &= error[i] <= one_prod(eps, magnitude(approximate, i));
        return proven;
    }

    // x += the correction of `size` bits, dx in the unit 2^-t of r's.
    MDQR_CALL bool add_correction(const state& s, int t, int size) {
        const int down = s.unit - s.power + t;
        const T up = broadcast<T>(power_of_two(t));
        team.each(groups, [&](int g) {
            const T y = rounded_correction(one_prod(load<T>(dx + g * L), up), size);
            store(minus + g * L, -y);
            t1[g] = any(word_group<T>(solution, g).deposit(y, down, word_capacity - 1)) ? 1.0 : 0.0;
        });
        return largest_of(t1, groups) == 0.0;
    }

    // r -= A dx in the unit 2^-t of before.
    MDQR_CALL void update(state& s, int t) {
        int last = s.last;
        s.power -= t;
        s.lost = one_prod(s.lost, power_of_two(t));
        const int first = t / 51, rest = t % 51;
        const int kept = words_for(s.needed, s.unit - s.power);
        const int moved = last - first, next = moved < kept ? moved : kept;
        const int count = filled < next ? filled : next;
        team.each(groups, [&](int g) {
            const word_group<T> words(residual, g);
            for (int k = 0; k < first; ++k)
                words.shift(last - k, 51);
            words.shift(moved, rest);
            ints_t<T> dropped = bits(broadcast<T>(0.0));
            for (int k = next + 1; k <= moved; ++k)
                dropped = dropped | words.get(k);
            t1[g] = any(dropped != 0) ? 1.0 : 0.0;
            add_products_of<1, T>(count, filled < next, digits + i64(g) * n * built * L, built,
                                  minus, n, words.at);
            words.carry(next);
            store(r + g * L, words.value(next));
        });
        double units = largest_of(t1, groups);
        if (cut || filled >= next)
            units += n;
        s.lost = one_sum(s.lost, one_prod(units, last_unit(next)));
        s.last = next;
    }

    MDQR_CALL i64 column(const small_operand& b, int c, const small_operand& to, int extra,
                         int& steps) {
        state s;
        i64 status = start(b, c, extra, s);
        if (status == unproven) // b is zero
            return finish(to, c, s);
        if (status != served)
            return status;
        for (int step = 1; step <= most_steps; ++step) {
            steps = step > steps ? step : steps;
            multiply_columns<false, T>(team, x, stride, r, n, nullptr, dx);
            const double largest = largest_of(dx, n);
            const int down = s.unit - s.power;
            if (largest == 0.0)
                return prove(s, 0.0, down) ? finish(to, c, s) : i64(unproven);
            const int by_x = -bound_exponent(largest), by_r = 8 - bound_exponent(largest_of(r, n)),
                      t = by_x < by_r ? by_x : by_r;
            if (t < (step > 1 ? 2 : 0))
                return diverging;
            add_approximate(down);
            const bool is_last = is_near(largest, down) && prove(s, two_power(-t - 51), down);
            if (!add_correction(s, t, is_last ? 50 : shortest))
                return unproven;
            if (is_last)
                return finish(to, c, s);
            if (words_for(s.needed, down + t) < 1 || s.last - t / 51 < 1)
                return unproven;
            update(s, t);
        }
        return diverging;
    }

    MDQR_FN void add_approximate(int down) {
        const double back = two_power(-down);
        for (int i = 0; i < n; ++i)
            approximate[i] = one_sum(approximate[i], one_prod(dx[i], back));
    }
    // Whether a proof may succeed.
    MDQR_FN bool is_near(double largest, int down) const {
        const double next = one_prod(one_prod(one_sum(most, 0x1p-50), largest), two_power(-down));
        return next <= one_prod(smallest(approximate), two_power(-bits_of_eps(limbs) - 8));
    }

    MDQR_CALL i64 finish(const small_operand& to, int c, const state& s) {
        const rounded_column out = {to, c, column_powers, s.unit, error};
        return round_column<T>(team, solution, word_capacity - 1, n, out, t1)
                   ? i64(served)
                   : i64(out_of_doubles);
    }

    MDQR_FN void put_errors(const small_operand& to, int c, double* errors) {
        for (int i = 0; i < to.m; ++i)
            errors[i64(i) * to.n + c] =
                to.imag != 0 ? hypot_bound(error[i], error[to.m + i]) : error[i];
    }
    MDQR_FN static double hypot_bound(double p, double q) {
        const double larger = p > q ? p : q, smaller = p > q ? q : p;
        if (larger == 0.0)
            return 0.0;
        const double ratio = smaller / larger;
        return one_sum(one_prod(larger, one_prod(sqrt(fma(ratio, ratio, 1.0)), outward)), 0x1p-1074);
    }
};

MDQR_END
