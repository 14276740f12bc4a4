// Sums of products along rows for N = 2, one thread a part of a row: two carry-save limbs.
//
// In units of u^2 sum|a||b|: T real terms a thread, folded every F of them (min(F, T) for F), err
// by 9 + 4 (F - 1) + F (F - 1) / 2 + 3 (T / F): a1 b1 dropped 1; two fma 2 + 3; with S the sum of F
// terms the errors of the two_sums are at most u S, so their addition to the cross terms errs by 3
// + (F - 1), and t, which is below u (3 + i) S after i + 1 terms, rounds by 3 (F - 1) + F (F - 1) /
// 2 in all. And every further addition to an element by 3: 5 levels of lanes or 3 of warps (layouts
// 0 and 2), or both (1), and less than one a hundred terms for the splits. The bound is 4 (K + 8),
// complex 2.8 (K + 8) with 2K real terms. With L threads a row K > L (T - 1); L = 8 (layout 2) is
// the narrowest: F = 32, T = 32: 648 of 1024; complex, F = 12: T = 12 (6 complex terms) 131 of 137,
// T = 10: 102 of 114, T = 8: 77 of 92. Nothing is scaled: sums that are not finite, or so small
// that 2^-1074 a term counts, are left to the exact accumulator.
#pragma once
#include "mdqr/number/add.hpp"

#include "products/matmul_range.hpp"

MDQR_BEGIN

MDQR_FN bool is_nonzero(double x) { return (u64(bits(x)) << 1) != 0; }

class carry_save_sums {
public:
    static constexpr int words = parts * 3, vector_words = 2;
    // Values that a thread loads before it uses the first.
    static constexpr int ahead = MDQR_COMPLEX ? 2 : 4;
    static constexpr int fold_terms = MDQR_COMPLEX ? 6 : 32;

    MDQR_FN carry_save_sums() {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            s[part] = t[part] = size[part] = 0.0;
            total[part] = from_double<double, 2>(0.0);
        });
    }

    // += the values x, of one row, times those of the vector from y on, `step` apart; limb l of
    // part P lies at y[(2 P + l) * Plane].
    template <int Plane>
    MDQR_FN void add(const double (&x)[ahead][parts][2], int, bool conjugate, const double* y,
                     int step) {
        static_for<0, ahead>([&](auto u) MDQR_LAMBDA {
            md<double, 2> a[parts], b[parts];
            static_for<0, parts>([&](auto part) MDQR_LAMBDA {
                static_for<0, 2>([&](auto l) MDQR_LAMBDA {
                    const double limb = x[u][part][l];
                    a[part].limb[l] = part == 1 && conjugate ? -limb : limb;
                    b[part].limb[l] = y[u * step + (2 * part + l) * Plane];
                });
            });
            add_terms(a, b);
        });
        terms += ahead;
        if (terms >= fold_terms)
            fold();
    }

    MDQR_FN void fold() {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            md<double, 2> rest;
            two_sum(s[part], t[part], rest.limb[0], rest.limb[1]);
            total[part] = add_network(total[part], rest);
            s[part] = t[part] = 0.0;
            size[part] = seen[part] && size[part] == 0.0 ? 0x1p-1074 : size[part];
        });
        terms = 0;
    }

    MDQR_FN void get(double* word) const {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            word[3 * part] = total[part].limb[0];
            word[3 * part + 1] = total[part].limb[1];
            word[3 * part + 2] = size[part];
        });
    }
    // The words of two sums together.
    MDQR_FN static void join(double* x, const double* y) {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            constexpr int at = 3 * part.value;
            const md<double, 2> a{{x[at], x[at + 1]}}, b{{y[at], y[at + 1]}};
            const md<double, 2> sum = add_network(a, b);
            x[at] = sum.limb[0];
            x[at + 1] = sum.limb[1];
            x[at + 2] = one_sum(x[at + 2], y[at + 2]);
        });
    }

private:
    double s[parts], t[parts], size[parts];
    bool seen[parts] = {};
    md<double, 2> total[parts];
    int terms = 0;

    MDQR_FN void add_terms(const md<double, 2>* x, const md<double, 2>* y) {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, parts>([&](auto other) MDQR_LAMBDA {
                constexpr int P = decltype(part)::value, Q = decltype(other)::value;
                md<double, 2> left = x[P];
                if (P == 1 && Q == 1)
                    left = {{-left.limb[0], -left.limb[1]}};
                term(P == Q ? 0 : parts - 1, left, y[Q]);
            });
        });
    }
    MDQR_FN void term(int part, const md<double, 2>& x, const md<double, 2>& y) {
        double p, e, f;
        two_prod(x.limb[0], y.limb[0], p, e);
        two_sum(s[part], p, s[part], f);
        t[part] =
            one_sum(t[part], one_sum(fma(x.limb[1], y.limb[0], fma(x.limb[0], y.limb[1], e)), f));
        size[part] = one_sum(size[part], abs(p));
        seen[part] = seen[part] || (is_nonzero(x.limb[0]) && is_nonzero(y.limb[0]));
    }
};

MDQR_END
