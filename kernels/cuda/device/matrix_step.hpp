// A step of a matrix product by the lanes of a warp, in float64.
#pragma once
#include "device/device.hpp"

MDQR_BEGIN

// c += a b with a 16 x 4, b 4 x 8 and c 16 x 8 spread over a warp: lane l holds a[l/4][l%4] and
// a[l/4 + 8][l%4], b[l%4][l/4], and c[l/4 + 8 (i/2)][2 (l%4) + i%2] as number i. By the units of
// each thread, in the order of the terms.
MDQR_FN void multiply_add_by_lanes(double (&c)[4], double a0, double a1, double b) {
    const int lane = thread_index() % 32, row = lane / 4 * 4, column = lane % 4 * 8;
    static_for<0, 4>([&](auto k) MDQR_LAMBDA {
        const double x0 = shuffle(a0, row + k), x1 = shuffle(a1, row + k);
        const double y0 = shuffle(b, column + k), y1 = shuffle(b, column + 4 + k);
        c[0] = fma(x0, y0, c[0]);
        c[1] = fma(x0, y1, c[1]);
        c[2] = fma(x1, y0, c[2]);
        c[3] = fma(x1, y1, c[3]);
    });
}

#if !defined(MDQR_EMULATE)
// The same by the FP64 tensor cores, which devices have from compute capability 8.0 on.
MDQR_FN void matrix_multiply_add(double (&c)[4], double a0, double a1, double b) {
#if !defined(__CUDA_ARCH__) || MDQR_CAPABILITY < 80
    multiply_add_by_lanes(c, a0, a1, b);
#elif MDQR_CAPABILITY >= 90
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a0), "d"(a1), "d"(b));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a0), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[2]), "+d"(c[3])
        : "d"(a1), "d"(b));
#endif
}
#endif

MDQR_END
