// The end of an update of float matrices: rows of R with signs that make the diagonal not negative,
// and zeros below it. Numbers are bits: nothing is rounded, and subnormal ones stay.
#include "device/device.hpp"

MDQR_BEGIN

inline constexpr int sign_threads = 256;

struct sign_arguments {
    void *data, *signs; // float32 or float64; signs are 1 and -1 of the same type
    i64 columns, row;   // of real numbers: two a complex one
    i64 parts, item, count, cleared;
};

template <class Word> struct word;
template <> struct word<unsigned> {
    static constexpr unsigned sign = 1u << 31, one = 0x3f800000u;
};
template <> struct word<unsigned long long> {
    static constexpr unsigned long long sign = 1ull << 63, one = 0x3ffull << 52;
};

// One row; those from `count` on keep their signs.
template <class Word> MDQR_FN void sign_row(const sign_arguments& p, i64 i) {
    Word* row = static_cast<Word*>(p.data) + i * p.row;
    const i64 first = i * p.parts;
    const bool within = i < p.count;
    const Word entry = within ? row[first] : Word(0);
    const Word flip = Word(entry << 1) ? entry & word<Word>::sign : Word(0);
    // Before it is written by another thread.
    sync_threads();
    if (thread_index() == 0 && within)
        static_cast<Word*>(p.signs)[i] = word<Word>::one | flip;
    for (i64 j = thread_index(); j < p.columns; j += sign_threads) {
        const Word x = j < first && j < p.cleared ? Word(0) : Word(row[j] ^ flip);
        row[j] = j == first && within && !Word(x << 1) ? Word(0) : x;
    }
}

MDQR_END

// A block a row.
MDQR_KERNEL(mdqr_float_signs, mdqr::sign_arguments, mdqr::sign_threads) {
    using namespace mdqr;
    if (p.item == 4)
        sign_row<unsigned>(p, block_x());
    else
        sign_row<unsigned long long>(p, block_x());
}
