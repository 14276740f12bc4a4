// Operations of the headers at MDQR_LIMBS limbs, of operands of full width from the whole range:
// tests/host/test_limb_counts.py compares what this prints with exact rationals.
//
// A line has a name and the limbs of the operands and of the result, as hexadecimal doubles.
#include <cmath>
#include <cstdio>

#include "mdqr/digits.hpp"
#include "mdqr/number/complex.hpp"
#include "mdqr/number/compare.hpp"
#include "mdqr/number/rounding.hpp"
#include "mdqr/series.hpp"
#include "mdqr/superacc.hpp"

MDQR_BEGIN
// As the operations of panels, of which windows are made.
template <int N> md<double, N> plus(const md<double, N>& x, const md<double, N>& y) {
    return add_fast(x, y);
}
template <int N> md<double, N> multiply(const md<double, N>& x, const md<double, N>& y) {
    return mul_fast(x, y);
}
template <int N> void normalise(md<double, N>& x) { x = renormalize<N, N>(x.limb); }
MDQR_END
#include "mdqr/window.hpp"

// What the limb counts had when each was written down by hand.
template <int N, int Bits, int Result, int Residual> constexpr bool is_known() {
    return mdqr::eps_bits<N> == Bits && mdqr::result_digits<N> == Result &&
           mdqr::residual_digits<N> == Residual && mdqr::small_exponent<N> == 300 &&
           mdqr::all_normal<N> == 0x1p-500;
}
static_assert(is_known<1, 52, 3, 3>() && is_known<2, 104, 3, 5>() && is_known<4, 210, 5, 9>() &&
              is_known<8, 423, 9, 18>());
// The table of docs/explanation/contracts.md, and where bounds end.
static_assert(mdqr::quotient_bound(2) == 15 && mdqr::quotient_bound(8) == 2020815);
static_assert(mdqr::columns_suffice<16> && !mdqr::columns_suffice<17>);
static_assert(mdqr::product_bound(16) < 0x1p45 && mdqr::product_bound(19) > 0x1p53);

constexpr int N = MDQR_LIMBS;
using real = mdqr::md<double, N>;
using complex = mdqr::cmd<double, N>;

static unsigned long long state = 1;
static double next_unit() { // in [1, 2)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return 1.0 + double(state >> 12) * 0x1p-52;
}

// Limbs of 53 bits each, normalised, the first one near 2^e; with `far`, some lie farther off.
static real draw(int e, bool far) {
    real x;
    for (int i = 0; i < N; ++i) {
        const double unit = next_unit(), sign = unit < 1.5 ? 1.0 : -1.0;
        x.limb[i] = std::ldexp(sign * next_unit(), e - 54 * i - (far && i > N / 2 ? 20 : 0));
    }
    return mdqr::scale_result(mdqr::renormalize<N, N>(x.limb), 0);
}

static void put(const real& x) {
    for (const double limb : x.limb)
        std::printf(" %a", limb);
}
static void put(const complex& x) {
    put(x.re);
    put(x.im);
}
template <class... Numbers> static void line(const char* name, const Numbers&... numbers) {
    std::printf("%s", name);
    (put(numbers), ...);
    std::printf("\n");
}

static real digit_product(real x, real y) {
    constexpr int D = mdqr::result_digits<N>;
    double a[D], b[D];
    mdqr::to_digits<D, N>(x.limb, a);
    mdqr::to_digits<D, N>(y.limb, b);
    mdqr::i64 word[D + 1] = {};
    const mdqr::i64 h = mdqr::bits(mdqr::digit_split), l = mdqr::bits(mdqr::digit_rest);
    for (int k = 0; k < D; ++k)
        word[k + 1] = -mdqr::digit_bias<D, D>(k, h, l);
    mdqr::digit_multiply_add<D, D, D>(a, b, word + 1);
    mdqr::carry_words<D>(word);
    return mdqr::from_words<D, N, double>(word);
}

