#include <cmath>
#include <cstring>
#include <initializer_list>

#include "text/decimal.hpp"

namespace mdqr_host {

namespace {

constexpr int most_bits = 1100;
constexpr int finest = 323; // a multiple of 10^-323 is no other one's neighbour by 2^-1075
const double log10_2 = 0.30102999566398120; // rounded to a double

// |x| = man 2^exp.
struct dyadic {
    natural man;
    int exp = 0;
    bool negative = false;
};

// The exact sum of limbs; false where it is 0, not finite, subnormal in a limb or very long, or
// where a limb is not below one unit of the one before.
bool sum(const double* x, int limbs, dyadic& found) {
    word mantissas[most_limbs];
    int exponents[most_limbs], count = 0;
    bool negative[most_limbs];
    for (int i = 0; i < limbs; ++i) {
        word bits;
        std::memcpy(&bits, x + i, sizeof bits);
        const int biased = int(bits >> 52 & 0x7ff);
        if (biased == 0x7ff || (biased == 0 && (i == 0 || bits << 1)))
            return false;
        if (biased == 0)
            continue;
        mantissas[count] = (bits & ((word(1) << 52) - 1)) | word(1) << 52;
        exponents[count] = biased - 1075;
        if (count && exponents[count] + 53 > exponents[count - 1])
            return false;
        negative[count++] = bits >> 63;
    }
    found.exp = exponents[count - 1];
    found.negative = negative[0];
    if (exponents[0] - found.exp + 53 > most_bits)
        return false;
    found.man.set(mantissas[0]);
    shift_left(found.man, exponents[0] - found.exp);
    for (int i = 1; i < count; ++i)
        add_at(found.man, mantissas[i], exponents[i] - found.exp, negative[i] != negative[0]);
    return true;
}

// A number of units 10^-places: an integer, whether one half is to be added, and whether something
// below a half is.
struct scaled {
    natural whole;
    bool half, more;
};

bool scale(const natural& man, int exp, int places, scaled& out) {
    if (places > most_power || places < -most_power)
        return false;
    int shift = exp + places + 1; // for twice the number
    out.more = false;
    if (places >= 0) {
        const power_of_five& power = fives(places);
        multiply(man, power, out.whole);
        shift -= power.shift;
    } else {
        const power_of_five& power = fives(-places);
        natural x = man;
        shift += power.shift;
        if (shift > 0) {
            shift_left(x, shift);
            shift = 0;
        }
        out.more = divide(x, power, out.whole);
    }
    if (shift > 0)
        shift_left(out.whole, shift);
    else
        out.more |= shift_right(out.whole, -shift);
    out.half = out.whole.odd();
    shift_right(out.whole, 1);
    return true;
}

// Adds `amount` to digits; `length` grows or shrinks by carries, without zeros in front.
void add_small(char* text, int& length, long long amount) {
    for (int i = length - 1; i >= 0 && amount; --i) {
        long long digit = text[i] - '0' + amount;
        amount = digit >= 0 ? digit / 10 : -((9 - digit) / 10);
        text[i] = char('0' + (digit - 10 * amount));
    }
    if (amount > 0) {
        std::memmove(text + 1, text, std::size_t(length++));
        text[0] = char('0' + amount);
    }
    int zeros = 0;
    while (zeros + 1 < length && text[zeros] == '0')
        ++zeros;
    length -= zeros;
    std::memmove(text, text + zeros, std::size_t(length));
}

bool same(const double* x, const double* y, int limbs) {
    return std::memcmp(x, y, sizeof(double) * std::size_t(limbs)) == 0;
}

// Whether digits 10^-places are read as the limbs x; `known` is false where that is not told.
bool reads_back(const char* text, int length, int places, bool negative, const double* x, int limbs,
                bool& known) {
    double limb[most_limbs];
    natural digits;
    known = length <= most_digits;
    if (known) {
        read_digits(text, length, digits);
        known = digits.size && decimal_limbs(digits, -places, negative, limbs, limb);
    }
    return known && same(limb, x, limbs);
}

void store(const char* text, int length, int places, digits_text& out) {
    std::memcpy(out.text, text, std::size_t(length));
    out.leading = length - 1 - places;
    while (length > 1 && text[length - 1] == '0')
        --length;
    out.length = length;
}

// All digits of a number whose last limb is 0, which no other decimal stands for.
void exact_digits(const dyadic& value, const double* x, int limbs, digits_text& out) {
    dyadic v = value;
    int zeros = 0;
    while (!(v.man.words[zeros / 64] >> zeros % 64 & 1))
        ++zeros;
    shift_right(v.man, zeros);
    v.exp += zeros;
    const int places = v.exp < 0 ? -v.exp : 0;
    scaled found;
    if (places > finest || !scale(v.man, v.exp, places, found))
        return;
    double limb[most_limbs];
    if (!greedy_limbs(v.man, v.exp, false, v.negative, limbs, limb) || !same(limb, x, limbs))
        return;
    char text[2 * most_digits];
    store(text, write_digits(found.whole, text), places, out);
}

// How many digits at the end can be 0 in a number between low and high, of equal length.
int trailing_zeros(const char* low, const char* high, int length) {
    int equal = 0, zeros = 0;
    while (equal < length && low[equal] == high[equal])
        ++equal;
    while (zeros < length && low[length - 1 - zeros] == '0')
        ++zeros;
    return zeros >= length - equal ? zeros : length - 1 - equal;
}

struct candidates {
    char text[2 * most_digits]; // floor(|x| 10^places)
    int length, places, zeros;  // the digits at the end that need not be written
    bool half, more;
};

// The digits that may do: a multiple of 10^-places lies within half a unit of the last limb.
bool prepare(const dyadic& value, candidates& found) {
    const int half = value.exp - 1; // half a unit in the last place of the last limb is 2^half
    found.places = int(std::ceil(-(half + 1) * log10_2));
    natural above = value.man;
    shift_left(above, 1);
    natural below = above;
    add_at(above, 1, 0, false);
    add_at(below, 1, 0, true);
    scaled middle, low, high;
    if (!scale(value.man, value.exp, found.places, middle) ||
        !scale(below, half, found.places, low) || !scale(above, half, found.places, high))
        return false;
    found.half = middle.half;
    found.more = middle.more;
    const word first = middle.whole.size ? middle.whole.words[0] : 0;
    const word up = (high.whole.size ? high.whole.words[0] : 0) - first;
    const word down = first - (low.whole.size ? low.whole.words[0] : 0) - (low.half || low.more);
    found.length = write_digits(middle.whole, found.text);
    char lowest[2 * most_digits], highest[2 * most_digits];
    int low_length = found.length, high_length = found.length;
    std::memcpy(lowest, found.text, std::size_t(found.length));
    std::memcpy(highest, found.text, std::size_t(found.length));
    add_small(lowest, low_length, -(long long)(down));
    add_small(highest, high_length, (long long)(up));
    if (low_length < high_length) {
        const int missing = high_length - low_length;
        std::memmove(lowest + missing, lowest, std::size_t(low_length));
        std::memset(lowest, '0', std::size_t(missing));
    }
    found.zeros = trailing_zeros(lowest, highest, high_length);
    return true;
}

// Rounds the digits less the last `cut` ones, ties to even; returns whether it went up.
bool round_up(const candidates& c, int cut) {
    const char* rest = c.text + c.length - cut;
    const bool odd = cut < c.length && ((rest[-1] - '0') & 1);
    if (cut == 0)
        return c.half && (c.more || odd);
    if (cut > c.length || *rest != '5')
        return cut <= c.length && *rest > '5';
    bool more = c.half || c.more;
    for (int i = 1; i < cut && !more; ++i)
        more = rest[i] != '0';
    return more || odd;
}

} // namespace

void significant_digits(const double* x, int limbs, int digits, digits_text& out) {
    dyadic value;
    out.length = 0;
    if (digits > most_digits || !sum(x, limbs, value))
        return;
    int leading = int(std::floor((value.man.bits() + value.exp - 1) * log10_2)); // or one more
    for (int attempt = 0; attempt < 2; ++attempt, ++leading) {
        scaled found;
        if (!scale(value.man, value.exp, digits - 1 - leading, found))
            return;
        const bool up = found.half && (found.more || found.whole.odd());
        int length = write_digits(found.whole, out.text);
        add_small(out.text, length, up);
        if (length == digits) {
            out.length = digits;
            out.leading = leading;
            return;
        }
    }
}

void shortest_digits(const double* x, int limbs, int full, int most, digits_text& out) {
    dyadic value;
    out.length = 0;
    double limb[most_limbs] = {};
    std::memcpy(limb, x, sizeof(double) * std::size_t(limbs));
    if (!sum(x, limbs, value))
        return;
    if (most && value.man.bits() > (most - 2) / log10_2) {
        significant_digits(x, limbs, most, out);
        bool known = false;
        const bool same = out.length && reads_back(out.text, most, most - 1 - out.leading,
                                                   value.negative, limb, full, known);
        if (!known)
            out.length = 0;
        if (!same) {
            if (out.length)
                store(out.text, most, most - 1 - out.leading, out);
            return;
        }
        out.length = 0;
    }
    if (limb[full - 1] == 0.0)
        return exact_digits(value, limb, full, out);
    candidates found;
    if (!prepare(value, found))
        return;
    for (int cut = found.zeros; cut >= 0 && cut > found.zeros - 3; --cut) {
        const bool up = round_up(found, cut);
        for (const bool add : {up, !up}) {
            char text[2 * most_digits] = {'0'};
            int length = found.length > cut ? found.length - cut : 1;
            if (found.length > cut)
                std::memcpy(text, found.text, std::size_t(length));
            add_small(text, length, add);
            bool known = true;
            if (text[0] != '0' &&
                reads_back(text, length, found.places - cut, value.negative, limb, full, known))
                return store(text, length, found.places - cut, out);
            if (!known)
                return;
        }
    }
}

} // namespace mdqr_host
