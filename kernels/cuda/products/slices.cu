// Cutting an operand of a product into slices; see products/slices.hpp.
//
// A complex product is a real one of twice the inner size: row (re, im, re, ...) of A meets columns
// (re, -im, ...) and (im, re, ...) of B, which give the real and the imaginary part.
#include "device/device.hpp"

#include "products/slices.hpp"

MDQR_BEGIN

struct slicing {
    matrix_view from; // (batch, rows, inner): B comes transposed
    sliced to;
    i64 rows, inner; // in values
    i64 conjugate, right;
    i64 groups, segments; // of 8 rows; of quads
};
struct slices_arguments {
    slicing a, b;
    i64 blocks_of_a;
    i64* counter; // set to 0
};

inline constexpr int slicing_threads = 256, slicing_warps = slicing_threads / 32;

// Row r and term t of the real product: where its value lies, and with which sign it counts.
struct real_term {
    bool exists;
    i64 offset;
    double sign;

    MDQR_FN real_term(const slicing& p, i64 item, i64 r, i64 t) {
        const i64 row = p.right ? r / parts : r, k = t / parts;
        const bool imaginary = MDQR_COMPLEX && ((p.right ? r + t : t) & 1) != 0;
        exists = row < p.rows && k < p.inner;
        offset = p.from.at(item, row, k) + (imaginary ? p.from.to.imag : 0);
        const bool negative = p.right && imaginary && (r & 1) == 0;
        sign = negative != (imaginary && p.conjugate) ? -1.0 : 1.0;
    }
};

// The exponent of the largest value of row r, from all threads of the block; not_finite if there is
// an infinity or a NaN.
MDQR_FN i64 row_exponent(const slicing& p, i64 item, i64 r, i64 terms) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    double peak = 0.0;
    for (i64 t = quad * warp + lane % quad; t < terms; t += quad * slicing_warps) {
        const real_term x(p, item, r, t);
        const double size = x.exists ? abs(p.from.to.data[x.offset]) : 0.0;
        peak = bits(size) > bits(peak) ? size : peak;
    }
    static_for<0, 2>([&](auto i) MDQR_LAMBDA {
        const double other = shuffle_xor(peak, 1 << i.value);
        peak = bits(other) > bits(peak) ? other : peak;
    });
    double* shared = shared_memory();
    if (lane % quad == 0)
        shared[8 * warp + lane / quad] = peak;
    sync_threads();
    for (int w = 0; w < slicing_warps; ++w) {
        const double other = shared[8 * w + lane / quad];
        peak = bits(other) > bits(peak) ? other : peak;
    }
    return !is_finite(peak) ? not_finite : peak == 0.0 ? 0 : exponent(peak);
}

MDQR_FN void put_slices(const slicing& p, const real_term& x, i64 e, unsigned* to) {
    const i64 plane = p.to.rows * quad;
    double scaled[limbs], slice[slices];
    const bool used = x.exists && e != not_finite;
    const int t = used ? -int(e + 1) : 0, half = t >> 1;
    const double first = x.sign * power_of_two(half), second = power_of_two(t - half);
    const double* from = p.from.to.data + x.offset;
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        const double limb = used && l < p.from.to.held ? from[l * p.from.to.plane] : 0.0;
        scaled[l] = one_prod(one_prod(limb, first), second);
        if (l == 0)
            to[slices * plane] = leading_word(scaled[0], limb);
    });
    to_slices<slices, limbs>(scaled, slice);
    static_for<0, slices>([&](auto s) MDQR_LAMBDA { to[s * plane] = slice_word(slice[s]); });
}

// Block `index` of an operand's items * groups * segments. Each warp takes 8 rows by one quad at a
// time; every block reads whole rows for their maxima.
MDQR_FN void cut(const slicing& p, i64 index) {
    const i64 segment = index % p.segments, group = index / p.segments % p.groups;
    const i64 item = index / p.segments / p.groups;
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    const i64 r = 8 * group + lane / quad;
    const i64 e = row_exponent(p, item, r, p.inner * parts);
    if (segment == 0 && warp == 0 && lane % quad == 0)
        p.to.exponent[item * p.to.rows + r] = e;
    for (i64 q = segment + p.segments * warp; q < p.to.quads; q += p.segments * slicing_warps) {
        const real_term x(p, item, r, quad * q + lane % quad);
        put_slices(p, x, e, p.to.at(item, q, 0) + quad * r + lane % quad);
    }
}

MDQR_END

// Both operands of a product; grid: the blocks of A, then those of B.
MDQR_KERNEL(mdqr_slices, mdqr::slices_arguments, mdqr::slicing_threads) {
    using namespace mdqr;
    if (block_x() == 0 && thread_index() == 0)
        *p.counter = 0;
    const bool is_b = block_x() >= p.blocks_of_a;
    cut(is_b ? p.b : p.a, is_b ? block_x() - p.blocks_of_a : block_x());
}
