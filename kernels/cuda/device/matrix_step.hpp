// Steps of a matrix product by the lanes of a warp: in float64, and of bytes.
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

// r = c + a b of bytes: a 16 x 32, signed, b 32 x 8, unsigned, four along the terms in a word. Lane
// l holds words l%4 of rows l/4 and l/4 + 8 of a as the first and second number, words l%4 + 4 as
// the others, words l%4 and l%4 + 4 of column l/4 of b, and c and r as above.
MDQR_FN void matrix_multiply_add(int (&r)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                 const int (&c)[4]) {
#if defined(__CUDA_ARCH__) && MDQR_CAPABILITY >= 80
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11,%12,%13};"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),
          "r"(c[2]), "r"(c[3]));
#elif defined(__CUDA_ARCH__)
    static_for<0, 4>([&](auto part) MDQR_LAMBDA {
        constexpr int i = 2 * (part.value % 2), half = part.value / 2;
        const int first = half == 0 ? c[i] : r[i], second = half == 0 ? c[i + 1] : r[i + 1];
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0,%1}, {%2}, {%3}, {%4,%5};"
            : "=r"(r[i]), "=r"(r[i + 1])
            : "r"(a[part]), "r"(b[half]), "r"(first), "r"(second));
    });
#endif
}
#endif

MDQR_END
