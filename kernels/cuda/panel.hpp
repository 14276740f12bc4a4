// A panel's memory: what a block of the launch keeps, and what the blocks tell each other.
//
// `blocks` blocks share the rows of one panel, and one more block makes T; a block of its own does
// both where there is one. Between two meetings a block touches only its own rows. Everything that
// all need to know - tau, 1 / (alpha - beta), the row of the diagonal - each computes from the same
// published numbers in the same order, so that one meeting a column is enough.
#pragma once
#include "device.hpp"

#include "panel_math.hpp"

MDQR_BEGIN

struct panel_arguments {
    matrix_view a, h, v, t; // v.to.data null: not wanted
    matrix_view tau;        // (batch, 1, columns)
    double* exchange;       // panel_exchange::size doubles an item
    i64* counter;           // one an item, zero
    i64 rows, columns;
    i64 blocks, rows_a_block;
    i64 in_shared; // whether a block's rows fit its shared memory
};

inline constexpr int panel_threads = 256, warp_lanes = 32;

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

// Shared memory: one number each, then arrays over the columns, then the rows.
struct panel_shared {
    static constexpr int tau = 0, inverse = 16, scratch = 32, arrays = 64;
    double* memory;
    int w, blocks;
    MDQR_FN panel_shared(double* memory, int w, int blocks)
        : memory(memory), w(w), blocks(blocks) {}
    MDQR_FN double* exponents() const { return memory + arrays; }
    // Sums over rows, later the factors made of them: plane l of column c at sums()[l * w + c].
    MDQR_FN double* sums() const { return memory + arrays + w; }
    // Of the parts of the column in work.
    MDQR_FN double* block_exponents() const { return memory + arrays + (1 + number_planes) * w; }
    MDQR_FN double* rows() const { return block_exponents() + blocks; }
    MDQR_FN number sum(int c) const {
        number r;
        set_planes(r, [&](int l) MDQR_LAMBDA { return sums()[l * w + c]; });
        return r;
    }
    MDQR_FN void set_sum(int c, const number& x) const {
        each_plane(x, [&](int l, double limb) MDQR_LAMBDA { sums()[l * w + c] = limb; });
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

// What the blocks of one item publish. Column j uses the buffer of its parity: nobody writes that
// of column j + 2 before the meeting of column j + 1, where all have read that of column j.
struct panel_exchange {
    double* first; // exponents of the columns
    double* buffer;
    i64 w, blocks;

    MDQR_FN static i64 buffer_size(i64 w, i64 blocks) {
        return number_planes * w * (blocks + 1) + blocks;
    }
    MDQR_FN static i64 size(i64 w, i64 blocks) { return w * blocks + 2 * buffer_size(w, blocks); }
    MDQR_FN panel_exchange(const panel_arguments& p, i64 item) : w(p.columns), blocks(p.blocks) {
        first = p.exchange + item * size(w, blocks);
        buffer = first + w * blocks;
    }
    MDQR_FN void turn(int j) { buffer = first + w * blocks + (j & 1) * buffer_size(w, blocks); }
    MDQR_FN double* column_exponent(int c, i64 block) const { return first + c * blocks + block; }
    MDQR_FN double* sum(int plane, int c, i64 block) const {
        return buffer + (plane * w + c) * blocks + block;
    }
    MDQR_FN double* row(int plane, int c) const {
        return buffer + number_planes * w * blocks + plane * w + c;
    }
    MDQR_FN double* exponent(i64 block) const {
        return buffer + number_planes * w * (blocks + 1) + block;
    }
};

// Threads in groups of a power of two of lanes within a warp, one group a column.
struct lane_groups {
    int group, lane, lanes;
    MDQR_FN lane_groups(int thread, int threads, int groups) {
        lanes = warp_lanes;
        while (lanes > 1 && lanes * groups > threads)
            lanes /= 2;
        group = thread / lanes;
        lane = thread % lanes;
    }
};

// The sum or maximum over the lanes of a group, in all of them: both operations commute, so that
// the lanes get the same bits.
MDQR_FN number group_sum(number x, int lanes) {
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        x = plus(x, shuffle_xor(x, mask));
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
