// Reductions over the last axis for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
//
// The order is part of the definition: element k of a piece of 4096 goes to virtual lane k mod 8,
// the lanes are combined as ((0+4)+(2+6)) + ((1+5)+(3+7)), and the pieces are reduced again in the
// same way. It does not depend on hardware lanes or threads.
#include "level/elements.hpp"

#include "module/entries.hpp"
#include "mdqr/number/compare.hpp"
#include "mdqr/operations.hpp"
#include "level/networks.hpp"

#include <vector>

MDQR_BEGIN

constexpr int virtual_lanes = 8;
constexpr ptrdiff_t piece = 4096;

#define MDQR_REDUCE_OP(name, operation, start)                                                     \
    struct reduction_##name {                                                                      \
        template <class Number> MDQR_FN static Number combine(const Number& a, const Number& b) {  \
            return apply_##operation(a, b);                                                        \
        }                                                                                          \
        static constexpr double identity = start;                                                  \
    };
#include "mdqr/operations.def"

template <class Number> struct scalar_of;
template <class T, int N> struct scalar_of<md<T, N>> {
    using type = md<double, N>;
};
template <class T, int N> struct scalar_of<cmd<T, N>> {
    using type = cmd<double, N>;
};

template <class T, int N> MDQR_FN void set_constant(md<T, N>& x, double value) {
    x = from_double<T, N>(broadcast<T>(value));
}
template <class T, int N> MDQR_FN void set_constant(cmd<T, N>& x, double value) {
    set_constant(x.re, value);
    set_constant(x.im, 0.0);
}

// A row of numbers in memory, strided.
template <class Number> struct row_view {
    const block_view* block;
    ptrdiff_t start, stride, length;
};

// Fewer than 8 elements leave lanes empty: they take no part, so that -0 and NaN stay what they
// are.
template <class Op, class Number>
typename scalar_of<Number>::type reduce_row(const row_view<Number>& row) {
    using one = typename scalar_of<Number>::type;
    constexpr int vectors = virtual_lanes / host_lanes;
    one lane_value[virtual_lanes];
    const ptrdiff_t whole = row.length / virtual_lanes;
    auto group_at = [&](ptrdiff_t first, int count) {
        group g;
        g.contiguous = row.stride == 1 && count == host_lanes;
        for (int i = 0; i < host_lanes; ++i)
            g.offset[i] = row.start + (first + (i < count ? i : 0)) * row.stride;
        return g;
    };
    for (int v = 0; v < vectors && whole > 0; ++v) {
        Number total = element_io<Number>::load(*row.block, group_at(v * host_lanes, host_lanes));
        for (ptrdiff_t k = 1; k < whole; ++k)
            total = Op::combine(
                total, element_io<Number>::load(
                           *row.block, group_at(k * virtual_lanes + v * host_lanes, host_lanes)));
        for (int i = 0; i < host_lanes; ++i)
            lane_value[v * host_lanes + i] = lane_of(total, i);
    }
    const int rest = int(row.length - whole * virtual_lanes);
    for (int j = 0; j < rest; ++j) {
        const Number x =
            element_io<Number>::load(*row.block, group_at(whole * virtual_lanes + j, 1));
        lane_value[j] = whole > 0 ? Op::combine(lane_value[j], lane_of(x, 0)) : lane_of(x, 0);
    }
    const int used = whole > 0 ? virtual_lanes : rest;
    for (int width = virtual_lanes / 2; width > 0; width /= 2)
        for (int j = 0; j + width < used && j < width; ++j)
            lane_value[j] = Op::combine(lane_value[j], lane_value[j + width]);
    return lane_value[0];
}

template <int N>
MDQR_FN md<double, N> load_number(const block_view& x, ptrdiff_t offset, md<double, N>*) {
    return load_one<N>(x, offset);
}
template <int N>
MDQR_FN void store_number(const block_view& x, ptrdiff_t offset, const md<double, N>& r) {
    store_one<N>(x, offset, r);
}
template <int N>
MDQR_FN cmd<double, N> load_number(const block_view& x, ptrdiff_t offset, cmd<double, N>*) {
    return {load_one<N>(x, offset), load_one<N>(x, offset + x.imag)};
}
template <int N>
MDQR_FN void store_number(const block_view& x, ptrdiff_t offset, const cmd<double, N>& r) {
    store_one<N>(x, offset, r.re);
    store_one<N>(x, offset + x.imag, r.im);
}

// Offsets of row i in `out` and in `x`, whose last axis is left out.
MDQR_FN void row_offsets(const block_view& out, const block_view& x, ptrdiff_t i, ptrdiff_t& to,
                         ptrdiff_t& from) {
    cursor<2> at{out.shape, out.ndim, {out.stride, x.stride}, {}, {}};
    at.seek(i);
    to = at.offset[0];
    from = at.offset[1];
}

