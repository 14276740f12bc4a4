// Products of a float32 matrix with float64 vectors, in float64; how far its columns are from
// orthonormal, by eight vectors of random signs; and inverses of small triangles.
#include "device/floats.hpp"

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

// -- vectors of signs ----------------------------------------------------------------------------

inline constexpr int probes = 8, image_columns = 256, departure_columns = 4;

struct images_arguments {
    float_matrix a;
    double* parts; // [blocks of 256 columns][8][rows]
};
struct departures_arguments {
    float_matrix a;
    const double* image; // [8][rows]
    double* out;         // an entry a column
};

// Bits of column j of the matrix of signs, by the mixing function of G. Steele, D. Lea and C. Flood
// 2014.
MDQR_FN u64 signs_of(i64 j) {
    u64 z = (u64(j) + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
MDQR_FN double sign_of(u64 signs, int c) { return signs >> c & 1 ? 1.0 : -1.0; }

// The squares of the lengths of rows j0 to j0 + 3 of A^T image - signs.
MDQR_FN void departures(const departures_arguments& p, i64 j0, double* shared) {
    constexpr int count = departure_columns * probes;
    double sum[count] = {};
    for (i64 i = thread_index(); i < p.a.rows; i += vector_threads) {
        double y[probes];
        static_for<0, probes>([&](auto c) MDQR_LAMBDA { y[c] = p.image[i + c * p.a.rows]; });
        static_for<0, departure_columns>([&](auto w) MDQR_LAMBDA {
            const double x = p.a.has(i, j0 + w) ? double(p.a.at(i, j0 + w)) : 0.0;
            static_for<0, probes>([&](auto c) MDQR_LAMBDA {
                double& place = sum[w * probes + c];
                place = mdqr::fma(x, y[c], place);
            });
        });
    }
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    static_for<0, count>([&](auto e) MDQR_LAMBDA {
        for (int mask = 16; mask > 0; mask /= 2)
            sum[e] += shuffle_xor(sum[e], mask);
        if (lane == 0)
            shared[warp * count + e] = sum[e];
    });
    sync_threads();
    const i64 j = j0 + thread_index();
    if (thread_index() >= departure_columns || j >= p.a.columns)
        return;
    const u64 signs = signs_of(j);
    double square = 0.0;
    for (int c = 0; c < probes; ++c) {
        double all = -sign_of(signs, c);
        for (int w = 0; w < vector_warps; ++w)
            all += shared[w * count + thread_index() * probes + c];
        square = mdqr::fma(all, all, square);
    }
    p.out[j] = square;
}

// -- triangles -----------------------------------------------------------------------------------

inline constexpr int triangle_order = 64, triangle_stride = triangle_order + 1;
// Row i of a triangle whose rows follow each other without what is left of the diagonal.
MDQR_FN double* packed_row(double* r, int i) { return r + i * (2 * triangle_order - 1 - i) / 2; }
inline constexpr int packed_size = triangle_order * (triangle_order + 1) / 2;

struct triangles_arguments {
    const double* r; // column by column, of a multiple of 64 rows and columns
    double* out;     // the same
    i64 r_column, out_column;
};

MDQR_END

// Grid: blocks of 256 rows and of 256 columns. parts = the products of these columns with signs.
MDQR_KERNEL(mdqr_tensorcore_images, mdqr::images_arguments, mdqr::vector_threads) {
    using namespace mdqr;
    double* const shared = shared_memory();
    const i64 i = block_x() * vector_threads + thread_index(), j0 = block_y() * image_columns;
    const u64 signs = signs_of(j0 + thread_index());
    for (int c = 0; c < probes; ++c)
        shared[thread_index() * probes + c] = sign_of(signs, c);
    sync_threads();
    if (i >= p.a.rows)
        return;
    const i64 left = p.a.columns - j0, count = left < image_columns ? left : image_columns;
    double sum[probes] = {};
    for (i64 top = 0; top < count; top += dots_ahead) {
        float value[dots_ahead];
        static_for<0, dots_ahead>([&](auto w) MDQR_LAMBDA {
            value[w] = top + w < count ? p.a.at(i, j0 + top + w) : 0.0f;
        });
        static_for<0, dots_ahead>([&](auto w) MDQR_LAMBDA {
            const double x = double(value[w]);
            static_for<0, probes>([&](auto c) MDQR_LAMBDA {
                sum[c] = mdqr::fma(x, shared[(top + w) * probes + c], sum[c]);
            });
        });
    }
    static_for<0, probes>(
        [&](auto c) MDQR_LAMBDA { p.parts[(block_y() * probes + c) * p.a.rows + i] = sum[c]; });
}

// Grid: fours of columns.
MDQR_KERNEL(mdqr_tensorcore_departures, mdqr::departures_arguments, mdqr::vector_threads) {
    mdqr::departures(p, mdqr::block_x() * mdqr::departure_columns, mdqr::shared_memory());
}

// Grid: blocks of 64 on the diagonal of r, which is upper triangular; out has their inverses.
// Thread j solves for column j.
MDQR_KERNEL(mdqr_tensorcore_triangles, mdqr::triangles_arguments, mdqr::triangle_order) {
    using namespace mdqr;
    double* const r = shared_memory();
    double* const x = r + packed_size;
    double* const inverse = x + triangle_order * triangle_stride;
    const int j = thread_index();
    const i64 first = block_x() * triangle_order;
    double* const own = packed_row(r, j);
    for (int c = j; c < triangle_order; ++c)
        own[c] = p.r[first + j + (first + c) * p.r_column];
    inverse[j] = 1.0 / own[j];
    sync_threads();
    double* const mine = x + j;
    for (int i = triangle_order - 1; i >= 0; --i) {
        const double* const row = packed_row(r, i);
        double sum[4] = {i == j ? 1.0 : 0.0};
        int k = i + 1;
        for (; k + 4 <= triangle_order; k += 4)
            static_for<0, 4>([&](auto e) MDQR_LAMBDA {
                sum[e] = mdqr::fma(-row[k + e], mine[(k + e) * triangle_stride], sum[e]);
            });
        for (; k < triangle_order; ++k)
            sum[0] = mdqr::fma(-row[k], mine[k * triangle_stride], sum[0]);
        mine[i * triangle_stride] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) * inverse[i];
    }
    sync_threads();
    for (int c = 0; c < triangle_order; ++c)
        p.out[first + j + (first + c) * p.out_column] = x[j * triangle_stride + c];
}

// Grid: columns of a, one a warp. out = out + sign a^T x, or without the first.
MDQR_KERNEL(mdqr_tensorcore_dots, mdqr::dots_arguments, mdqr::vector_threads) {
    using namespace mdqr;
    const i64 j = block_x() * vector_warps + thread_index() / 32;
    if (j >= p.a.columns)
        return;
    i64 c = 0;
    for (; c + 4 <= p.count; c += 4)
        dots<4>(p, j, c);
    if (c + 2 <= p.count) {
        dots<2>(p, j, c);
        c += 2;
    }
    for (; c < p.count; ++c)
        dots<1>(p, j, c);
}
