// Loading and storing numbers of lanes from blocks.
#pragma once
#include "level.hpp"

#include "mdqr/md.hpp"

MDQR_BEGIN

inline constexpr int host_lanes = lanes<lane>;

// Where the lanes of one group of elements lie in an operand.
struct group {
    ptrdiff_t offset[host_lanes];
    bool contiguous;
};

template <int N>
MDQR_FN md<lane, N> load_real(const block_view& x, const double* data, const group& g) {
    md<lane, N> r;
    for (int l = 0; l < N; ++l) {
        if (l >= x.limbs) {
            r.limb[l] = broadcast<lane>(0.0);
        } else if (g.contiguous) {
            r.limb[l] = load<lane>(data + l * x.plane + g.offset[0]);
        } else {
            alignas(64) double buffer[host_lanes];
            for (int i = 0; i < host_lanes; ++i)
                buffer[i] = data[l * x.plane + g.offset[i]];
            r.limb[l] = load<lane>(buffer);
        }
    }
    return r;
}

template <int N>
MDQR_FN void store_real(const block_view& x, double* data, const group& g, int count,
                        const md<lane, N>& r) {
    for (int l = 0; l < N; ++l) {
        if (g.contiguous && count == host_lanes) {
            store(data + l * x.plane + g.offset[0], r.limb[l]);
        } else {
            alignas(64) double buffer[host_lanes];
            store(buffer, r.limb[l]);
            for (int i = 0; i < count; ++i)
                data[l * x.plane + g.offset[i]] = buffer[i];
        }
    }
}

// Real or complex numbers by one name.
template <class Number> struct element_io;

template <int N> struct element_io<md<lane, N>> {
    MDQR_FN static md<lane, N> load(const block_view& x, const group& g) {
        return load_real<N>(x, x.data, g);
    }
    MDQR_FN static void store(const block_view& x, const group& g, int count,
                              const md<lane, N>& r) {
        store_real<N>(x, x.data, g, count, r);
    }
};

template <int N> struct element_io<cmd<lane, N>> {
    MDQR_FN static cmd<lane, N> load(const block_view& x, const group& g) {
        return {load_real<N>(x, x.data, g), load_real<N>(x, x.data + x.imag, g)};
    }
    MDQR_FN static void store(const block_view& x, const group& g, int count,
                              const cmd<lane, N>& r) {
        store_real<N>(x, x.data, g, count, r.re);
        store_real<N>(x, x.data + x.imag, g, count, r.im);
    }
};

// One number at an offset.
template <int N> MDQR_FN md<double, N> load_one(const block_view& x, ptrdiff_t offset) {
    md<double, N> r;
    for (int l = 0; l < N; ++l)
        r.limb[l] = l < x.limbs ? x.data[l * x.plane + offset] : 0.0;
    return r;
}

template <int N>
MDQR_FN void store_one(const block_view& x, ptrdiff_t offset, const md<double, N>& r) {
    for (int l = 0; l < N; ++l)
        x.data[l * x.plane + offset] = r.limb[l];
}

// Walk through K operands of one shape in groups of lanes; a short last group repeats its first
// element. visit(groups, count, first) may be called from any thread; `first` is the flat index of
// the group.
template <int K, class Visit>
void for_each_group(const block_view* const (&operand)[K], Visit visit) {
    const block_view& first = *operand[0];
    const ptrdiff_t size = first.size(), chunk = 512;
    auto task = [&](ptrdiff_t t) {
        cursor<K> at;
        at.shape = first.shape;
        at.ndim = first.ndim;
        for (int k = 0; k < K; ++k)
            at.stride[k] = operand[k]->stride;
        const ptrdiff_t begin = t * chunk, end = begin + chunk < size ? begin + chunk : size;
        at.seek(begin);
        group g[K];
        for (ptrdiff_t i = begin; i < end; i += host_lanes) {
            const int count = end - i < host_lanes ? int(end - i) : host_lanes;
            for (int j = 0; j < count; ++j) {
                for (int k = 0; k < K; ++k)
                    g[k].offset[j] = at.offset[k];
                at.next();
            }
            for (int k = 0; k < K; ++k) {
                bool contiguous = count == host_lanes;
                for (int j = 1; j < host_lanes; ++j) {
                    if (j >= count)
                        g[k].offset[j] = g[k].offset[0];
                    contiguous = contiguous && g[k].offset[j] == g[k].offset[0] + j;
                }
                g[k].contiguous = contiguous;
            }
            visit(g, count, i);
        }
    };
    parallel_for((size + chunk - 1) / chunk, task);
}

MDQR_END
