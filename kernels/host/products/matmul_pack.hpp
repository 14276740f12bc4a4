// Packing: the scaled words of neighbouring elements of an operand, vector after vector.
#pragma once
#include "level/level.hpp"

#include "products/matmul_operand.hpp"

MDQR_BEGIN

// Vectors of elements: `terms` of them, and at each term those of so many neighbouring panels.
// Lanes along k are one panel, of which each term takes L more elements.
struct vectors_of {
    const operand& x;
    const double* at;
    ptrdiff_t stride;      // from lane to lane
    ptrdiff_t terms, step; // from term to term
    ptrdiff_t panels;      // neighbouring vectors of lanes
    ptrdiff_t left, taken; // lanes of the first vector and those behind; a term takes so many
    const double *first, *second; // scales: of the lanes, or one for all of them
    bool one_scale;
    int parts;
    ptrdiff_t ahead; // to what is needed soon, 0: nothing
};

// Word w of a part of term t and panel g goes to to[g * apart + ((t * parts + part) * W + w) * L].
// Returns how many words are not zero; of float64 data those behind are not written.
template <class Engine, int M, bool IsFull>
__attribute__((noinline)) int pack_held(const vectors_of& v, double* to, ptrdiff_t apart) {
    constexpr int L = lanes<lane>, W = Engine::words;
    constexpr int written = IsFull ? W : Engine::template near<M>;
    const double* p = v.at;
    lane first = broadcast<lane>(v.first[0]), second = broadcast<lane>(v.second[0]);
    const auto lift = [&]() MDQR_LAMBDA {
        if constexpr (Engine::lift != 0) {
            first = one_prod(first, broadcast<lane>(two_to(Engine::lift / 2)));
            second = one_prod(second, broadcast<lane>(two_to(Engine::lift / 2)));
        }
    };
    lift();
    int used = 0;
    for (ptrdiff_t t = 0; t < v.terms; ++t, p += v.step, to += v.parts * W * L)
        for (ptrdiff_t g = 0; g < v.panels; ++g) {
            if (!v.one_scale) {
                first = load<lane>(v.first + g * L);
                second = load<lane>(v.second + g * L);
                lift();
            }
            for (int part = 0; part < v.parts; ++part) {
                const double* from = p + g * L * v.stride + part * v.x.imag;
                for (int l = 0; v.ahead != 0 && l < M && l < v.x.limbs; ++l)
                    __builtin_prefetch(from + v.ahead + l * v.x.plane, 0, 2);
                const lane signed_second = part == 1 ? second * broadcast<lane>(v.x.sign) : second;
                lane limb[M], word[W];
                gather_scaled<M>(v.x, from, v.stride, v.left - t * v.taken - g * L, first,
                                 signed_second, limb);
                const int found = Engine::template pack<M>(limb, word);
                used = found > used ? found : used;
                double* place = to + g * apart + part * W * L;
                static_for<0, written>([&](auto w) MDQR_LAMBDA { store(place + w * L, word[w]); });
            }
        }
    return used;
}

// N: limbs to take.
template <class Engine, int N>
int pack_vectors(const vectors_of& v, double* to, ptrdiff_t apart = 0) {
    if constexpr (Engine::is_exact) {
        if (v.x.limbs == 1) {
            const int used = pack_held<Engine, 1, false>(v, to, apart);
            if (used <= Engine::template near<1>)
                return used;
            return pack_held<Engine, 1, true>(v, to, apart);
        }
        if constexpr (N > 2)
            if (v.x.limbs == 2)
                return pack_held<Engine, 2, true>(v, to, apart);
        if constexpr (N > 4)
            if (v.x.limbs <= 4)
                return pack_held<Engine, 4, true>(v, to, apart);
    }
    return pack_held<Engine, N, true>(v, to, apart);
}

MDQR_END
