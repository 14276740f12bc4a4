// 1 / d and 1 / sqrt(s) by Newton's steps, each of which doubles the limbs: from the double on,
// third order in what is left, so that a step adds no more than its own rounding errors.
//
// `Arithmetic` has `product` and `sum`, and `finish` for what they leave. With those of
// `networks` both err by at most 8 u^N; far from the ends of the range.
#pragma once
#include "mdqr/number/add.hpp"
#include "mdqr/number/mul.hpp"

MDQR_BEGIN

struct networks {
    template <class Number> MDQR_FN static Number product(const Number& x, const Number& y) {
        return mul_network(x, y);
    }
    template <class Number> MDQR_FN static Number sum(const Number& x, const Number& y) {
        return add_network(x, y);
    }
    template <class Number> MDQR_FN static void finish(Number&) {}
};

template <int N, class T, int M> MDQR_FN md<T, N> with_limbs(const md<T, M>& x) {
    md<T, N> r;
    static_for<0, N>([&](auto l) MDQR_LAMBDA {
        if constexpr (l < M)
            r.limb[l] = x.limb[l];
        else
            r.limb[l] = broadcast<T>(0.0);
    });
    return r;
}

template <class Arithmetic, class T, int N> MDQR_FN md<T, N> inverse_of(const md<T, N>& d) {
    const T one = broadcast<T>(1.0);
    if constexpr (N == 1) {
        return from_double<T, 1>(one / d.limb[0]);
    } else {
        const md<T, N / 2> x = inverse_of<Arithmetic>(with_limbs<N / 2>(d));
        const md<T, N> wide = with_limbs<N>(x);
        md<T, N> e = Arithmetic::sum(from_double<T, N>(one), neg(Arithmetic::product(d, wide)));
        Arithmetic::finish(e);
        const T square = one_prod(e.limb[0], e.limb[0]);
        const md<T, N / 2> factor = add_fast(with_limbs<N / 2>(e), from_double<T, N / 2>(square));
        return Arithmetic::sum(wide, with_limbs<N>(mul_fast(x, factor)));
    }
}

template <class Arithmetic, class T, int N> MDQR_FN md<T, N> inverse_root(const md<T, N>& s) {
    const T one = broadcast<T>(1.0);
    if constexpr (N == 1) {
        return from_double<T, 1>(one / sqrt(s.limb[0]));
    } else {
        const md<T, N / 2> y = inverse_root<Arithmetic>(with_limbs<N / 2>(s));
        const md<T, N> wide = with_limbs<N>(y);
        md<T, N> e = Arithmetic::sum(from_double<T, N>(one),
                                     neg(Arithmetic::product(s, Arithmetic::product(wide, wide))));
        Arithmetic::finish(e);
        const T square = one_prod(one_prod(e.limb[0], e.limb[0]), broadcast<T>(0.375));
        const md<T, N / 2> half = scaled(with_limbs<N / 2>(e), broadcast<T>(0.5));
        const md<T, N / 2> factor = add_fast(half, from_double<T, N / 2>(square));
        return Arithmetic::sum(wide, with_limbs<N>(mul_fast(y, factor)));
    }
}

MDQR_END
