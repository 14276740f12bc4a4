// Triples and their software_fma, as hexadecimal doubles: tests/host/test_software_fma.py compares
// what this prints with exact rationals.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "mdqr/number/software_fma.hpp"

static unsigned long long state = 1;
static unsigned long long next_word() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state ^ state >> 29;
}

// Any bits at all, or near 2^e.
static double draw(int e, bool any) {
    const unsigned long long word = next_word();
    double x;
    std::memcpy(&x, &word, sizeof x);
    if (any)
        return x;
    return std::ldexp((word & 1 ? -1.0 : 1.0) * (1.0 + double(word >> 12) * 0x1p-52), e);
}

int main() {
    for (int i = 0; i < 20000; ++i) {
        const int e = i % 7 == 0 ? -530 : i % 5 == 0 ? 505 : 0;
        const bool any = i % 11 == 0;
        const double a = draw(e, any), b = draw(e + int(next_word() % 40) - 20, any);
        const double near = a * b * (1.0 + 0x1p-52 * double(int(next_word() % 9) - 4));
        const int apart = int(next_word() % 240) - 120;
        const double c = i % 3 == 0 ? -near : i % 3 == 1 ? std::ldexp(near, apart) : draw(e, any);
        std::printf("%a %a %a %a\n", a, b, c, mdqr::software_fma(a, b, c));
    }
    const double special[] = {0.0, -0.0, 1.0, -1.0, 0x1p-1074, 0x1p-537, INFINITY, -INFINITY, NAN};
    for (const double a : special)
        for (const double b : special)
            for (const double c : special)
                std::printf("%a %a %a %a\n", a, b, c, mdqr::software_fma(a, b, c));
}
