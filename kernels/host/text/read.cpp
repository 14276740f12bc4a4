#include <cmath>
#include <cstring>

#include "text/decimal.hpp"

namespace mdqr_host {

namespace {

constexpr int lowest_normal = -1022, highest = 1022;
constexpr int bits_a_limb = 54, spare_bits = 72;
constexpr int longest = 1 << 16; // characters of a mantissa

double power_of_two(int exp) {
    const word bits = word(exp + 1023) << 52;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// Bits [at, at + 53) of x.
word field(const natural& x, int at) {
    const int place = at / 64, rest = at % 64;
    word bits = x.words[place] >> rest;
    if (rest && place + 1 < x.size)
        bits |= x.words[place + 1] << (64 - rest);
    return bits & ((word(1) << 53) - 1);
}

// x mod 2^at, or 2^at less that; without a branch, since the one is as likely as the other.
void keep_low(natural& x, int at, bool complement) {
    const int place = at / 64, rest = at % 64;
    const word flip = -word(complement);
    word carry = complement;
    x.size = place + (rest != 0);
    for (int i = 0; i < x.size; ++i) {
        x.words[i] = (x.words[i] ^ flip) + carry;
        carry &= x.words[i] == 0;
    }
    if (rest)
        x.words[place] &= (word(1) << rest) - 1;
    x.trim();
}

bool any_below(const natural& x, int at) {
    const int place = at / 64, rest = at % 64;
    if (rest && x.words[place] << (64 - rest))
        return true;
    for (int i = place - 1; i >= 0; --i)
        if (x.words[i])
            return true;
    return false;
}

// Takes the nearest double off x, ties to even; `negative` is the sign of x before and after.
double take_limb(natural& x, int exp, bool& negative) {
    const int at = x.bits() - 53;
    const double sign = negative ? -1.0 : 1.0;
    if (at <= 0) {
        const double limb = x.size ? sign * double(x.words[0]) * power_of_two(exp) : 0.0;
        x.size = 0;
        return limb;
    }
    word top = field(x, at);
    const bool half = x.words[(at - 1) / 64] >> (at - 1) % 64 & 1;
    const bool up = half & ((top & 1) | any_below(x, at - 1));
    keep_low(x, at, up);
    top += up;
    negative ^= up;
    return sign * double(top) * power_of_two(exp + at);
}

// Passes of FastTwoSum, which mend ties that a later limb breaks; false if so many do not.
bool normalize(double* x, int limbs) {
    for (int pass = 0; pass <= limbs; ++pass) {
        bool stable = true;
        for (int i = 0; i + 1 < limbs; ++i) {
            const double total = x[i] + x[i + 1];
            if (total != x[i]) {
                x[i + 1] -= total - x[i];
                x[i] = total;
                stable = false;
            }
        }
        if (stable)
            return true;
    }
    return false;
}

// The quotient of n 2^(64 words) and a power of one word; returns whether it was none.
bool divide_word(word n, int words, const power_of_five& power, natural& quotient) {
    word rest = 0;
    quotient.size = words + 1;
    for (int i = words; i >= 0; --i)
        quotient.words[i] =
            divide_words(rest, i == words ? n : 0, power.words[0], power.inverse, rest);
    quotient.trim();
    return rest != 0;
}

// The digits of a text, 19 at a time, and the power of ten of the last one.
struct scanned {
    const char *first = nullptr, *point = nullptr, *last = nullptr;
    word value = 0; // where there are at most 19
    int count = 0, exp = 0;
};

// Null where it is none, or longer than an int can count.
const char* scan_mantissa(const char* text, const char* end, scanned& found) {
    const char* begin = text;
    if (end - text > longest)
        end = text + longest;
    for (; text < end; ++text) {
        const unsigned digit = unsigned(*text - '0');
        if (digit < 10) {
            if (found.count == 0)
                found.first = text;
            found.count += found.count || digit;
            if (found.count <= 19)
                found.value = 10 * found.value + digit;
        } else if (*text == '.' && !found.point) {
            found.point = text;
        } else {
            break;
        }
    }
    found.last = text;
    if (text - begin == longest)
        return nullptr;
    if (found.point)
        found.exp = -int(text - found.point - 1);
    return text - begin - (found.point != nullptr) > 0 ? text : nullptr;
}

// Up to four digits behind an "e".
const char* scan_exponent(const char* text, const char* end, int& exp) {
    const bool negative = text < end && *text == '-';
    text += text < end && (*text == '-' || *text == '+');
    const char* begin = text;
    int value = 0;
    for (; text < end && unsigned(*text - '0') < 10 && text - begin < 5; ++text)
        value = 10 * value + (*text - '0');
    if (text == begin || text - begin > 4)
        return nullptr;
    exp += negative ? -value : value;
    return text;
}

void collect(const scanned& found, natural& digits) {
    if (found.count <= 19)
        return digits.set(found.value);
    char text[most_digits];
    int count = 0;
    for (const char* p = found.first; p < found.last; ++p)
        if (*p != '.')
            text[count++] = *p;
    read_digits(text, count, digits);
}

} // namespace

bool greedy_limbs(natural& x, int exp, bool inexact, bool negative, int limbs, double* out) {
    if (exp < lowest_normal || exp + x.bits() > highest)
        return false;
    for (int i = 0; i < limbs; ++i)
        out[i] = take_limb(x, exp, negative);
    if (inexact && std::fabs(out[limbs - 1]) < power_of_two(exp) * 0x1p55)
        return false;
    return normalize(out, limbs);
}

bool decimal_limbs(natural& digits, int exp, bool negative, int limbs, double* out) {
    if (exp > most_power || exp < -most_power)
        return false;
    const power_of_five& power = fives(exp < 0 ? -exp : exp);
    natural x;
    if (exp >= 0) {
        multiply(digits, power, x);
        return greedy_limbs(x, exp - power.shift, false, negative, limbs, out);
    }
    const int missing = bits_a_limb * limbs + spare_bits - digits.bits() + 64 * power.size;
    const int words = missing > 0 ? (missing + 63) / 64 : 0;
    bool inexact;
    if (digits.size == 1 && power.size == 1) {
        inexact = divide_word(digits.words[0], words, power, x);
    } else {
        shift_left(digits, 64 * words);
        inexact = divide(digits, power, x);
    }
    if (inexact) // to odd, so that later roundings are still right
        x.words[0] |= 1;
    return greedy_limbs(x, exp + power.shift - 64 * words, inexact, negative, limbs, out);
}

const char* read_decimal(const char* text, const char* end, int limbs, double* out,
                         std::ptrdiff_t stride) {
    while (text < end && is_blank(*text))
        ++text;
    const bool negative = text < end && *text == '-';
    text += text < end && (*text == '-' || *text == '+');
    scanned found;
    text = scan_mantissa(text, end, found);
    if (text && text < end && (*text | 32) == 'e')
        text = scan_exponent(text + 1, end, found.exp);
    if (!text || found.count > most_digits)
        return nullptr;
    double limb[most_limbs] = {negative ? -0.0 : 0.0};
    if (found.count) {
        natural digits;
        collect(found, digits);
        if (!decimal_limbs(digits, found.exp, negative, limbs, limb))
            return nullptr;
    }
    for (int i = 0; i < limbs; ++i)
        out[i * stride] = limb[i];
    while (text < end && is_blank(*text))
        ++text;
    return text;
}

} // namespace mdqr_host
