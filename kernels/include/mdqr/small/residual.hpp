// The vectors of refinement as integers: residuals that corrections change exactly, and sums of
// corrections.
#pragma once
#include "mdqr/small/inverse.hpp"
#include "mdqr/small/round.hpp"

MDQR_BEGIN

// Components may be smaller than the largest one by so many bits.
inline constexpr int graded_bits = 64;
inline constexpr int most_steps = 200;

// Errors are shown to be below 2^-proven_bits of their components: far below what rounding to limbs
// cuts off, so that bounds are close. Many limbs have more bits in the gaps between them.
MDQR_FN constexpr int proven_bits(int limbs) {
    return find_eps_bits(limbs) + (digits_for(limbs) == few_digits ? 8 : 24);
}

// Integers of `size` bits nearest to y 2^50 and zeros after them; |y| <= 1.
template <class T> MDQR_FN T rounded_correction(T y, int size) {
    const T magic = broadcast<T>(digit_rest * power_of_two(-size));
    return one_prod(one_sum(one_sum(y, magic), -magic), broadcast<T>(0x1p50));
}

// The bits that a step gains where the error is multiplied by `factor`.
MDQR_FN int step_bits(double factor) {
    const int e = -exponent_of(factor) - 1;
    return e < 4 ? 4 : e > 50 ? 50 : e;
}

// The digits of a matrix, or of its transpose, as many as were asked for.
struct digit_matrix {
    double* at = nullptr;
    int built = 0, filled = 0; // digits in memory, and those that are not all zero
    bool cut = false;          // there are more

    template <class T, bool AlongColumns, class Team>
    MDQR_FN void build(const Team& team, const small_operand& a, const i64* row_powers,
                       const i64* column_powers, int wanted, double* slots) {
        if (wanted <= built)
            return;
        const int found =
            matrix_digits<T, AlongColumns>(team, a, row_powers, column_powers, wanted, at, slots);
        filled = found / 2;
        cut = found % 2 != 0;
        built = wanted;
    }
};

