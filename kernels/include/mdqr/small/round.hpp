// From fixed-point numbers to limbs.
#pragma once
#include "mdqr/number/renormalize.hpp"
#include "mdqr/small/system.hpp"

MDQR_BEGIN

// The words of a group as doubles, in their place.
template <class T> struct double_group {
    static constexpr int S = side_by_side<T>;
    double* at;
    MDQR_FN T get(int k) const { return load<T>(at + k * S); }
    MDQR_FN void set(int k, T x) const { store(at + k * S, x); }

    // Two by two from the last one, in the lanes of `where`.
    MDQR_FN void sweep(int count, mask_t<T> where) const {
        T below = get(count - 1);
        for (int k = count - 2; k >= 0; --k) {
            const T above = get(k);
            T sum, rest;
            two_sum(above, below, sum, rest);
            set(k + 1, select(where, rest, below));
            below = select(where, sum, above);
        }
        set(0, below);
    }
    // True in the lanes where they are not normalised, see renormalize.hpp.
    MDQR_FN mask_t<T> not_normalised(int count) const {
        const T zero = broadcast<T>(0.0);
        mask_t<T> bad = zero != zero;
        T x = get(0);
        for (int k = 1; k < count; ++k) {
            const T next = get(k);
            bad = bad | (one_sum(x, next) != x) | ((x == zero) & (next != zero));
            x = next;
        }
        return bad;
    }
};

// The sum of a group's words as normalised doubles 0..last, in the unit of the vector.
template <class T> MDQR_FN double_group<T> words_to_doubles(const word_group<T>& words, int last) {
    const double_group<T> v = {words.at};
    words.carry(last);
    for (int k = 0; k <= last; ++k)
        v.set(k, one_prod(from_integer<T>(words.get(k)), broadcast<T>(power_of_two(2 - 51 * k))));
    // Words of 51 bits overlap by two at most: downwards first fills every limb.
    mask_t<T> bad = broadcast<T>(0.0) == broadcast<T>(0.0);
    for (int pass = 0; pass <= last + 1 && any(bad); ++pass) {
        v.sweep(last + 1, bad);
        bad = v.not_normalised(last + 1);
    }
    return v;
}

// Values of a fixed-point vector as limbs: entry i times 2^(powers[i] + power). False where a value
// leaves the range in which its limbs are exact; where that is no matter, small limbs become zero.
struct rounded_column {
    small_operand to;
    int column;
    const i64* powers;
    int power;
    double *leading, *rest; // the first limbs and what rounding cut off, in the unit of the vector
    bool is_exact;

    // Entry i from its doubles 0..last, `apart` from one another.
    MDQR_FN bool put(const double* v, int apart, int last, int i) const {
        double* out = to.data + to.offset(i, column);
        leading[i] = v[0];
        rest[i] = to.limbs <= last ? abs(v[to.limbs * apart]) : 0.0;
        const int p = power + int(powers[i]), e = exponent_of(v[0]) + p;
        bool fits = e < 1020 && (!is_exact || e < no_exponent / 2 || e > -1000 + 53 * to.limbs);
        double first, second;
        split_power(p, first, second);
        for (int l = 0; l < to.limbs; ++l) {
            const double limb = fits && l <= last ? v[l * apart] : 0.0;
            const bool vanishes = limb != 0.0 && exponent_of(limb) + p <= -1000;
            // Of limbs with gaps, the first is far above.
            fits = fits && !(is_exact && vanishes);
            out[l * to.plane] =
                limb != 0.0 && !vanishes ? one_prod(one_prod(limb, first), second) : 0.0;
        }
        return fits;
    }
};

template <class T, class Team>
MDQR_CALL bool round_column(Team team, double* words, int last, int rows, rounded_column out,
                            double* flags) {
    constexpr int L = lanes<T>;
    const int groups = padded(rows) / L;
    team.each(groups, [&](int g) {
        const double_group<T> v = words_to_doubles(word_group<T>(words, g), last);
        bool fits = true;
        for (int l = 0; l < L && g * L + l < rows; ++l)
            fits &= out.put(v.at + l, v.S, last, g * L + l);
        flags[g] = fits ? 0.0 : 1.0;
    });
    return largest_of(team, flags, groups) == 0.0;
}

MDQR_END
