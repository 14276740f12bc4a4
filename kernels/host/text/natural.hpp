// Integers from 0 below 2^3072, for conversions between decimals and limbs, which are exact.
//
// Callers keep within the words: at most 1100 bits of a number, 400 digits, and powers of ten up
// to 10^400. Division is algorithm D of Knuth, volume 2, 4.3.1, with the reciprocal of Moeller and
// Granlund, "Improved division by invariant integers", 2011.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mdqr_host {

using word = std::uint64_t;
using wide = unsigned __int128;

constexpr int most_words = 48;
constexpr int most_power = 400;
constexpr int most_digits = 400;

inline int bits_of(word x) { return x ? 64 - __builtin_clzll(x) : 0; }

// The words are the lowest first; the last one is not 0.
struct natural {
    int size = 0;
    word words[most_words];

    void set(word x) {
        words[0] = x;
        size = x != 0;
    }
    bool odd() const { return size && (words[0] & 1); }
    int bits() const { return size ? 64 * (size - 1) + bits_of(words[size - 1]) : 0; }
    void trim() {
        while (size && words[size - 1] == 0)
            --size;
    }
};

// x = x m + a
inline void multiply_add(natural& x, word m, word a) {
    word carry = a;
    for (int i = 0; i < x.size; ++i) {
        const wide sum = wide(x.words[i]) * m + carry;
        x.words[i] = word(sum);
        carry = word(sum >> 64);
    }
    if (carry)
        x.words[x.size++] = carry;
}

inline void shift_left(natural& x, int count) {
    const int whole = count / 64, rest = count % 64;
    if (!x.size || !count)
        return;
    x.words[x.size] = 0;
    for (int i = x.size; i >= 0; --i) {
        const word low = i && rest ? x.words[i - 1] >> (64 - rest) : 0;
        x.words[i + whole] = x.words[i] << rest | low;
    }
    for (int i = 0; i < whole; ++i)
        x.words[i] = 0;
    x.size += whole + 1;
    x.trim();
}

// Returns whether a bit that is not 0 was lost.
inline bool shift_right(natural& x, int count) {
    const int whole = count / 64, rest = count % 64;
    bool lost = false;
    for (int i = 0; i < whole && i < x.size; ++i)
        lost |= x.words[i] != 0;
    if (whole >= x.size) {
        x.size = 0;
        return lost;
    }
    if (rest)
        lost |= (x.words[whole] << (64 - rest)) != 0;
    for (int i = whole; i < x.size; ++i) {
        const word high = rest && i + 1 < x.size ? x.words[i + 1] << (64 - rest) : 0;
        x.words[i - whole] = x.words[i] >> rest | high;
    }
    x.size -= whole;
    x.trim();
    return lost;
}

// x + (m << at), or x less that, which is not below 0; `at` is below 64 (x.size + 1).
inline void add_at(natural& x, word m, int at, bool subtract) {
    const int place = at / 64, rest = at % 64;
    const word parts[2] = {m << rest, rest ? m >> (64 - rest) : 0};
    while (x.size < place + 2)
        x.words[x.size++] = 0;
    x.words[x.size] = 0;
    word carry = 0;
    for (int i = place; i <= x.size && (i < place + 2 || carry); ++i) {
        const wide part = wide(i < place + 2 ? parts[i - place] : 0) + carry;
        const word before = x.words[i];
        x.words[i] = subtract ? before - word(part) : before + word(part);
        const bool wrapped = subtract ? x.words[i] > before : x.words[i] < before;
        carry = word(part >> 64) + wrapped;
    }
    ++x.size;
    x.trim();
}

// floor((2^128 - 1) / d) - 2^64 for d with its highest bit set.
inline word reciprocal(word d) { return word((wide(~d) << 64 | ~word(0)) / d); }

// (high, low) / d with high < d.
inline word divide_words(word high, word low, word d, word inverse, word& rest) {
    const wide found = wide(inverse) * high + (wide(high) << 64 | low);
    word quotient = word(found >> 64) + 1;
    rest = low - quotient * d;
    if (rest > word(found)) {
        --quotient;
        rest += d;
    }
    if (rest >= d) {
        ++quotient;
        rest -= d;
    }
    return quotient;
}

// 5^k shifted to the left until the highest bit of its last word is set.
struct power_of_five {
    int shift, size;
    word inverse; // of the last word
    word words[15];
};
const power_of_five& fives(int k); // 0 <= k <= most_power

inline void multiply(const natural& x, const power_of_five& y, natural& product) {
    product.size = x.size ? x.size + y.size : 0;
    for (int i = 0; i < product.size; ++i)
        product.words[i] = 0;
    for (int j = 0; j < (x.size ? y.size : 0); ++j) {
        word carry = 0;
        for (int i = 0; i < x.size; ++i) {
            const wide sum = wide(x.words[i]) * y.words[j] + product.words[i + j] + carry;
            product.words[i + j] = word(sum);
            carry = word(sum >> 64);
        }
        product.words[x.size + j] = carry;
    }
    product.trim();
}

// Returns whether x was no multiple of y; x is used up.
bool divide(natural& x, const power_of_five& y, natural& quotient);

// Digits without zeros in front, "0" for 0, and how many they are.
int write_digits(natural& x, char* text);
void read_digits(const char* text, int count, natural& x);

} // namespace mdqr_host
