// How many limbs of a block hold anything, of any limb count, real or complex.
#include "elementwise/map.hpp"

MDQR_BEGIN

struct held_arguments {
    extent all;
    array_view x;
    i64* held; // a word, 0 before the launch
};

// Values that a thread reads, `block_threads` apart: neighbouring threads read neighbouring values.
inline constexpr int thread_values = 8;

// The number of the last limb behind `found` that is not zero. Limbs are compared as bits:
// arithmetic that flushes subnormals would take these for zeros.
MDQR_FN i64 last_held(const planes& x, i64 offset, i64 found) {
    for (i64 l = x.held; l > found; --l)
        if (bits(x.data[(l - 1) * x.plane + offset]) != 0)
            return l;
    return found;
}

// Most blocks begin when the first ones have found all limbs in use, and have nothing to do.
MDQR_KERNEL(mdqr_held, held_arguments, block_threads) {
    const i64 before = load_word(p.held), first = block_x() * thread_values * block_threads;
    i64 found = before;
    for (int v = 0; v < thread_values && found < p.x.to.held; ++v) {
        const i64 i = first + v * block_threads + thread_index();
        if (i >= p.all.size)
            break;
        const i64 offset = find(i, p.all, p.x).at[0];
        found = last_held(p.x.to, offset, found);
        if (p.x.to.imag)
            found = last_held(p.x.to, offset + p.x.to.imag, found);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        const i64 other = i64(shuffle_xor(double(found), mask));
        found = other > found ? other : found;
    }
    if (thread_index() % 32 == 0 && found > before)
        atomic_max(p.held, found);
}

MDQR_END