// The digits of residuals, of a number of at most 1.
static void cut(const real& x) {
    constexpr int D = mdqr::residual_digits<N>;
    const real lifted = mdqr::scaled(x, std::ldexp(1.0, mdqr::lifted<D>));
    double digit[D];
    mdqr::to_digits<D, N>(lifted.limb, digit);
    std::printf("cut");
    put(x);
    for (const double d : digit)
        std::printf(" %a", d);
    std::printf("\n");
}

static real exact_product(const real& x, const real& y) {
    mdqr::superacc sum;
    for (const double a : x.limb)
        for (const double b : y.limb)
            sum.add_product(a, b);
    real r;
    sum.round(r.limb);
    return r;
}

static void operate(const real& x, const real& y) {
    line("add", x, y, mdqr::add(x, y));
    line("sub", x, y, mdqr::sub(x, y));
    line("mul", x, y, mdqr::mul(x, y));
    line("div", x, y, mdqr::div(x, y));
    line("hypot", x, y, mdqr::hypot(x, y));
    line("one", mdqr::div(x, x));
    line("sqrt", x, mdqr::sqrt(x.limb[0] < 0.0 ? mdqr::neg(x) : x));
    line("rint", x, mdqr::rint(x));
    line("exact", x, y, exact_product(x, y));
}

int main() {
    std::printf("constants %d %d %d\n", mdqr::eps_bits<N>, mdqr::result_digits<N>,
                mdqr::residual_digits<N>);
    // The range from 2^-tiny on, and next to the largest double.
    const int ends[] = {0, 40, -40, 400, 900, 1010, -TINY, -TINY / 2};
    for (int e : ends)
        for (int f : ends)
            for (int far = 0; far < 2; ++far)
                operate(draw(e, far), draw(f, far));
    const real nan = mdqr::from_double<double, N>(NAN),
               infinite = mdqr::from_double<double, N>(INFINITY);
    const real special[] = {draw(0, false), draw(500, true), infinite, nan};
    for (const real& x : special) {
        line("nan", mdqr::add(x, nan));
        line("nan", mdqr::add(nan, x));
        line("nan", mdqr::sub(x, nan));
        line("nan", mdqr::mul(x, nan));
        line("nan", mdqr::div(nan, x));
        line("nan", mdqr::sub(mdqr::add(x, infinite), infinite));
    }
    for (int i = 0; i < 32; ++i) {
        const real x = draw(0, i % 2), y = draw(-i, i % 3 == 0);
        const real nearly = mdqr::add(x, draw(-40 - i, false));
        operate(x, mdqr::neg(nearly));
        const complex z{x, y}, w{nearly, draw(-3 * i, true)};
        line("complex_mul", z, w, mdqr::mul(z, w));
        line("complex_div", z, w, mdqr::div(z, w));
        // Near 1, as rows are after their scaling.
        const real p = draw(-1, i % 2), q = draw(-2, i % 3 == 0);
        line("digits", p, q, digit_product(p, q));
        // Sums of inner loops, whose leading limbs cancelled: networks take them as they are.
        if (mdqr::by_digits<N>) {
            const real rest = mdqr::add_fast(x, mdqr::neg(nearly));
            const real twice = mdqr::add_fast(rest, rest);
            line("loose", rest, y, mdqr::mul_fast(rest, y));
            line("loose", twice, rest, mdqr::mul_fast(twice, rest));
        }
        // Subnormal numbers, times so much that no bit of the product is lost.
        const real least = mdqr::from_double<double, N>(std::ldexp(1.0 + i, -1074));
        const real huge = draw(1010, i % 2);
        line("mul", least, huge, mdqr::mul(least, huge));
        cut(p);
        cut(draw(-1 - 20 * i, i % 2));
        line("inverse", p, mdqr::inverse_of(p));
        line("inverse_root", mdqr::mul(p, p), mdqr::inverse_root(mdqr::mul(p, p)));
        real sum = mdqr::from_double<double, N>(0.0);
        mdqr::add_series_term(sum, x, y);
        mdqr::finish_order(sum);
        line("mul", x, y, sum);
    }
}
