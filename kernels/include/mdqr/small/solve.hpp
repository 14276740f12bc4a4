// A square system: the inverse X of the leading limbs in float64, then x += X r with residuals r
// that are integers.
//
// Rows and columns are scaled by powers of two. Let c_i bound the sums of the rows of |I - X A| and
// c be the largest of them, c < 1. The error e of x satisfies e = X r + (I - X A) e, so that in the
// maximum norm |e| <= |X r| / (1 - c), and after x += dx
//   |e_i| <= |X r - dx|_i + c_i |e before|.
// Every correction is rounded to an integer of as many bits as c is worth, and r = b - A x is
// updated by its exact product with the digits of A: all steps together cost about as much as one
// residual of full length. A solution of few bits is found exactly.
#pragma once
#include "mdqr/small/residual.hpp"

MDQR_BEGIN

template <class T, class Team> class small_solve {
public:
    // Where the memory has no base it is only counted.
    MDQR_FN small_solve(const Team& team, const small_operand& a, small_memory memory)
        : team(team), a(a), shape{a.imag != 0, a.columns()}, n(a.columns()), stride(padded(n)) {
        const i64 square = i64(n) * Team::apart(stride);
        memory.take_each(square, x);
        digits.at = memory.digits.take(i64(n) * stride * most_digits);
        memory.take_each(stride, contraction, inverse_rows, dx, approximate, error, t1, t2, t3);
        memory.take_each(stride, row_powers, column_powers);
        memory.take_each(stride, pivot);
        residual.take(memory, n);
        solution.take(memory, n);
        used = memory.used;
        used_by_digits = memory.digits.used;
    }
    i64 used, used_by_digits;

    // Solve for every column of b; what is written does not overlap the operands.
    MDQR_FN small_outcome run(const small_operand& b, const small_operand& to, double* errors) {
        double norm = 0.0;
        small_outcome out = {factor(norm), 0, infinity()};
        if (out.status != served)
            return out;
        out.condition = one_prod(norm, norm_estimate<T>(team, x, n, stride, t1, t2));
        for (int c = 0; c < b.n && out.status == served; ++c) {
            out.status = unproven;
            for (int extra = 0; extra <= 2 && out.status == unproven; extra += 2)
                out.status = column(b, c, to, extra, out.steps);
            shape.put_errors(team, error, to, c, errors);
        }
        return out;
    }

private:
    static constexpr int L = lanes<T>;
    static constexpr double largest_contraction = 0x1p-5;
    const Team team;
    const small_operand a;
    const small_solution shape;
    const int n, stride;
    template <class P> using array = typename Team::template array<P>;
    array<double> x; // the inverse
    array<double> contraction, inverse_rows, dx, approximate, error, t1, t2, t3;
    array<i64> row_powers, column_powers;
    array<int> pivot;
    digit_matrix digits;
    fixed_residual<T, Team> residual;
    fixed_sum<T, Team> solution;
    int bits = 0;      // of a correction
    double most = 0.0; // of `contraction`

    // The inverse of A0, the leading limbs of A, and nearly its norm. A0 and the factors are among
    // digits, which come later: one matrix alone is changed in every step.
    MDQR_METHOD i64 factor(double& norm) {
        const i64 status = equilibrate(team, a, true, row_powers, column_powers);
        if (status != served)
            return status;
        leading_limbs<T>(team, a, row_powers, column_powers, stride, x);
        const int size = n * Team::apart(stride);
        double *const a0 = digits.at, *const factors = a0 + size;
        team.each(size, [&](int i) { a0[i] = x[i]; });
        norm = norm_estimate<T>(team, x, n, stride, t1, t2);
        team.each(stride, [&](int j) { t2[j] = 1.0; });
        multiply_columns<true, T>(team, x, stride, t2, n, nullptr, error);
        if (!eliminate<T>(team, x, n, stride, pivot, t1, t2, t3))
            return singular;
        gather_inverse(team, x, n, stride, pivot, factors);
        team.each(size, [&](int i) { x[i] = factors[i]; });
        return bound_defect(a0, error);
    }

    // |I - X A| <= |fl(I - X A0)| + (n + 3) u (1 + |X| |A0|), of A0 with sums of its rows.
    MDQR_METHOD i64 bound_defect(const double* a0, const double* rows_of_a0) {
        defect_rows<T>(team, x, a0, n, stride, residual.words, contraction);
        team.each(stride, [&](int j) { t2[j] = 1.0; });
        multiply_columns<true, T>(team, x, stride, t2, n, nullptr, inverse_rows);
        multiply_columns<true, T>(team, x, stride, rows_of_a0, n, nullptr, t2);
        bits = step_bits(one_sum(largest_of(team, contraction, n),
                                 one_prod(unit_roundoff, largest_of(team, t2, n))));
        team.each(n, [&](int i) {
            const double rounding = one_prod((n + 4) * unit_roundoff, one_sum(1.0, t2[i]));
            contraction[i] = one_prod(one_sum(contraction[i], rounding), outward);
        });
        most = largest_of(team, contraction, n);
        // Not with NaN.
        const bool contracts = team.largest(n, [&](int i) {
            return contraction[i] <= largest_contraction ? 0.0 : 1.0;
        }) == 0.0;
        return contracts && largest_of(team, inverse_rows, n) < 0x1p100 ? served : ill_conditioned;
    }

    // r = b and x = 0, with words for the answer of `limbs` limbs and `extra` ones.
    MDQR_METHOD void start(const small_operand& b, int c, int exponent_b, int limbs, int extra) {
        leading_column<T>(team, b, c, row_powers, -exponent_b, t1);
        multiply_columns<false, T>(team, x, stride, t1, n, nullptr, dx);
        const int growth = bound_exponent(largest_of(team, dx, n)) + 1;
        solution.power = exponent_b + (growth > 0 ? growth : 0);
        residual.most = digits_for(limbs);
        solution.most = last_word(residual.most);
        residual.needed = exponent_of(shape.smallest(team, dx)) + exponent_b - proven_bits(limbs) -
                          8 - ceil_log2(n + 2) - bound_exponent(largest_of(team, inverse_rows, n)) -
                          51 * extra;
        residual.set(team, b, c, row_powers, solution.power);
        digits.build<T, false>(team, a, row_powers, column_powers, residual.last, t1);
    }

    // Bounds of the error after x += dx, rounded by at most `grid`, in the unit of x.
    MDQR_METHOD bool prove(double grid, int limbs) {
        multiply_columns<true, T>(team, x, stride, residual.value, n, nullptr, t1);
        const bool is_exact = largest_of(team, residual.value, n) == 0.0 && residual.lost == 0.0;
        // Underflow of products costs so much, that with the unit at last.
        const double tiny = is_exact ? 0.0 : 0x1p-1000;
        team.each(n, [&](int i) {
            t1[i] = one_sum(one_sum(one_prod((n + 8) * unit_roundoff, t1[i]), tiny),
                            one_prod(inverse_rows[i], residual.lost));
        });
        const double step = team.largest(n, [&](int i) { return one_sum(abs(dx[i]), t1[i]); }),
                     largest = one_prod(step, outward) / (1.0 - most);
        const double unit = two_power(residual.power - solution.power);
        team.each(n, [&](int i) {
            const double e = one_sum(one_sum(t1[i], one_prod(contraction[i], largest)), grid);
            error[i] = one_sum(one_prod(one_prod(e, outward), unit), one_prod(tiny, 0x1p-22));
        });
        return shape.suffice(team, error, approximate, limbs);
    }

    MDQR_METHOD i64 column(const small_operand& b, int c, const small_operand& to, int extra,
                           int& steps) {
        const int exponent_b = column_exponent(team, b, c, row_powers), limbs = to.limbs;
        if (exponent_b > 1 << 19)
            return not_finite;
        solution.clear(team);
        team.each(stride, [&](int i) { error[i] = 0.0; });
        if (exponent_b < no_exponent / 2)
            return finish(to, c);
        start(b, c, exponent_b, limbs, extra);
        for (int step = 1; step <= most_steps; ++step) {
            steps = step > steps ? step : steps;
            multiply_columns<false, T>(team, x, stride, residual.value, n, nullptr, dx);
            const double largest = largest_of(team, dx, n),
                         unit = two_power(residual.power - solution.power);
            team.each(n, [&](int i) { approximate[i] = fma(dx[i], unit, solution.value[i]); });
            if (largest == 0.0)
                return prove(0.0, limbs) ? finish(to, c) : i64(unproven);
            const int by_x = -bound_exponent(largest),
                      by_r = 8 - bound_exponent(largest_of(team, residual.value, n)),
                      t = by_x < by_r ? by_x : by_r;
            if (t < (step > 1 ? 2 : 0))
                return diverging;
            const double next = one_prod(one_prod(one_sum(most, 0x1p-50), largest), unit);
            const bool is_near =
                next <= one_prod(shape.smallest(team, approximate), two_power(-proven_bits(limbs)));
            const bool is_last = is_near && prove(two_power(-t - 51), limbs);
            if (!solution.add(team, dx, t, residual.power - t, is_last ? 50 : bits))
                return unproven;
            if (is_last)
                return finish(to, c);
            if (residual.words_at(residual.power - t) < 1 || residual.last - t / 51 < 1)
                return unproven;
            residual.update(team, t, digits, solution.minus, n,
                            [](int, const word_group<T>&, int) { return false; });
        }
        return diverging;
    }

    // Write the answer, if its bounds suffice for what it is.
    MDQR_METHOD i64 finish(const small_operand& to, int c) {
        if (!solution.round(team, to, c, column_powers, true))
            return out_of_doubles;
        if (!shape.suffice(team, error, solution.value, to.limbs))
            return unproven;
        shape.round_errors(team, error, solution.minus, column_powers, solution.power);
        return served;
    }
};

MDQR_END
