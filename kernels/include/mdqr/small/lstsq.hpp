// Least squares of full rank, m >= n: X = R^-1 from float64 Gram-Schmidt, B = A X, then both
// residuals
//   f = b - r - A x,  g = -A^H r
// of the augmented system (Bjorck 1967) as integers: w = B^H f - X^H g, x += X w, r += f - B w.
//
// Columns are scaled by powers of two. With H = I - B^H B for the exact B and h >= |H| in the
// 2-norm, h < 1, the error of x is X z with z = (B^H f - X^H g) + H z, so that |z| <= |B^H f - X^H
// g| / (1 - h) and, after x += dx,
//   |e_i| <= |X_i| (|X^-1 dx - w| + |w - (B^H f - X^H g)| + h |z|).
// That of r, in the 2-norm, is B (z - w) and the rounding of dr = f - B w.
// Corrections are rounded and residuals updated as in solve.hpp.
#pragma once
#include "mdqr/small/residual.hpp"

MDQR_BEGIN

template <class T, class Team> class small_lstsq {
public:
    // Where the memory has no base it is only counted.
    MDQR_FN small_lstsq(const Team& team, const small_operand& a, small_memory memory)
        : team(team), a(a), shape{a.imag != 0, a.columns()}, m(a.rows()), n(a.columns()),
          rows(padded(m)), columns(padded(n)) {
        const i64 width = Team::transposes ? n : columns;
        memory.take_each(width * Team::apart(rows), b0);
        memory.take_each(width * Team::apart(columns), x);
        if (Team::transposes) {
            b_rows.at = memory.take(i64(m) * Team::apart(columns));
            x_rows.at = memory.take(i64(n) * Team::apart(columns));
        }
        digits.at = memory.digits.take(i64(n) * rows * most_digits);
        digit_rows.at = memory.digits.take(i64(m) * columns * most_digits);
        memory.take_each(rows > columns ? rows : columns, dr, t1, t2);
        memory.take_each(columns, w, minus_w, minus_g, dx, approximate, error, lengths);
        memory.take_each(rows, row_powers);
        memory.take_each(columns, column_powers);
        // A and R are done with before the sums begin.
        small_memory factors = memory;
        factors.take_each(i64(n) * Team::apart(rows), a0);
        factors.take_each(i64(n) * Team::apart(columns), r0);
        f.take(memory, m);
        g.take(memory, n);
        solution.take(memory, n);
        rest.take(memory, m);
        used = memory.used > factors.used ? memory.used : factors.used;
        used_by_digits = memory.digits.used;
    }
    i64 used, used_by_digits;

    // Solve for every column of b, and write b - A x too.
    MDQR_FN small_outcome run(const small_operand& b, const small_operand& to,
                              const small_operand& residuals, double* errors) {
        small_outcome out = {factor(), 0, infinity()};
        if (out.status != served)
            return out;
        out.condition = one_prod(norm_estimate<T>(team, r0, n, columns, t1, t2),
                                 norm_estimate<T>(team, x, n, columns, t1, t2));
        for (int c = 0; c < b.n && out.status == served; ++c) {
            out.status = unproven;
            for (int extra = 0; extra <= 2 && out.status == unproven; extra += 2)
                out.status = column(b, c, to, residuals, extra, out.steps);
            shape.put_errors(team, error, to, c, errors);
        }
        return out;
    }

private:
    static constexpr int L = lanes<T>;
    static constexpr double largest_defect = 0x1p-4;
    const Team team;
    const small_operand a;
    const small_solution shape;
    const int m, n, rows, columns;
    template <class P> using array = typename Team::template array<P>;
    array<double> a0, b0, r0, x; // leading limbs of A, B, R and X by columns
    float_matrix b_rows, x_rows;
    array<double> dr, t1, t2, w, minus_w, minus_g, dx, approximate, error;
    array<double> lengths; // of the rows of X
    array<i64> row_powers, column_powers;
    digit_matrix digits, digit_rows;
    fixed_residual<T, Team> f, g;
    fixed_sum<T, Team> solution, rest;
    int bits = 0; // of a correction of r
    bool is_tame = false;
    // Bounds: |H|, |B|^2, |fl(A0 X) - A X|, Frobenius norms of fl(A0 X) and X.
    double defect = 0.0, square_b = 0.0, error_b = 0.0, frobenius_b = 0.0, frobenius_x = 0.0;

    // Of `count` numbers with that sum of squares; those of entries below 2^-537 vanish.
    MDQR_FN static double root_of(double squares, int count) {
        return one_prod(one_sum(sqrt(squares), one_prod(sqrt(double(count)), 0x1p-536)), outward);
    }
    MDQR_SHORT static double length_of(const double* v, int count, int step, double squares) {
        bool is_zero = squares == 0.0;
        for (int i = 0; i < count && is_zero; ++i)
            is_zero = v[i * step] == 0.0;
        return is_zero ? 0.0 : root_of(squares, count);
    }
    MDQR_SHORT double length(const double* v, int count) const {
        const double squares = team.template dot<T>(v, v, count);
        return squares == 0.0 && largest_of(team, v, count) == 0.0 ? 0.0 : root_of(squares, count);
    }
    // Of the columns, to[j] for j < padded(n).
    MDQR_SHORT void lengths_of(const double* v, int stride, double* to) const {
        auto column = [&](int j) { return v + i64(j) * Team::apart(stride); };
        team.template each_dot<T>(n, stride, column, column,
                                  [&](int j, column_part part, double squares) {
                                      if (part.begin == 0)
                                          to[j] = length_of(column(j), stride, 1, squares);
                                  });
        team.each(columns - n, [&](int j) { to[n + j] = 0.0; });
    }
    MDQR_SHORT double frobenius(const double* v, int stride) const {
        lengths_of(v, stride, t1);
        return length(t1, columns);
    }

    MDQR_METHOD i64 factor() {
        const i64 status = equilibrate(team, a, false, row_powers, column_powers);
        if (status != served)
            return status;
        leading_limbs<T>(team, a, row_powers, column_powers, rows, a0);
        team.each(n * Team::apart(rows), [&](int i) { b0[i] = a0[i]; });
        if (!orthogonalize<T>(team, b0, n, rows, r0, columns))
            return singular;
        invert_triangle<T>(team, r0, n, columns, x);
        for (int j = 0; j < n; ++j)
            multiply_columns<false, T>(team, a0, rows, x + i64(j) * Team::apart(columns), j + 1,
                                       nullptr, b0 + i64(j) * Team::apart(rows));
        b_rows = by_rows(team, b0, m, n, b_rows.at);
        x_rows = by_rows(team, x, n, n, x_rows.at);
        return bound_defect();
    }

    MDQR_METHOD i64 bound_defect() {
        team.each(n, [&](int i) {
            const double* row = x_rows.at + i64(i) * x_rows.right;
            const double squares = dot_of_eight<T>(row, row, columns, x_rows.down);
            lengths[i] = length_of(row, columns, x_rows.down, squares);
        });
        frobenius_b = frobenius(b0, rows);
        frobenius_x = frobenius(x, columns);
        const double product = one_prod(frobenius(a0, rows), frobenius_x);
        error_b = one_prod((n + 3) * unit_roundoff, one_prod(product, outward));
        double* const h = a0; // fl(B^H B - I)
        for (int j = 0; j < n; ++j)
            multiply<false, T>(team, b_rows, columns, b0 + i64(j) * Team::apart(rows), m, nullptr,
                               h + i64(j) * Team::apart(columns));
        team.each(n, [&](int j) {
            double& diagonal = h[i64(j) * Team::apart(columns) + j];
            diagonal = one_sum(diagonal, -1.0);
        });
        const double found = frobenius(h, columns);
        const double square = one_prod(frobenius_b, frobenius_b),
                     rounding = one_prod((m + 4) * unit_roundoff, one_sum(square, n));
        square_b = one_prod(one_sum(one_sum(1.0, found), rounding), outward);
        // |B| <= |B|^2 where that is above 1.
        defect = one_prod(one_sum(one_sum(found, rounding),
                                  one_prod(error_b, one_sum(one_prod(2.0, square_b), error_b))),
                          outward);
        is_tame = frobenius_x < 0x1p20;
        bits = step_bits(one_sum(found, one_prod(unit_roundoff, product)));
        return defect <= largest_defect && frobenius_x < 0x1p100 ? served : ill_conditioned;
    }

    // f = b, g = 0, x = 0 and r = 0, with words for the answer of `limbs` limbs and `extra` ones.
    MDQR_METHOD void start(const small_operand& b, int c, int exponent_b, int limbs, int extra) {
        leading_column<T>(team, b, c, row_powers, -exponent_b, t1);
        multiply<false, T>(team, b_rows, columns, t1, m, nullptr, w);
        multiply_columns<false, T>(team, x, columns, w, n, nullptr, dx);
        f.clear(team, exponent_b);
        const int growth = 1 - x_shift(largest_of(team, dx, n));
        solution.power = exponent_b + (growth > 0 ? growth : 0);
        f.most = g.most = digits_for(limbs);
        solution.most = rest.most = last_word(f.most);
        const double smallest = shape.smallest(team, dx);
        const int wanted = (smallest == 0.0 ? -graded_bits : exponent_of(smallest)) + exponent_b -
                           proven_bits(limbs) - 10 - bound_exponent(largest_of(team, lengths, n)) -
                           51 * extra;
        f.needed = wanted - ceil_log2(n) - ceil_log2(m) / 2;
        g.needed = wanted - ceil_log2(m) - ceil_log2(n) / 2 - bound_exponent(frobenius_x);
        f.set(team, b, c, row_powers, solution.power);
        g.clear(team, solution.power);
        digits.build<T, false>(team, a, row_powers, column_powers, f.last, t1);
    }

    // w, dx and dr from the residuals, in the unit of f.
    MDQR_METHOD void correct() {
        const double unit = two_power(g.power - f.power);
        team.each(columns, [&](int i) { minus_g[i] = one_prod(-g.value[i], unit); });
        multiply<false, T>(team, b_rows, columns, f.value, m, nullptr, w);
        multiply<false, T>(team, x_rows, columns, minus_g, n, w, w);
        team.each(columns, [&](int i) { minus_w[i] = -w[i]; });
        multiply_columns<false, T>(team, x, columns, w, n, nullptr, dx);
        multiply_columns<false, T>(team, b0, rows, minus_w, n, f.value, dr);
    }

    // Bounds of the errors after x += dx, rounded by at most `grid`, in the unit of x, and r += dr.
    MDQR_METHOD bool prove(double grid, int limbs, int unit_r) {
        const double length_f = length(f.value, rows), length_g = length(minus_g, columns),
                     length_w = length(w, columns);
        const double cut_f = one_prod(sqrt(double(m)), f.lost),
                     cut_g =
                         one_prod(one_prod(sqrt(double(n)), g.lost), two_power(g.power - f.power));
        const double rounding =
            one_prod((m + n + 10) * unit_roundoff,
                     one_sum(one_prod(frobenius_b, length_f), one_prod(frobenius_x, length_g)));
        const double cut =
            one_sum(one_prod(square_b + error_b, cut_f), one_prod(frobenius_x, cut_g));
        const double of_w =
            one_prod(one_sum(one_sum(rounding, one_prod(error_b, length_f)), cut), outward);
        const double z = one_prod(one_sum(length_w, of_w), outward) / (1.0 - defect);
        double sum = one_sum(one_sum(one_prod((n + 2) * unit_roundoff, length_w), of_w),
                             one_prod(defect, z));
        const bool is_exact = largest_of(team, f.value, m) == 0.0 &&
                              largest_of(team, g.value, n) == 0.0 && f.lost == 0.0 && g.lost == 0.0;
        sum = one_sum(sum, is_exact ? 0.0 : 0x1p-1000);
        // Underflow of the product with the unit costs no more.
        const double least = is_exact ? 0.0 : 0x1p-1022;
        const double unit = two_power(f.power - solution.power);
        team.each(n, [&](int i) {
            const double e = one_sum(one_prod(lengths[i], sum), grid);
            error[i] = one_sum(one_prod(one_prod(e, outward), unit), least);
        });
        const double size_w = one_prod(frobenius_b, length_w),
                     of_dr = one_prod((n + 4) * unit_roundoff, one_sum(length_f, size_w)),
                     grid_r = one_prod(sqrt(double(m)), two_power(unit_r - f.power - 51)),
                     moved = one_sum(one_prod(square_b, sum), one_prod(error_b, length_w));
        const bool is_zero = largest_of(team, dr, m) == 0.0;
        const double rest_error = one_sum(one_sum(moved, cut_f), is_zero ? 0.0 : of_dr + grid_r);
        return rest_suffices(one_prod(rest_error, outward), limbs) &&
               shape.suffice(team, error, approximate, limbs);
    }
    // Whether an error of r + dr, in the unit of f, is below eps / 4 of its length; r of square A
    // is zero.
    MDQR_METHOD bool rest_suffices(double error_r, int limbs) {
        if (m == n)
            return true;
        const double down = two_power(f.power - rest.power);
        team.each(rows, [&](int i) { t1[i] = fma(dr[i], down, rest.value[i]); });
        const double size = sqrt(team.template dot<T>(t1, t1, rows));
        return one_prod(error_r, down) <= one_prod(two_power(-find_eps_bits(limbs) - 2), size);
    }

    MDQR_METHOD i64 column(const small_operand& b, int c, const small_operand& to,
                           const small_operand& residuals, int extra, int& steps) {
        const int exponent_b = column_exponent(team, b, c, row_powers), limbs = to.limbs;
        if (exponent_b > 1 << 19)
            return not_finite;
        solution.clear(team);
        rest.clear(team);
        team.each(columns, [&](int i) { error[i] = 0.0; });
        if (exponent_b < no_exponent / 2)
            return finish(to, residuals, c);
        start(b, c, exponent_b, limbs, extra);
        int size_z = 1 << 20; // of X^-1 dx
        for (int step = 1; step <= most_steps; ++step) {
            steps = step > steps ? step : steps;
            correct();
            const double largest = largest_of(team, dx, n),
                         unit = two_power(f.power - solution.power);
            team.each(n, [&](int i) { approximate[i] = fma(dx[i], unit, solution.value[i]); });
            const int unit_r = r_unit();
            if (step == 1)
                rest.power = unit_r;
            if (largest == 0.0 && largest_of(team, f.value, m) == 0.0)
                return prove(0.0, limbs, unit_r) ? finish(to, residuals, c) : i64(unproven);
            const int t = x_shift(largest), before = size_z;
            size_z = f.power + bound_exponent(largest_of(team, w, n));
            if (t < 0 || t > 900 || size_z > before - 2)
                return diverging;
            const bool is_last = prove(two_power(-t - 51), limbs, unit_r);
            // A fit of few bits is found exactly; later, rounding x as coarsely as r would undo
            // what small singular values amplify.
            const bool is_coarse = step == 1 && is_tame && !is_last;
            const int size_r = is_last ? 50 : is_coarse ? coarse() : bits;
            if (!rest.add(team, dr, f.power - unit_r, unit_r, size_r) ||
                !solution.add(team, dx, t, f.power - t, is_coarse ? coarse() : 50))
                return unproven;
            if (is_last)
                return finish(to, residuals, c);
            if (!update(t, unit_r, step == 1))
                return unproven;
        }
        return diverging;
    }
    MDQR_FN int coarse() const { return bits > 10 ? bits - 6 : 4; }

    // The unit of x's correction is 2^-t that of f, and leaves room for f and for the next
    // correction, which may be larger where small singular values amplify what is left.
    MDQR_SHORT int x_shift(double largest) const {
        const double next = one_prod(one_prod(largest_of(team, lengths, n), length(w, columns)),
                                     two_power(2 - bits));
        const int by_x = -bound_exponent(largest > next ? largest : next),
                  by_f = 8 - bound_exponent(largest_of(team, f.value, m));
        return by_x < by_f ? by_x : by_f;
    }
    // The unit of r's correction, which takes the bits that f has and dr has lost, and leaves room
    // for g.
    MDQR_FN int r_unit() const {
        const int by_f = bound_exponent(largest_of(team, f.value, m)),
                  by_r = bound_exponent(largest_of(team, dr, m)),
                  by_g = bound_exponent(largest_of(team, minus_g, n)) - 8,
                  e = by_f > by_r ? by_f : by_r;
        return f.power + (by_g > e ? by_g : e);
    }

    // f -= dr + A dx, g -= A^H dr.
    MDQR_METHOD bool update(int t, int unit_r, bool is_first) {
        const int down = f.power - t - unit_r;
        if (is_first)
            g.clear(team, unit_r);
        const int back = g.power - unit_r;
        if (down < -52 || back < 0 || f.words_at(f.power - t) < 1 || g.words_at(unit_r) < 1 ||
            f.last - t / 51 < 1 || g.last - back / 51 < 1)
            return false;
        digit_rows.build<T, true>(team, a, row_powers, column_powers, g.last, t1);
        f.update(team, t, digits, solution.minus, n,
                 [&](int group, const word_group<T>& words, int last) {
                     return any(words.deposit(load<T>(rest.minus + group * L), down, last));
                 });
        g.update(team, back, digit_rows, rest.minus, m,
                 [](int, const word_group<T>&, int) { return false; });
        return true;
    }

    // Write the answer, if its bounds suffice for what it is.
    MDQR_METHOD i64 finish(const small_operand& to, const small_operand& residuals, int c) {
        if (!solution.round(team, to, c, column_powers, true) ||
            !rest.round(team, residuals, c, row_powers, false))
            return out_of_doubles;
        // Entries that became zero are below eps of r, or r is that of a square A: zero.
        const double largest = m == n ? 0.0 : largest_of(team, rest.value, m);
        if (largest != 0.0 && bound_exponent(largest) + rest.power < -990 + 53 * to.limbs)
            return out_of_doubles;
        if (!shape.suffice(team, error, solution.value, to.limbs))
            return unproven;
        shape.round_errors(team, error, solution.minus, column_powers, solution.power);
        return served;
    }
};

MDQR_END
