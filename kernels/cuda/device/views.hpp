// How a block of limbs is handed to a CUDA kernel. Strides are in doubles, may be 0 or negative.
#pragma once
#include "mdqr/number/complex.hpp"

MDQR_BEGIN

#if !defined(MDQR_LIMBS) || !defined(MDQR_COMPLEX)
#error "mdqr: kernels are compiled with -DMDQR_LIMBS=N and -DMDQR_COMPLEX=0 or 1"
#endif
inline constexpr int limbs = MDQR_LIMBS;
using real_number = md<double, MDQR_LIMBS>;
#if MDQR_COMPLEX
using number = cmd<double, MDQR_LIMBS>;
#else
using number = md<double, MDQR_LIMBS>;
#endif

// Limb l of a value at `offset` is data[l * plane + offset], its imaginary part `imag` further;
// limbs from `held` on are zero. imag = 0: real.
struct planes {
    double* data;
    i64 plane, imag, held;
};

template <int N> MDQR_FN void load_number(const planes& x, i64 offset, md<double, N>& r) {
    static_for<0, N>(
        [&](auto l) MDQR_LAMBDA { r.limb[l] = l < x.held ? x.data[l * x.plane + offset] : 0.0; });
}
template <int N> MDQR_FN void load_number(const planes& x, i64 offset, cmd<double, N>& r) {
    load_number(x, offset, r.re);
    load_number(x, offset + x.imag, r.im);
}
template <int N> MDQR_FN void store_number(const planes& x, i64 offset, const md<double, N>& r) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { x.data[l * x.plane + offset] = r.limb[l]; });
}
template <int N> MDQR_FN void store_number(const planes& x, i64 offset, const cmd<double, N>& r) {
    store_number(x, offset, r.re);
    store_number(x, offset + x.imag, r.im);
}
template <class Number> MDQR_FN Number load_as(const planes& x, i64 offset) {
    Number r;
    load_number(x, offset, r);
    return r;
}

// Matrices (batch, rows, columns).
struct matrix_view {
    planes to;
    i64 batch, row, column;
    MDQR_FN i64 at(i64 item, i64 i, i64 j) const { return item * batch + i * row + j * column; }
};

// Values of one shape, at most `max_axes` axes; the last varies fastest.
inline constexpr int max_axes = 6;
struct array_view {
    planes to;
    i64 stride[max_axes];
};

MDQR_FN i64 offset_of(i64 flat, const i64* shape, const i64* stride) {
    i64 offset = 0;
    for (int d = max_axes - 1; d >= 0; --d) {
        const i64 rest = flat / shape[d];
        offset += (flat - rest * shape[d]) * stride[d];
        flat = rest;
        if (flat == 0)
            break;
    }
    return offset;
}

MDQR_END
