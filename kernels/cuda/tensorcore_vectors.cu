// Products of a float32 matrix with float64 vectors, in float64.
#include "floats.hpp"

MDQR_BEGIN

inline constexpr int vector_threads = 256, vector_warps = vector_threads / 32;

struct dots_arguments {
    float_matrix a;
    const double* x;
    i64 x_column;
    double* out;
    i64 out_column;
    i64 count; // of columns of x and out
    i64 sign;
    i64 keeps; // out is added to, not replaced
};

inline constexpr int dots_ahead = 8;

// The products of column j of a with Count columns of x from c0 on.
template <int Count> MDQR_FN void dots(const dots_arguments& p, i64 j, i64 c0) {
    const int lane = thread_index() % 32;
    const float* const a = p.a.data + j * p.a.column;
    const double* const x = p.x + c0 * p.x_column;
    double sum[Count] = {};
    for (i64 top = lane; top < p.a.rows; top += 32 * dots_ahead) {
        float value[dots_ahead];
        static_for<0, dots_ahead>([&](auto w) MDQR_LAMBDA {
            const i64 i = top + 32 * w;
            value[w] = i < p.a.rows ? a[i] : 0.0f;
        });
        static_for<0, dots_ahead>([&](auto w) MDQR_LAMBDA {
            const i64 i = top + 32 * w;
            if (i < p.a.rows)
                static_for<0, Count>([&](auto c) MDQR_LAMBDA {
                    sum[c] = mdqr::fma(double(value[w]), x[i + c * p.x_column], sum[c]);
                });
        });
    }
    static_for<0, Count>([&](auto c) MDQR_LAMBDA {
        for (int mask = 16; mask > 0; mask /= 2)
            sum[c] += shuffle_xor(sum[c], mask);
        if (lane == 0) {
            double& place = p.out[j + (c0 + c) * p.out_column];
            const double product = p.sign < 0 ? -sum[c] : sum[c];
            place = p.keeps ? place + product : product;
        }
    });
}

MDQR_END

// Grid: columns of a, one a warp. out = out + sign a^T x, or without the first.
MDQR_KERNEL(mdqr_tensorcore_dots, mdqr::dots_arguments, mdqr::vector_threads) {
    using namespace mdqr;
    const i64 j = block_x() * vector_warps + thread_index() / 32;
    if (j >= p.a.columns)
        return;
    i64 c = 0;
    for (; c + 4 <= p.count; c += 4)
        dots<4>(p, j, c);
    for (; c < p.count; ++c)
        dots<1>(p, j, c);
}