// r as integers in the unit 2^power, and its nearest doubles in that unit.
template <class T, class Team> struct fixed_residual {
    static constexpr int L = lanes<T>;
    typename Team::template array<double> words, value, flags;
    int groups;
    int power = 0, last = 0;
    int most = few_digits; // words at most
    int needed = 0;        // the unit of the last word is to be 2^needed or less
    double lost = 0.0;     // bound of what was cut off, in the unit 2^power

    MDQR_FN void take(small_memory& memory, int rows) {
        groups = padded(rows) / L;
        memory.take_each(i64(padded(rows)) * word_capacity, words);
        memory.take_each(padded(rows), value, flags);
    }

    // Words down to 2^needed where the unit is 2^unit.
    MDQR_FN int words_at(int unit) const {
        const int bits = 2 + unit - needed;
        return bits <= 0 ? 0 : bits > 51 * most ? most : (bits + 50) / 51;
    }
    MDQR_FN double last_unit() const { return power_of_two(2 - 51 * last); }

    MDQR_FN void clear(const Team& team, int unit) {
        power = unit;
        last = words_at(unit);
        lost = 0.0;
        team.each(groups, [&](int g) {
            word_group<T>(words, g).clear();
            store(value + g * L, broadcast<T>(0.0));
        });
    }

    // Column c of b, scaled, at most 2 in the unit.
    MDQR_METHOD void set(const Team& team, const small_operand& b, int c, const i64* row_powers,
                         int unit) {
        clear(team, unit);
        team.each(groups, [&](int g) {
            const int rows = b.rows();
            const bool inside = g * L < rows;
            const scaled_entries<T, false> entries(b, inside ? g * L : 0, inside ? rows : 0, c,
                                                   row_powers, -unit);
            T digit[most_digits];
            const mask_t<T> rest = cut_to_digits<T>(b.limbs, entries, -49, last, digit);
            const word_group<T> w(words, g);
            each_index<most_digits, T>(0, last, [&](auto d) MDQR_LAMBDA {
                w.set(d + 1, to_integer(digit[d]));
                return true;
            });
            store(value + g * L, w.value(last));
            flags[g] = any(rest | entries.vanished) ? 1.0 : 0.0;
        });
        lost = one_prod(largest_of(team, flags, groups), last_unit());
    }

    // r += A x in the unit 2^-t of before, x integers of the unit 2^-50 of that; `also` adds to the
    // words of a group and tells whether it cut something off.
    template <class Also>
    MDQR_METHOD void update(const Team& team, int t, const digit_matrix& a, const double* x,
                            int count, Also also) {
        power -= t;
        const int first = t / 51, moved = last - first, wanted = words_at(power),
                  next = moved < wanted ? moved : wanted,
                  digits = a.filled < next ? a.filled : next;
        team.each_sum(groups, [&](int g, auto share) {
            const word_group<T> w(words, g);
            bool dropped = false;
            if (share.first == 0) {
                for (int k = 0; k < first; ++k)
                    w.shift(last - k, 51);
                w.shift(moved, t % 51);
                for (int k = next + 1; k <= moved; ++k)
                    dropped |= any(w.get(k) != 0);
            }
            add_products_of<T>(digits, a.filled < next, a.at + lanes_at<T>(g, i64(count) * a.built),
                               a.built, x, count, w.at, share);
            if (share.first != 0)
                return;
            flags[g] = (dropped ? 1.0 : 0.0) + (also(g, w, next) ? 1.0 : 0.0);
            w.carry(next);
            store(value + g * L, w.value(next));
        });
        last = next;
        // A product without its last lower half, or with a cut digit, errs by a unit at most.
        const double units =
            largest_of(team, flags, groups) + (a.cut || a.filled >= next ? count : 0);
        lost = one_sum(one_prod(lost, power_of_two(t)), one_prod(units, last_unit()));
    }
};

// A sum of corrections in the unit 2^power.
template <class T, class Team> struct fixed_sum {
    static constexpr int L = lanes<T>;
    typename Team::template array<double> words, flags;
    typename Team::template array<double> value,
        minus; // nearly the sum in its unit; the last correction, with the other sign
    int groups;
    int power = 0, last = 1;          // the last word in use
    int most = last_word(few_digits); // and the last that may be

    MDQR_FN void take(small_memory& memory, int rows) {
        groups = padded(rows) / L;
        memory.take_each(i64(padded(rows)) * word_capacity, words);
        memory.take_each(padded(rows), value, minus, flags);
    }
    MDQR_FN void clear(const Team& team) {
        last = 1;
        team.each(groups, [&](int g) {
            word_group<T>(words, g).clear();
            store(value + g * L, broadcast<T>(0.0));
        });
    }

    // += y 2^t rounded to `size` bits, in units 2^unit: at most 1. False where bits are lost.
    MDQR_METHOD bool add(const Team& team, const double* y, int t, int unit, int size) {
        const T up = broadcast<T>(two_power(t)), down = broadcast<T>(two_power(unit - 50 - power));
        const int wanted = word_group<T>::last_of(power - unit);
        last = wanted < last ? last : wanted < most ? wanted : most;
        team.each(groups, [&](int g) {
            const T x = rounded_correction(one_prod(load<T>(y + g * L), up), size);
            store(minus + g * L, -x);
            store(value + g * L, fma(x, down, load<T>(value + g * L)));
            flags[g] = any(word_group<T>(words, g).deposit(x, power - unit, last)) ? 1.0 : 0.0;
        });
        return largest_of(team, flags, groups) == 0.0;
    }
    // The sum as limbs, see rounded_column; `value` is exact then, and `minus` what rounding cut
    // off.
    MDQR_FN bool round(const Team& team, const small_operand& to, int c, const i64* powers,
                       bool is_exact) {
        const rounded_column out = {to, c, powers, power, value, minus, is_exact};
        return round_column<T>(team, words, last, to.rows(), out, flags);
    }
};

