// A panel's memory: what a block of the launch keeps, and what the blocks tell each other.
//
// `blocks` blocks share the rows of one panel, and one more block makes T and R; a block of its own
// does everything where there is one. Between two grid barriers a block touches only its own rows.
// With -DMDQR_IN_TURN a launch has fewer blocks, and each takes several of these in turn: what is
// summed with what does not depend on the device.
// What all need to know - the root, 1 / (alpha - beta), the sizes of the columns - each computes
// from the same numbers in the same order, so that one barrier a column is enough.
//
// Sums over the rows are integers: x and y divided by the powers of two next to their norms, cut to
// digits (panel/digits.hpp). Blocks add theirs to words in global memory, in any order.
#pragma once
#include "device/device.hpp"

#include "panel/math.hpp"

MDQR_BEGIN

struct panel_arguments {
    matrix_view a, h, v, t; // v.to.data null: not wanted
    matrix_view tau;        // (batch, 1, columns)
    double* exchange;       // panel_exchange::size doubles an item
    i64* counter;           // panel_exchange::counters words an item, zero
    i64 rows, columns;
    i64 blocks, rows_a_block;
    i64 in_shared; // whether a block's rows fit its shared memory
    i64 group;     // blocks of the launch for an item
};

inline constexpr int panel_threads = 256, warp_lanes = 32;
#if defined(MDQR_IN_TURN)
inline constexpr bool in_turn = true;
#else
inline constexpr bool in_turn = false;
#endif
// Blocks of so many threads that the registers of a multiprocessor must suffice for.
inline constexpr int panel_blocks = in_turn ? 1 : number_planes <= 2 ? 3 : limbs <= 2 ? 2 : 1;

// Number (c, i) of a block's rows: limb l at data[l * plane + c * column + i * row].
struct panel_rows {
    planes to;
    i64 column, row;
    MDQR_FN number get(int c, i64 i) const {
        number r;
        fetch(c * column + i * row, r);
        return r;
    }
    MDQR_FN void put(int c, i64 i, const number& x) const {
        store_number(to, c * column + i * row, x);
    }

private:
    template <int N> MDQR_FN void fetch(i64 offset, md<double, N>& r) const {
        static_for<0, N>([&](auto l) MDQR_LAMBDA { r.limb[l] = to.data[l * to.plane + offset]; });
    }
    template <int N> MDQR_FN void fetch(i64 offset, cmd<double, N>& r) const {
        fetch(offset, r.re);
        fetch(offset + to.imag, r.im);
    }
};

// The planes of a number, in order.
template <int N, class F> MDQR_FN void each_plane(const md<double, N>& x, F&& f, int first = 0) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { f(first + l, x.limb[l]); });
}
template <int N, class F> MDQR_FN void each_plane(const cmd<double, N>& x, F&& f) {
    each_plane(x.re, f);
    each_plane(x.im, f, N);
}
template <int N, class F> MDQR_FN void set_planes(md<double, N>& x, F&& f, int first = 0) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { x.limb[l] = f(first + l); });
}
template <int N, class F> MDQR_FN void set_planes(cmd<double, N>& x, F&& f) {
    set_planes(x.re, f);
    set_planes(x.im, f, N);
}

// Shared memory: scalars, then arrays over the columns, the column in work, and the rows.
struct panel_shared {
    static constexpr int room = total_digits <= 24 ? 24 : 40; // of a scalar
    static_assert(total_digits <= room && number_planes <= room, "a scalar has more words");
    static constexpr int below = 0, stale = 1, inverse = 8, tau = inverse + room;
    static constexpr int arrays = tau + room + 8;
    // Digits of the column in work, where sums are formed of them.
    static constexpr int pivot_digits = sums_in_digits ? total_digits : 0;
    static constexpr int pivot_words = number_planes + pivot_digits;
    double* memory;
    int w;
    MDQR_FN panel_shared(double* memory, int w) : memory(memory), w(w) {}

    // The power of two that column c of the panel was divided by.
    MDQR_FN double& exponent(int c) const { return memory[arrays + c]; }
    // What is left of column c below the rows that are done: its squared norm is size * 4^base;
    // `first` is the size when it was measured, 0 where nothing is left.
    MDQR_FN double& base(int c) const { return memory[arrays + w + c]; }
    MDQR_FN double& size(int c) const { return memory[arrays + 2 * w + c]; }
    MDQR_FN double& first(int c) const { return memory[arrays + 3 * w + c]; }
    // What is left of column c, divided by 2^power(c), has a norm between 1/4 and 1/2.
    MDQR_FN int power(int c) const { return int(bits(memory[arrays + 4 * w + c])); }
    MDQR_FN void set_power(int c) const {
        // Downdating may have left the size too low by 2^-28 of it: the power must not be.
        const int top = mdqr::exponent(one_prod(size(c), 1.0 + 0x1p-16));
        const int e = first(c) == 0.0 ? 0 : int(base(c)) + ((top + 4) >> 1);
        memory[arrays + 4 * w + c] = from_bits(e);
    }
    // The sums of column c, and its element on the row of the diagonal.
    MDQR_FN double* sums(int c) const { return memory + arrays + 5 * w + c * scalar_words; }
    MDQR_FN double* row(int c) const { return sums(w) + c * scalar_words; }
    MDQR_FN double* pivot() const { return row(w) + number_planes * w; }