template <class Op, class Number> void reduce_rows(const block_view& out, const block_view& x) {
    using one = typename scalar_of<Number>::type;
    constexpr int planes = one::limbs * (sizeof(one) == sizeof(double) * one::limbs ? 1 : 2);
    const ptrdiff_t rows = out.size(), length = x.shape[x.ndim - 1], stride = x.stride[x.ndim - 1];
    const ptrdiff_t pieces = length == 0 ? 1 : (length + piece - 1) / piece;
    std::vector<double> partial(pieces > 1 ? std::size_t(rows * pieces * planes) : 0);
    // The partial results form a block of shape (rows, pieces) themselves.
    block_view parts{partial.data(),
                     one::limbs,
                     rows * pieces,
                     x.imag ? rows * pieces * one::limbs : 0,
                     0,
                     {},
                     {}};
    parallel_for(rows * pieces, [&](ptrdiff_t t) {
        ptrdiff_t to, from;
        row_offsets(out, x, t / pieces, to, from);
        const ptrdiff_t first = (t % pieces) * piece,
                        count = length - first < piece ? length - first : piece;
        one r;
        if (count <= 0)
            set_constant(r, Op::identity);
        else
            r = reduce_row<Op, Number>(row_view<Number>{&x, from + first * stride, stride, count});
        if (pieces > 1)
            store_number(parts, t, r);
        else
            store_number(out, to, r);
    });
    if (pieces == 1)
        return;
    parallel_for(rows, [&](ptrdiff_t i) {
        ptrdiff_t to, from;
        row_offsets(out, x, i, to, from);
        store_number(out, to,
                     reduce_row<Op, Number>(row_view<Number>{&parts, i * pieces, 1, pieces}));
    });
}

template <int N> void mdqr_reduce(reduce_op op, const block_view& out, const block_view& x) {
    switch (op) {
#define MDQR_REDUCE_OP(name, operation, start)                                                     \
    case reduce_op::name:                                                                          \
        return x.imag != 0 ? reduce_rows<reduction_##name, cmd<lane, N>>(out, x)                   \
                           : reduce_rows<reduction_##name, md<lane, N>>(out, x);
#include "mdqr/operations.def"
    }
}

// A long row is summed piece by piece, so that a task is short.
template <class One> void running_sums(const block_view& out, const block_view& x) {
    const int last = x.ndim - 1;
    const ptrdiff_t length = x.shape[last], step = x.stride[last], longest = 8 * piece;
    block_view row = out; // without the last axis
    row.ndim = last;
    for (ptrdiff_t first = 0; first < length; first += longest)
        parallel_for(row.size(), [&](ptrdiff_t i) {
            ptrdiff_t to, from;
            row_offsets(row, x, i, to, from);
            const ptrdiff_t end = length - first < longest ? length : first + longest;
            One total;
            if (first > 0)
                total = load_number(out, to + (first - 1) * out.stride[last],
                                    static_cast<One*>(nullptr));
            for (ptrdiff_t k = first; k < end; ++k) {
                const One term = load_number(x, from + k * step, static_cast<One*>(nullptr));
                total = k == 0 ? term : add(total, term);
                store_number(out, to + k * out.stride[last], total);
            }
        });
}

template <int N> void mdqr_cumsum(const block_view& out, const block_view& x) {
    if (x.imag != 0)
        running_sums<cmd<double, N>>(out, x);
    else
        running_sums<md<double, N>>(out, x);
}

// Two doubles away from x: between them normalised values may have any order.
MDQR_FN double two_below(double x) { return x - abs(x) * 0x1p-51 - 0x1p-1073; }

// The first maximum of x at `first` and those behind it: most are told by their leading limbs.
template <int N> class best_of_row {
public:
    best_of_row(bool maximum, const block_view& x, ptrdiff_t start)
        : x(x), data(x.data + start), step(x.stride[x.ndim - 1]), sign(maximum ? 1.0 : -1.0) {}

    ptrdiff_t find(ptrdiff_t first, ptrdiff_t end) const {
        ptrdiff_t best = first;
        for (ptrdiff_t k = first + 1; k < end && !is_nan(data[best * step]); ++k)
            best = better(best, k);
        return best;
    }

    // `best`, or a later k that is larger or NaN.
    ptrdiff_t better(ptrdiff_t best, ptrdiff_t k) const {
        const double old = sign * data[best * step], leading = sign * data[k * step];
        if (leading < two_below(old))
            return best;
        if (two_below(leading) > old)
            return k;
        const int order = compare(load_one<N>(x, data + k * step - x.data),
                                  load_one<N>(x, data + best * step - x.data));
        return order == 2 || order == int(sign) ? k : best;
    }

    bool is_broken(ptrdiff_t k) const { return is_nan(data[k * step]); }

private:
    const block_view& x;
    const double* data;
    const ptrdiff_t step;
    const double sign;
};

template <int N> void mdqr_argreduce(bool maximum, long long* out, const block_view& x) {
    const ptrdiff_t length = x.shape[x.ndim - 1], pieces = (length + piece - 1) / piece;
    block_view row = x;
    row.ndim = x.ndim - 1;
    const ptrdiff_t rows = row.size();
    std::vector<ptrdiff_t> found(size_t(rows * pieces));
    const auto row_at = [&](ptrdiff_t i) {
        ptrdiff_t from, same;
        row_offsets(row, x, i, same, from);
        return best_of_row<N>(maximum, x, from);
    };
    parallel_for(rows * pieces, [&](ptrdiff_t t) {
        const ptrdiff_t first = t % pieces * piece;
        found[size_t(t)] =
            row_at(t / pieces).find(first, length - first < piece ? length : first + piece);
    });
    for (ptrdiff_t i = 0; i < rows; ++i) {
        const best_of_row<N> values = row_at(i);
        ptrdiff_t best = found[size_t(i * pieces)];
        for (ptrdiff_t j = 1; j < pieces && !values.is_broken(best); ++j)
            best = values.better(best, found[size_t(i * pieces + j)]);
        out[i] = best;
    }
}

template void mdqr_reduce<MDQR_LIMBS>(reduce_op, const block_view&, const block_view&);
template void mdqr_cumsum<MDQR_LIMBS>(const block_view&, const block_view&);
template void mdqr_argreduce<MDQR_LIMBS>(bool, long long*, const block_view&);

MDQR_END