// What the solutions of one matrix share: the sizes of components, and their errors.
struct small_solution {
    bool is_complex;
    int n; // components of the real form

    // The larger part of component i.
    MDQR_FN double magnitude(const double* v, int i) const {
        const int other = !is_complex ? i : i < n / 2 ? i + n / 2 : i - n / 2;
        return abs(v[i]) > abs(v[other]) ? abs(v[i]) : abs(v[other]);
    }
    // The smallest component that is not zero, but not below 2^-graded_bits of the largest one.
    template <class Team> MDQR_FN double smallest(const Team& team, const double* v) const {
        const double largest = largest_of(team, v, n),
                     least = one_prod(largest, two_power(-graded_bits));
        const double below = team.largest(n, [&](int i) {
            const double m = magnitude(v, i);
            return m != 0.0 ? from_bits(bits(infinity()) - bits(m)) : 0.0;
        });
        const double r = below == 0.0 ? 0.0 : from_bits(bits(infinity()) - bits(below));
        return r > least ? r : least;
    }
    // Components are so much larger than their errors.
    template <class Team>
    MDQR_FN bool suffice(const Team& team, const double* error, const double* v, int limbs) const {
        const double eps = two_power(-proven_bits(limbs));
        return team.largest(n, [&](int i) {
            return error[i] <= one_prod(eps, magnitude(v, i)) ? 0.0 : 1.0;
        }) == 0.0;
    }
    // Bounds of the errors of rounded values, from those in the unit 2^power and what was cut off.
    template <class Team>
    MDQR_FN void round_errors(const Team& team, double* error, const double* rest,
                              const i64* powers, int power) const {
        team.each(n, [&](int i) {
            double first, second;
            split_power(power + int(powers[i]), first, second);
            const double bound = one_prod(one_sum(error[i], rest[i]), outward);
            error[i] =
                bound == 0.0 ? 0.0 : one_sum(one_prod(one_prod(bound, first), second), 0x1p-1074);
        });
    }
    template <class Team>
    MDQR_FN void put_errors(const Team& team, const double* error, const small_operand& to, int c,
                            double* errors) const {
        team.each(to.m, [&](int i) {
            const double p = error[i], q = is_complex ? error[to.m + i] : 0.0;
            const double larger = p > q ? p : q,
                         ratio = larger == 0.0 ? 0.0 : (p > q ? q : p) / larger;
            errors[i64(i) * to.n + c] =
                ratio == 0.0
                    ? larger
                    : one_sum(one_prod(larger, one_prod(sqrt(fma(ratio, ratio, 1.0)), outward)),
                              0x1p-1074);
        });
    }
};

// e with the largest scaled entry of column c below 2^e; no_exponent + 1 for zeros, 1025 and more
// where one is not finite.
template <class Team>
MDQR_CALL int column_exponent(Team team, small_operand b, int c, const i64* row_powers) {
    const double most = team.largest(b.rows(), [&](int i) {
        const int e = exponent_of(b.data[b.offset(i, c)]);
        return double((e == 1024 ? 1 << 20 : e + int(row_powers[i])) - no_exponent);
    });
    return no_exponent + int(most) + 1;
}

// The leading limbs of column c times 2^power.
template <class T, class Team>
MDQR_CALL void leading_column(Team team, small_operand b, int c, const i64* row_powers, int power,
                              double* to) {
    constexpr int L = lanes<T>;
    const int rows = b.rows();
    team.each(padded(rows) / L, [&](int g) {
        const bool inside = g * L < rows;
        const scaled_entries<T, false> entries(b, inside ? g * L : 0, inside ? rows : 0, c,
                                               row_powers, power);
        store(to + g * L, entries(0));
    });
}

MDQR_END
