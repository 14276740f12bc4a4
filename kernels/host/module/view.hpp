// How a block of limbs is handed to a kernel. Shared by all levels: no lanes, no templates.
#pragma once
#include <cstddef>

namespace mdqr_host {

using std::ptrdiff_t;

constexpr int max_ndim = 64; // of NumPy

constexpr int find_largest_limb_count() {
    int largest = 0;
#define MDQR_LIMB_COUNT(n) largest = n > largest ? n : largest;
#include "mdqr/limb_counts.def"
    return largest;
}
constexpr int largest_limb_count = find_largest_limb_count();

// Of elementwise calls: no more are computed by the caller's thread alone, without the pool.
constexpr ptrdiff_t elements_a_task = 512;

// The values have `shape`; limb l of the value at index i starts at data[l * plane + sum(i *
// stride)], its imaginary part at the same place plus `imag`. Strides are in doubles and may be 0
// or negative.
struct block_view {
    double* data;
    int limbs;
    ptrdiff_t plane;
    ptrdiff_t imag; // 0 for real values
    int ndim;
    ptrdiff_t shape[max_ndim];
    ptrdiff_t stride[max_ndim];

    ptrdiff_t size() const {
        ptrdiff_t n = 1;
        for (int i = 0; i < ndim; ++i)
            n *= shape[i];
        return n;
    }
};

// The same for int64 values without limbs.
struct index_view {
    long long* data;
    int ndim;
    ptrdiff_t shape[max_ndim];
    ptrdiff_t stride[max_ndim];
};

// Where a call for small systems writes: x and bounds of its errors (batch, n, k), the rest
// (batch,).
struct small_outputs {
    const block_view* x;
    double* error;
    double* condition;
    long long* steps;
    long long* status;
};

// The axes of K operands of one shape, those as one that follow each other in memory in all of
// them.
template <int K> struct merged_axes {
    int ndim = 0;
    ptrdiff_t shape[max_ndim], stride[K][max_ndim];

    merged_axes(const ptrdiff_t* lengths, int count, const ptrdiff_t* const (&strides)[K]) {
        for (int d = 0; d < count; ++d) {
            if (lengths[d] == 1)
                continue;
            bool follows = ndim > 0;
            for (int k = 0; k < K; ++k)
                follows = follows && stride[k][ndim - 1] == lengths[d] * strides[k][d];
            if (follows)
                shape[ndim - 1] *= lengths[d];
            else
                shape[ndim++] = lengths[d];
            for (int k = 0; k < K; ++k)
                stride[k][ndim - 1] = strides[k][d];
        }
    }
};

// Row-major position: `offset[k]` follows the index for each of K operands of the same shape.
template <int K> struct cursor {
    const ptrdiff_t* shape;
    int ndim;
    const ptrdiff_t* stride[K];
    ptrdiff_t index[max_ndim];
    ptrdiff_t offset[K];

    void seek(ptrdiff_t flat) {
        for (int k = 0; k < K; ++k)
            offset[k] = 0;
        for (int d = ndim - 1; d >= 0; --d) {
            index[d] = flat % shape[d];
            flat /= shape[d];
            for (int k = 0; k < K; ++k)
                offset[k] += index[d] * stride[k][d];
        }
    }

    void next() {
        for (int d = ndim - 1; d >= 0; --d) {
            for (int k = 0; k < K; ++k)
                offset[k] += stride[k][d];
            if (++index[d] < shape[d])
                return;
            for (int k = 0; k < K; ++k)
                offset[k] -= shape[d] * stride[k][d];
            index[d] = 0;
        }
    }
};

} // namespace mdqr_host
