// From fixed-point numbers to limbs.
#pragma once
#include "mdqr/renormalize.hpp"
#include "mdqr/small/system.hpp"

MDQR_BEGIN

// -log2(eps) for any number of limbs.
MDQR_FN int bits_of_eps(int limbs) {
    return limbs <= 1   ? eps_bits<1>
           : limbs == 2 ? eps_bits<2>
           : limbs <= 4 ? eps_bits<4>
                        : eps_bits<8>;
}

template <class T> MDQR_FN void sweep_words(T* v, int count) {
    each_index_down<word_capacity - 1, T>(
        0, count - 1, [&](auto i) MDQR_LAMBDA { two_sum(v[i], v[i + 1], v[i], v[i + 1]); });
}

// True in the lanes where the words are not normalised, see renormalize.hpp.
template <class T> MDQR_FN mask_t<T> words_not_normalised(const T* v, int count) {
    const T zero = broadcast<T>(0.0);
    mask_t<T> bad = zero != zero;
    each_index<word_capacity - 1, T>(0, count - 1, [&](auto i) MDQR_LAMBDA {
        bad = bad | (one_sum(v[i], v[i + 1]) != v[i]) | ((v[i] == zero) & (v[i + 1] != zero));
        return true;
    });
    return bad;
}

// The sum of a group's words as normalised doubles v[0..last], in the unit of the vector.
template <class T> MDQR_FN void words_to_doubles(const word_group<T>& words, int last, T* v) {
    words.carry(last);
    each_index<word_capacity, T>(0, last + 1, [&](auto k) MDQR_LAMBDA {
        v[k] = one_prod(from_integer<T>(words.get(k)), broadcast<T>(power_of_two(2 - 51 * k)));
        return true;
    });
    // Words of 51 bits overlap by two at most: downwards first fills every limb.
    sweep_words(v, last + 1);
    for (int pass = 0; pass <= last && any(words_not_normalised(v, last + 1)); ++pass) {
        T w[word_capacity];
        const mask_t<T> bad = words_not_normalised(v, last + 1);
        each_index<word_capacity, T>(0, last + 1, [&](auto k) MDQR_LAMBDA {
            w[k] = v[k];
            return true;
        });
        sweep_words(w, last + 1);
        each_index<word_capacity, T>(0, last + 1, [&](auto k) MDQR_LAMBDA {
            v[k] = select(bad, w[k], v[k]);
            return true;
        });
    }
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

    template <class T> MDQR_FN bool put(const T* v, int last, int lane, int i) const {
        double* out = to.data + to.offset(i, column);
        leading[i] = lane_get(v[0], lane);
        rest[i] = 0.0;
        const int p = power + int(powers[i]), e = exponent_of(leading[i]) + p;
        bool fits = e < 1020 && (!is_exact || e < no_exponent / 2 || e > -1000 + 53 * to.limbs);
        double first, second;
        split_power(p, first, second);
        for (int l = last + 1; l < to.limbs; ++l)
            out[l * to.plane] = 0.0;
        each_index<word_capacity, T>(0, last + 1, [&](auto l) MDQR_LAMBDA {
            const double word = lane_get(v[l], lane);
            if (l >= to.limbs) {
                rest[i] = abs(word);
                return false;
            }
            const double limb = fits ? word : 0.0;
            const bool vanishes = limb != 0.0 && exponent_of(limb) + p <= -1000;
            // Of limbs with gaps, the first is far above.
            fits = fits && !(is_exact && vanishes);
            out[l * to.plane] =
                limb != 0.0 && !vanishes ? one_prod(one_prod(limb, first), second) : 0.0;
            return true;
        });
        return fits;
    }
};

template <class T, class Team>
MDQR_CALL bool round_column(Team team, double* words, int last, int rows, rounded_column out,
                            double* flags) {
    constexpr int L = lanes<T>;
    const int groups = padded(rows) / L;
    team.each(groups, [&](int g) {
        T v[word_capacity];
        words_to_doubles(word_group<T>(words, g), last, v);
        bool fits = true;
        for (int l = 0; l < L && g * L + l < rows; ++l)
            fits &= out.put(v, last, l, g * L + l);
        flags[g] = fits ? 0.0 : 1.0;
    });
    return largest_of(team, flags, groups) == 0.0;
}

MDQR_END
