// Single elements of a product, for one level and all limb counts: see matmul_exact.hpp.
#include "level.hpp"

#include "matmul_exact.hpp"

MDQR_BEGIN

// acc += sign * x y over all limbs.
MDQR_FN void add_limb_products(superacc& acc, const operand& p, const double* x, const operand& s,
                               const double* y, double sign) {
    if (*x == 0.0 || *y == 0.0)
        return;
    for (int i = 0; i < p.limbs; ++i)
        for (int j = 0; j < s.limbs; ++j)
            acc.add_product(sign * x[i * p.plane], y[j * s.plane]);
}

void add_exact_row(superacc& acc, const product_problem& x, ptrdiff_t item, ptrdiff_t p0,
                   ptrdiff_t s0, ptrdiff_t part, double sign) {
    for (ptrdiff_t k = 0; k < x.k; ++k) {
        const double *p = x.p.at(item, p0, k), *s = x.s.at(item, s0, k);
        if (!x.is_complex) {
            add_limb_products(acc, x.p, p, x.s, s, sign);
        } else if (part == 0) {
            add_limb_products(acc, x.p, p, x.s, s, sign);
            add_limb_products(acc, x.p, p + x.p.imag, x.s, s + x.s.imag,
                              -sign * x.p.sign * x.s.sign);
        } else {
            add_limb_products(acc, x.p, p, x.s, s + x.s.imag, sign * x.s.sign);
            add_limb_products(acc, x.p, p + x.p.imag, x.s, s, sign * x.p.sign);
        }
    }
}

double special_row(const product_problem& x, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t s0,
                   ptrdiff_t part) {
    double sum = 0.0;
    auto term = [&](double a, double b) {
        if (!is_finite(a) || !is_finite(b))
            sum = one_sum(sum, one_prod(a, b));
    };
    for (ptrdiff_t k = 0; k < x.k; ++k) {
        const double *p = x.p.at(item, p0, k), *s = x.s.at(item, s0, k);
        if (!x.is_complex) {
            term(*p, *s);
            continue;
        }
        const double a = *p, b = p[x.p.imag] * x.p.sign, c = *s, d = s[x.s.imag] * x.s.sign;
        if (part == 0) {
            term(a, c);
            term(-b, d);
        } else {
            term(a, d);
            term(b, c);
        }
    }
    return sum;
}

MDQR_END
