// Loading and storing numbers of lanes from blocks.
#pragma once
#include "level/level.hpp"

#include "mdqr/number/md.hpp"

MDQR_BEGIN

inline constexpr int host_lanes = lanes<lane>;

// Where the lanes of one group of elements lie in an operand.
struct group {
    ptrdiff_t offset[host_lanes];
    bool contiguous;
};

// Lanes that do not lie side by side, limb by limb.
template <int N>
__attribute__((noinline)) void gather_limbs(const block_view& x, const double* data, const group& g,
                                            lane* limb) {
    for (int l = 0; l < N && l < x.limbs; ++l) {
        alignas(64) double buffer[host_lanes];
        for (int i = 0; i < host_lanes; ++i)
            buffer[i] = data[l * x.plane + g.offset[i]];
        limb[l] = load<lane>(buffer);
    }
}

template <int N>
__attribute__((noinline)) void scatter_limbs(const block_view& x, double* data, const group& g,
                                             int count, const lane* limb) {
    for (int l = 0; l < N; ++l) {
        alignas(64) double buffer[host_lanes];
        store(buffer, limb[l]);
        for (int i = 0; i < count; ++i)
            data[l * x.plane + g.offset[i]] = buffer[i];
    }
}

template <int N>
MDQR_FN md<lane, N> load_real(const block_view& x, const double* data, const group& g) {
    md<lane, N> r;
    for (int l = 0; l < N; ++l)
        r.limb[l] = g.contiguous && l < x.limbs ? load<lane>(data + l * x.plane + g.offset[0])
                                                : broadcast<lane>(0.0);
    if (!g.contiguous) {
        md<lane, N> gathered = r;
        gather_limbs<N>(x, data, g, gathered.limb);
        r = gathered;
    }
    return r;
}

template <int N>
MDQR_FN void store_real(const block_view& x, double* data, const group& g, int count,
                        const md<lane, N>& r) {
    if (g.contiguous && count == host_lanes) {
        for (int l = 0; l < N; ++l)
            store(data + l * x.plane + g.offset[0], r.limb[l]);
    } else {
        const md<lane, N> scattered = r;
        scatter_limbs<N>(x, data, g, count, scattered.limb);
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

// Elements that a visitor is handed at a time, as groups of lanes.
inline constexpr ptrdiff_t batch = 64;
template <int K> using operand_groups = group[K];
template <int K>
using batch_visit = void (*)(void* context, const operand_groups<K>* g, ptrdiff_t elements,
                             ptrdiff_t first);

// The next `count` elements as one group an operand; a short group repeats its first element.
template <int K> MDQR_FN void next_group(cursor<K>& at, int count, group* g) {
    const int last = at.ndim - 1;
    const bool in_one_run = last >= 0 && at.index[last] + count <= at.shape[last];
    for (int k = 0; k < K && in_one_run; ++k) {
        const ptrdiff_t step = at.stride[k][last];
        for (int j = 0; j < host_lanes; ++j)
            g[k].offset[j] = at.offset[k] + (j < count ? j * step : 0);
        g[k].contiguous = count == host_lanes && (step == 1 || host_lanes == 1);
        at.offset[k] += (count - 1) * step;
    }
    if (in_one_run) {
        at.index[last] += count - 1;
        at.next();
        return;
    }
    for (int j = 0; j < count; ++j, at.next())
        for (int k = 0; k < K; ++k)
            g[k].offset[j] = at.offset[k];
    for (int k = 0; k < K; ++k) {
        g[k].contiguous = count == host_lanes;
        for (int j = 1; j < host_lanes; ++j) {
            if (j >= count)
                g[k].offset[j] = g[k].offset[0];
            g[k].contiguous = g[k].contiguous && g[k].offset[j] == g[k].offset[0] + j;
        }
    }
}

template <int K>
__attribute__((noinline)) void walk_groups(const block_view* const (&operand)[K],
                                           batch_visit<K> visit, void* context) {
    const block_view& first = *operand[0];
    const ptrdiff_t size = first.size(), chunk = mdqr_host::elements_a_task;
    const ptrdiff_t* strides[K];
    for (int k = 0; k < K; ++k)
        strides[k] = operand[k]->stride;
    const mdqr_host::merged_axes<K> axes(first.shape, first.ndim, strides);
    auto task = [&](ptrdiff_t t) {
        cursor<K> at;
        at.shape = axes.shape;
        at.ndim = axes.ndim;
        for (int k = 0; k < K; ++k)
            at.stride[k] = axes.stride[k];
        const ptrdiff_t end = (t + 1) * chunk < size ? (t + 1) * chunk : size;
        at.seek(t * chunk);
        operand_groups<K> g[batch / host_lanes];
        for (ptrdiff_t i = t * chunk; i < end; i += batch) {
            const ptrdiff_t elements = end - i < batch ? end - i : batch;
            for (ptrdiff_t j = 0; j < elements; j += host_lanes)
                next_group<K>(at, int(elements - j < host_lanes ? elements - j : host_lanes),
                              g[j / host_lanes]);
            visit(context, g, elements, i);
        }
    };
    if (size <= chunk)
        task(0); // the pool takes longer than a few numbers do
    else
        parallel_for((size + chunk - 1) / chunk, task);
}

// Walk through K operands of one shape in groups of lanes. visit(groups, count, first) may be
// called from any thread; `first` is the flat index of the group. The walk is compiled once for
// all visitors.
template <int K, class Visit>
void for_each_group(const block_view* const (&operand)[K], Visit visit) {
    walk_groups<K>(
        operand,
        [](void* context, const operand_groups<K>* g, ptrdiff_t elements, ptrdiff_t first) {
            for (ptrdiff_t j = 0; j < elements; j += host_lanes)
                (*static_cast<Visit*>(context))(
                    g[j / host_lanes], int(elements - j < host_lanes ? elements - j : host_lanes),
                    first + j);
        },
        &visit);
}

MDQR_END
