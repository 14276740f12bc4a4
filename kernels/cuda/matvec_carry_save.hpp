// Sums of products along rows for N = 2, one thread a part of a row: two carry-save limbs.
//
// Carry-save, in units of u^2 sum|a||b|: T terms a thread, folded every F = 64, err by 9 + 4 (F -
// 1)
// + F (F - 1) / 2 + 3 (T / F) (kernels/host/matmul_engine.hpp has the steps), min(F, T) for F; at
// most 13 levels and 64 blocks of sums by 3 each, but no more than there are terms. With K > 32 (T
// - 1) this is within 4 (K + 8) for every K; complex: 2K terms against 0.7 of that. Nothing is
// scaled: sums that are not finite, or so small that 2^-1074 a term counts, are left to the exact
// accumulator.
#pragma once
#include "mdqr/add.hpp"

#include "matmul_range.hpp"

MDQR_BEGIN

class carry_save_sums {
public:
    static constexpr int words = parts * 3, vector_words = 0;

    MDQR_FN carry_save_sums() {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            s[part] = t[part] = size[part] = 0.0;
            total[part] = from_double<double, 2>(0.0);
        });
    }

    MDQR_FN void add(const number& x, const number& y) {
        add_terms(x, y);
        if (++terms == 64 / parts)
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

    template <int I> MDQR_FN double get() const {
        return I % 3 == 2 ? size[I / 3] : total[I / 3].limb[I % 3];
    }

private:
    double s[parts], t[parts], size[parts];
    bool seen[parts] = {};
    md<double, 2> total[parts];
    int terms = 0;

    MDQR_FN void add_terms(const md<double, 2>& x, const md<double, 2>& y) { term(0, x, y); }
    MDQR_FN void add_terms(const cmd<double, 2>& x, const cmd<double, 2>& y) {
        term(0, x.re, y.re);
        term(0, neg(x.im), y.im);
        term(parts - 1, x.re, y.im);
        term(parts - 1, x.im, y.re);
    }
    MDQR_FN void term(int part, const md<double, 2>& x, const md<double, 2>& y) {
        double p, e, f;
        two_prod(x.limb[0], y.limb[0], p, e);
        two_sum(s[part], p, s[part], f);
        t[part] =
            one_sum(t[part], one_sum(fma(x.limb[1], y.limb[0], fma(x.limb[0], y.limb[1], e)), f));
        size[part] = one_sum(size[part], abs(p));
        seen[part] = seen[part] || (x.limb[0] != 0.0 && y.limb[0] != 0.0);
    }
};

MDQR_END
