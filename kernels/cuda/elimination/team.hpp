// The threads of a block as the team of mdqr/elimination.hpp: an entry each, in turn.
#pragma once
#include "device/inline_networks.hpp"

#include "panel/math.hpp"

#include "mdqr/elimination.hpp"

MDQR_BEGIN

inline constexpr int elimination_threads = 256, warp_size = 32;

// `Entries` says where entry i of vector j lies, and whether neighbours in memory are of one
// vector.
template <class Entries> struct block_team {
    int steps;
    i64 length; // of a vector
    Entries entries;

    MDQR_FN number kept(int j, int i) const { return entries.kept(j, i); }
    MDQR_FN number spread(const number& x) const { return x; }
#if MDQR_COMPLEX
    MDQR_FN real_number spread(const real_number& x) const { return x; }
#endif

    template <class F> MDQR_FN void each(int j, i64 first, F f) const {
#pragma unroll 1
        for (i64 i = first + thread_index(); i < length; i += thread_count()) {
            number x = entries.get(j, i);
            f(x);
            entries.put(j, i, x);
        }
        sync_threads();
    }
    template <class F> MDQR_FN void subtract(int j, F factor) const {
        const int first = j + 1, vectors = steps - first;
        const i64 rest = length - first;
#pragma unroll 1
        for (i64 e = thread_index(); e < vectors * rest; e += thread_count()) {
            const int c = first + int(Entries::along ? e / rest : e % vectors);
            const i64 i = first + (Entries::along ? e % rest : e / vectors);
            if (Entries::along && i < c)
                continue; // what is left of a diagonal
            number x = entries.get(c, i);
            multiply_add(x, entries.get(j, i), factor(c));
            entries.put(c, i, x);
        }
        sync_threads();
    }

    // Elimination alone.
    MDQR_FN void exchange(int j) const { entries.exchange(j, steps, length); }
    // Cholesky's alone.
    MDQR_FN void put_diagonal(int j, const real_number& root) const {
        if (thread_index() == 0)
            entries.put(j, j, from_real(root));
    }
};

MDQR_END
