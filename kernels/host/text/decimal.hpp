// Decimals to limbs and back, exactly; what is rarer than numbers of ordinary size and length is
// left to mdqr/_convert, which gives the same limbs and the same digits.
#pragma once
#include "text/natural.hpp"

namespace mdqr_host {

constexpr int most_limbs = 16;

// The greedy limbs (mdqr/_limbs/exact.py) of x 2^exp, where `inexact` says that the lowest bit of x
// stands for more bits behind it; x is used up. False where that does not decide the rounding, or
// near the ends of the range.
bool greedy_limbs(natural& x, int exp, bool inexact, bool negative, int limbs, double* out);

// The greedy limbs of digits 10^exp; false as above, or beyond the powers of ten that are there.
bool decimal_limbs(natural& digits, int exp, bool negative, int limbs, double* out);

// Reads a decimal at the beginning of [text, end), with blanks around it; returns where it ends,
// null where it is none that is read here. Limb i goes to out[i stride].
const char* read_decimal(const char* text, const char* end, int limbs, double* out,
                         std::ptrdiff_t stride);

// Blanks are those of Python's str.strip, but for the newline.
inline bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n') || (c >= 0x1c && c <= 0x1f);
}

// Significant digits, "1" and "25" for 125: the first one stands for 10^leading. A length of 0 says
// that they are to be found elsewhere.
struct digits_text {
    int length = 0, leading = 0;
    char text[2 * most_digits + 40];
};

// `digits` significant digits, ties to even.
void significant_digits(const double* x, int limbs, int digits, digits_text& out);

// The fewest digits that read back to the same `full` limbs, of those the nearest. Where `most` is
// not 0, what takes more is rounded to so many.
void shortest_digits(const double* x, int limbs, int full, int most, digits_text& out);

} // namespace mdqr_host