    // Plane l of the factor of column c at l * w + c.
    MDQR_FN number factor(int c) const {
        number r;
        set_planes(r, [&](int l) MDQR_LAMBDA { return row(w)[l * w + c]; });
        return r;
    }
    MDQR_FN void set_factor(int c, const number& x) const {
        each_plane(x, [&](int l, double limb) MDQR_LAMBDA { row(w)[l * w + c] = limb; });
    }
    MDQR_FN number scalar(int at) const {
        number r;
        set_planes(r, [&](int l) MDQR_LAMBDA { return memory[at + l]; });
        return r;
    }
    MDQR_FN void set_scalar(int at, const number& x) const {
        each_plane(x, [&](int l, double limb) MDQR_LAMBDA { memory[at + l] = limb; });
    }
};

// What the blocks of one item publish. Nobody adds to the sums of column j before the barrier of
// column j - 1, and nobody reads them after that of column j + 1; those of column j + 2 are cleared
// between these two. A row is read between two barriers, and written two columns later.
struct panel_exchange {
    static constexpr int line = 16; // words that keep the counter to itself
    double* sizes;
    i64* counter; // of barriers; then sums
    int w, blocks;

    MDQR_FN static i64 column_digits(i64 w) { return w * total_digits; }
    MDQR_FN static i64 counters(i64 w) { return line + 3 * (column_digits(w) + 1); }
    MDQR_FN static i64 size(const panel_arguments& p) {
        const i64 pivots = p.in_shared ? 0 : p.blocks * pivot_size(p);
        return p.blocks == 1 ? pivots : 2 * p.columns * (p.blocks + scalar_words) + pivots;
    }
    MDQR_FN static i64 pivot_size(const panel_arguments& p) {
        return panel_shared::pivot_words * p.rows_a_block;
    }
    MDQR_FN panel_exchange(const panel_arguments& p, i64 item)
        : w(int(p.columns)), blocks(int(p.blocks)) {
        sizes = p.exchange + item * size(p);
        counter = p.counter + item * counters(w);
    }
    MDQR_FN double* pivot(const panel_arguments& p, i64 block) const {
        return sizes + (blocks == 1 ? 0 : 2 * w * (blocks + scalar_words)) + block * pivot_size(p);
    }
    MDQR_FN double* column_size(int c, i64 block) const { return sizes + 2 * (c * blocks + block); }
    MDQR_FN double* row_of(int j) const {
        return sizes + 2 * w * blocks + (j & 1) * w * scalar_words;
    }
    // Word k of column c at c * total_digits + k; behind them, how many warps saw a number that is
    // not zero below the diagonal.
    MDQR_FN i64* sums_of(int j) const { return counter + line + j % 3 * (column_digits(w) + 1); }
};

// Threads in groups of a power of two of lanes within a warp, one group a column.
struct lane_groups {
    int group, lane, lanes;
    // Divisions by a number that is not constant take longer than some of the sums.
    MDQR_FN lane_groups(int thread, int shift)
        : group(thread >> shift), lane(thread & ((1 << shift) - 1)), lanes(1 << shift) {}
    MDQR_FN static int shift_of(int threads, int groups, int most = 5) {
        int shift = 0;
        while (shift < most && groups << (shift + 1) <= threads)
            ++shift;
        return shift;
    }
};

// The sum or maximum over the lanes of a group, in all of them: the operations commute, so that the
// lanes get the same bits.
MDQR_FN number group_sum(number x, int lanes) {
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        x = plus(x, shuffle_xor(x, mask));
    return x;
}
template <int M> MDQR_FN words<M> group_sum(words<M> x, int lanes) {
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        static_for<0, M>([&](auto k) MDQR_LAMBDA {
            x.w[k] = wrapping_add(x.w[k], bits(shuffle_xor(from_bits(x.w[k]), mask)));
        });
    return x;
}
MDQR_FN double group_peak(double x, int lanes) {
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        x = larger(x, shuffle_xor(x, mask));
    return x;
}
MDQR_FN int group_maximum(int e, int lanes) {
    double x = double(e);
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        const double other = shuffle_xor(x, mask);
        x = other > x ? other : x;
    }
    return int(x);
}

MDQR_END
