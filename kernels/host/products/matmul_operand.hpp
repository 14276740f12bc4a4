// The two sides of a product as rows of length k: their scales, and the gathering of their limbs.
//
// The product is formed as P S^T with the rows of P in lanes and the rows of S as scalars; which of
// a and b^T is P depends on the shape. Rows are divided by 2^(e+1), e the exponent of the row's
// maximum, so that no product leaves the range.
#pragma once
#include "level/level.hpp"

#include "mdqr/number/contract.hpp"

MDQR_BEGIN

struct operand {
    const double* data;
    int limbs;
    ptrdiff_t plane, imag; // imag == 0: real
    ptrdiff_t batch, row, step;
    double sign; // of the imaginary parts: -1 if conjugated

    MDQR_FN const double* at(ptrdiff_t item, ptrdiff_t r, ptrdiff_t k) const {
        return data + item * batch + r * row + k * step;
    }
};

MDQR_FN operand rows_of(const block_view& v, bool conjugate) {
    return {v.data,      v.limbs,     v.plane,     v.imag,
            v.stride[0], v.stride[1], v.stride[2], conjugate ? -1.0 : 1.0};
}
MDQR_FN operand columns_of(const block_view& v, bool conjugate) {
    return {v.data,      v.limbs,     v.plane,     v.imag,
            v.stride[0], v.stride[2], v.stride[1], conjugate ? -1.0 : 1.0};
}

// A full vector of a strided sequence.
MDQR_FN lane gather_all(const double* p, ptrdiff_t stride) {
#if MDQR_HOST_LANES == 8
    return lane{p[0],          p[stride],     p[2 * stride], p[3 * stride],
                p[4 * stride], p[5 * stride], p[6 * stride], p[7 * stride]};
#elif MDQR_HOST_LANES == 4
    return lane{p[0], p[stride], p[2 * stride], p[3 * stride]};
#elif MDQR_HOST_LANES == 2
    return lane{p[0], p[stride]};
#else
    static_assert(lanes<lane> == 1, "a vector of another length is gathered lane by lane");
    return load<lane>(p);
#endif
}

// Elements [0, count) of a strided sequence, fewer than there are lanes; the others are 0.
inline lane gather_some(const double* p, ptrdiff_t stride, ptrdiff_t count) {
    double x[lanes<lane>] = {};
    for (ptrdiff_t i = 0; i < count; ++i)
        x[i] = p[i * stride];
    return load<lane>(x);
}

MDQR_FN lane gather(const double* p, ptrdiff_t stride, ptrdiff_t count) {
    if (count < lanes<lane>)
        return gather_some(p, stride, count);
    return stride == 1 ? load<lane>(p) : gather_all(p, stride);
}

MDQR_FN void scatter(double* p, ptrdiff_t stride, ptrdiff_t count, lane x) {
    if (count >= lanes<lane> && stride == 1) {
        store(p, x);
        return;
    }
    double y[lanes<lane>];
    store(y, x);
    const ptrdiff_t n = count < lanes<lane> ? count : lanes<lane>;
    for (ptrdiff_t i = 0; i < n; ++i)
        p[i * stride] = y[i];
}

MDQR_FN u64 magnitude_bits(double x) { return u64(bits(x)) & 0x7fffffffffffffffULL; }
inline constexpr u64 infinity_bits = 0x7ff0000000000000ULL;

// Scales of up to `capacity` rows. first * second = 2^-(e+1), both normal.
struct row_scales {
    static constexpr int capacity = 128;
    u64 peak_bits[capacity];
    ptrdiff_t peak[capacity]; // first k where the row has its maximal exponent
    int e[capacity]; // exponent of the maximum; 0 for zero rows and rows that are not finite
    bool finite[capacity];
    double first[capacity], second[capacity];
    bool all_finite;
};

// The maxima of rows [r0, r0 + rows), and the scales that follow from them.
void scan_rows(const operand& x, ptrdiff_t item, ptrdiff_t r0, ptrdiff_t rows, ptrdiff_t k,
               row_scales& s);

// Where each row has its maximal exponent.
void find_peaks(const operand& x, ptrdiff_t item, ptrdiff_t r0, ptrdiff_t rows, ptrdiff_t k,
                row_scales& s);

// limb[0..N) of `count` elements from p on (`stride` apart), scaled.
template <int N>
MDQR_FN void gather_scaled(const operand& x, const double* p, ptrdiff_t stride, ptrdiff_t count,
                           lane first, lane second, lane* limb) {
    // One test for all limbs.
    auto fill = [&](auto take) MDQR_LAMBDA {
        static_for<0, N>([&](auto i) MDQR_LAMBDA {
            limb[i] = i < x.limbs ? one_prod(one_prod(take(p + i * x.plane), first), second)
                                  : broadcast<lane>(0.0);
        });
    };
    if (count < lanes<lane>)
        fill([&](const double* q) { return gather_some(q, stride, count); });
    else if (stride == 1)
        fill([&](const double* q) MDQR_LAMBDA { return load<lane>(q); });
    else
        fill([&](const double* q) MDQR_LAMBDA { return gather_all(q, stride); });
}

// r 2^(e+f) in each lane. Underflow rounds once: what the first factor cuts off is below 2^-1075
// after the second.
template <int N> MDQR_FN md<lane, N> unscaled(md<lane, N> r, const int* e, int f) {
    constexpr int L = lanes<lane>;
    double first[L], second[L];
    for (int i = 0; i < L; ++i) {
        // The limits only move what is certain to overflow or to vanish.
        int t = e[i] + f;
        t = t > 2046 ? 2046 : t < -1991 ? -1991 : t;
        const int head = t > 1023 ? 1023 : t < -1022 ? -969 : t;
        first[i] = power_of_two(head);
        second[i] = power_of_two(t - head);
    }
    const lane a = load<lane>(first), b = load<lane>(second), zero = broadcast<lane>(0.0);
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = one_prod(one_prod(r.limb[i], a), b); });
    const mask_t<lane> overflow = !(abs(r.limb[0]) < broadcast<lane>(infinity()));
    if (any(overflow))
        static_for<1, N>([&](auto i)
                             MDQR_LAMBDA { r.limb[i] = select(overflow, zero, r.limb[i]); });
    md<lane, N> s = r;
    // Carries of limbs that turned subnormal may run up; normalised lanes stay as they are.
    if (any(abs(r.limb[0]) < broadcast<lane>(all_normal<N>)))
        s = renormalize<N, N>(s.limb);
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        r.limb[i] = one_sum(select(overflow, r.limb[i], s.limb[i]), zero);
    });
    return r;
}

MDQR_END
