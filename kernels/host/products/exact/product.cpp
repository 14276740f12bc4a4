// Products of residues and numbers from them, for one level (MDQR_LEVEL).
#include "level/level.hpp"

#include "products/exact/entries.hpp"
#include "products/exact/lanes.hpp"
#include "products/matmul_operand.hpp"
#include "products/matmul_scratch.hpp"
#include "mdqr/residues.hpp"

#include <atomic>

MDQR_BEGIN

using mdqr_exact::channels;
using mdqr_exact::panel_lines;
using mdqr_exact::reconstruction;
using mdqr_exact::residues;

// A block of sums in registers: so many lines of the left operand times vectors of columns.
static constexpr int block_rows = byte_lanes > 8 ? 8 : 4, block_vectors = 2;
static constexpr int block_columns = byte_lanes * block_vectors;

// Tiles of the result: residues of one stay in L2 until they are put together.
static constexpr int tile_rows = 2 * panel_lines, tile_columns = 4 * panel_lines;

struct sums_block {
    int_lanes at[block_rows][block_vectors];
};

// Bytes of the right operand are taken with 128 added, since one factor must not be signed; so the
// sums begin at -128 times those of the left operand. They may wrap around in between.
__attribute__((noinline)) static void multiply_bytes(const signed char* left, const int* left_sums,
                                                     const signed char* right, ptrdiff_t fours,
                                                     sums_block& out) {
    int_lanes sum[block_rows][block_vectors];
    const int_lanes flip = splat(int(0x80808080u));
    static_for<0, block_rows>([&](auto r) MDQR_LAMBDA {
        static_for<0, block_vectors>([&](auto v)
                                         MDQR_LAMBDA { sum[r][v] = splat(-128 * left_sums[r]); });
    });
    for (ptrdiff_t four = 0; four < fours;
         ++four, left += 4 * panel_lines, right += 4 * panel_lines) {
        int_lanes x[block_vectors];
        static_for<0, block_vectors>(
            [&](auto v) MDQR_LAMBDA { x[v] = load_ints(right + 4 * byte_lanes * v) ^ flip; });
        static_for<0, block_rows>([&](auto r) MDQR_LAMBDA {
            int four_bytes;
            __builtin_memcpy(&four_bytes, left + 4 * r, 4);
            const int_lanes y = splat(four_bytes);
            static_for<0, block_vectors>(
                [&](auto v) MDQR_LAMBDA { sum[r][v] = dot_bytes(sum[r][v], x[v], y); });
        });
    }
    static_for<0, block_rows>([&](auto r) MDQR_LAMBDA {
        static_for<0, block_vectors>([&](auto v) MDQR_LAMBDA { out.at[r][v] = sum[r][v]; });
    });
}

// One plane of a block, from line `row` of a panel of the left and line `column` of one of the
// right operand; sums of up to 2^17 products of bytes stay below 2^31, but for 2^17 of (-128)^2,
// which are there modulo 256 only: 2^31 wraps around to the same residue.
struct plane_block {
    const residues &left, &right;
    ptrdiff_t left_panel, right_panel;
    int row, column;

    MDQR_FN void multiply(int plane, sums_block& out) const {
        multiply_bytes(left.panel(plane, left_panel) + 4 * row, left.sums(plane, left_panel) + row,
                       right.panel(plane, right_panel) + 4 * column, left.fours, out);
    }
};

// Residues of a tile: (channels, tile_rows, tile_columns).
static void put_channel(const channels& plan, int c, const plane_block& at, short* out) {
    const double m = plan.modulus[c], inverse = 1.0 / m;
    const int plane = plan.first_plane(c);
    sums_block block[3];
    at.multiply(plane, block[0]);
    if (c >= plan.narrow) {
        at.multiply(plane + 1, block[1]);
        at.multiply(plane + 2, block[2]);
    }
    for (int r = 0; r < block_rows; ++r)
        for (int v = 0; v < block_vectors; ++v)
            for (int h = 0; h < 2; ++h) {
                half_lanes residue;
                if (c < plan.narrow) {
                    residue = nearest_residues(halves_of(block[0].at[r][v]).half[h], m, inverse);
                } else {
                    double_lanes digit[3];
                    for (int d = 0; d < 3; ++d)
                        digit[d] = __builtin_convertvector(halves_of(block[d].at[r][v]).half[h],
                                                           double_lanes);
                    const double_lanes middle = digit[2] - digit[0] - digit[1];
                    residue = nearest_residues(digit[0] * 16384.0 + middle * 128.0 + digit[1], m,
                                               inverse);
                }
                short* to = out + r * tile_columns + byte_lanes * v + byte_lanes / 2 * h;
                *reinterpret_cast<short_lanes_unaligned*>(to) =
                    __builtin_convertvector(residue, short_lanes);
            }
}

// Lanes of doubles from residues.
MDQR_FN lane widen(const short* p) {
#if MDQR_HOST_LANES > 1
    // In two steps: GCC has no instruction for one, and takes the elements apart.
    typedef short shorts __attribute__((vector_size(MDQR_HOST_LANES * 2), aligned(2), may_alias));
    typedef int wider __attribute__((vector_size(MDQR_HOST_LANES * 4)));
    return __builtin_convertvector(
        __builtin_convertvector(*reinterpret_cast<const shorts*>(p), wider), lane);
#else
    return double(*p);
#endif
}

// Digits that are summed at a time, in registers.
static constexpr int digit_block = MDQR_HOST_LANES == 8 ? 24 : 8;

class tile_numbers {
public:
    tile_numbers(const reconstruction& back, const short* residue, int parts)
        : back(back), residue(residue), parts(parts) {}

    // The digits of part `part` of the numbers at `place` of the tile.
    void sum_digits(ptrdiff_t place, int part, lane* piece) const {
        const double* weight = back.weight + ptrdiff_t(part) * back.moduli * back.pieces;
        const double* fraction = back.fraction + part * back.moduli;
        lane quotient = broadcast<lane>(0.0);
        for (int i = 0; i < back.moduli; ++i)
            quotient = fma(value(place, part, i), broadcast<lane>(fraction[i]), quotient);
        const lane magic = broadcast<lane>(digit_rest);
        const lane turns = one_sum(one_sum(quotient, magic), -magic);
        int l = 0;
        for (; l + digit_block <= back.pieces; l += digit_block)
            sum_block<digit_block>(place, part, weight + l, turns, back.product + l, piece + l);
        for (; l + 4 <= back.pieces; l += 4)
            sum_block<4>(place, part, weight + l, turns, back.product + l, piece + l);
        for (; l < back.pieces; ++l)
            sum_block<1>(place, part, weight + l, turns, back.product + l, piece + l);
    }

private:
    const reconstruction& back;
    const short* residue;
    const int parts;

    // Of a real number, or the sum and the difference of those of x + i y and x - i y.
    MDQR_FN lane value(ptrdiff_t place, int part, int i) const {
        constexpr ptrdiff_t plane = tile_rows * tile_columns;
        if (parts == 1)
            return widen(residue + i * plane + place);
        const lane u = widen(residue + 2 * i * plane + place),
                   v = widen(residue + (2 * i + 1) * plane + place);
        return part == 0 ? one_sum(u, v) : one_sum(u, -v);
    }

    template <int D>
    MDQR_FN void sum_block(ptrdiff_t place, int part, const double* weight, lane turns,
                           const double* product, lane* piece) const {
        lane sum[D];
        static_for<0, D>(
            [&](auto l) MDQR_LAMBDA { sum[l] = one_prod(-turns, broadcast<lane>(product[l])); });
        for (int i = 0; i < back.moduli; ++i) {
            const lane r = value(place, part, i);
            const double* w = weight + ptrdiff_t(i) * back.pieces;
            static_for<0, D>([&](auto l)
                                 MDQR_LAMBDA { sum[l] = fma(r, broadcast<lane>(w[l]), sum[l]); });
        }
        static_for<0, D>([&](auto l) MDQR_LAMBDA { piece[l] = sum[l]; });
    }
};

static constexpr int most_pieces = 64;

template <int N> class exact_tile {
public:
    exact_tile(const block_view& out, const block_view* c, bool subtract,
               const long long* row_exponent, const long long* column_exponent,
               const reconstruction& back)
        : out(out), c(c), subtract(subtract), row_exponent(row_exponent),
          column_exponent(column_exponent), back(back) {}

    void put(ptrdiff_t i0, ptrdiff_t j0, const short* residue) const {
        const int parts = out.imag ? 2 : 1;
        const tile_numbers numbers(back, residue, parts);
        for (ptrdiff_t i = i0; i < i0 + tile_rows && i < out.shape[0]; ++i)
            for (ptrdiff_t j = j0; j < j0 + tile_columns && j < out.shape[1]; j += L) {
                const ptrdiff_t count = out.shape[1] - j < L ? out.shape[1] - j : ptrdiff_t(L);
                int exponent[L] = {};
                for (ptrdiff_t l = 0; l < count; ++l)
                    exponent[l] = int(column_exponent[j + l] + row_exponent[i]);
                for (int part = 0; part < parts; ++part) {
                    lane piece[most_pieces];
                    numbers.sum_digits((i - i0) * tile_columns + j - j0, part, piece);
                    put_lanes(i, j, part, count, piece, exponent);
                }
            }
    }

private:
    static constexpr int L = lanes<lane>;
    const block_view& out;
    const block_view* c;
    const bool subtract;
    const long long *row_exponent, *column_exponent;
    const reconstruction& back;

    __attribute__((noinline)) void put_lanes(ptrdiff_t i, ptrdiff_t j, int part, ptrdiff_t count,
                                             lane* piece, const int* exponent) const {
        carry_pieces(piece, back.pieces, back.width);
        md<lane, N> r = from_pieces<N>(piece, back.pieces, back.width, back.unit);
        r = unscaled(r, exponent, back.scale);
        if (c != nullptr) {
            const double* from = c->data + i * c->stride[0] + j * c->stride[1] + part * c->imag;
            md<lane, N> start;
            static_for<0, N>([&](auto l) MDQR_LAMBDA {
                start.limb[l] = l < c->limbs ? gather(from + l * c->plane, c->stride[1], count)
                                             : broadcast<lane>(0.0);
            });
            r = subtract ? sub(start, r) : add(start, r);
        } else if (subtract) {
            r = sub(from_double<lane, N>(broadcast<lane>(0.0)), r);
        }
        double* to = out.data + i * out.stride[0] + j * out.stride[1] + part * out.imag;
        static_for<0, N>([&](auto l) MDQR_LAMBDA {
            scatter(to + l * out.plane, out.stride[1], count, r.limb[l]);
        });
    }
};

int exact_least(const residues& left, const residues& right, int planes) {
    std::atomic<int> least{1 << 30};
    const ptrdiff_t across = right.panels();
    parallel_for(left.panels() * across, [&](ptrdiff_t task) {
        const ptrdiff_t p = task / across, q = task % across;
        int found = 1 << 30;
        for (int row = 0; row < panel_lines; row += block_rows)
            for (int column = 0; column < panel_lines; column += block_columns) {
                const plane_block at{left, right, p, q, row, column};
                sums_block size, count;
                at.multiply(0, size);
                if (planes > 1)
                    at.multiply(1, count);
                // Lines behind the last are padding.
                const ptrdiff_t rows = left.lines - p * panel_lines - row;
                const ptrdiff_t columns = right.lines - q * panel_lines - column;
                for (int r = 0; r < block_rows && r < rows; ++r)
                    for (int v = 0; v < block_vectors; ++v)
                        for (int i = 0; i < byte_lanes && v * byte_lanes + i < columns; ++i)
                            if (size.at[r][v][i] < found && (planes == 1 || count.at[r][v][i] != 0))
                                found = size.at[r][v][i];
            }
        int seen = least.load();
        while (found < seen && !least.compare_exchange_weak(seen, found)) {
        }
    });
    return least.load();
}

template <int N>
static void multiply_tiles(const block_view& out, const block_view* c, bool subtract,
                           const residues& left, const long long* left_exponent,
                           const residues& right, const long long* right_exponent,
                           const channels& plan, const reconstruction& back) {
    const exact_tile<N> numbers(out, c, subtract, left_exponent, right_exponent, back);
    const ptrdiff_t across = (out.shape[1] + tile_columns - 1) / tile_columns;
    const ptrdiff_t down = (out.shape[0] + tile_rows - 1) / tile_rows;
    parallel_for(down * across, [&](ptrdiff_t task) {
        const ptrdiff_t i0 = task / across * tile_rows, j0 = task % across * tile_columns;
        constexpr size_t tile = size_t(tile_rows) * tile_columns;
        short* residue = reinterpret_cast<short*>(
            mdqr_host::matmul_scratch(plan.count * tile * sizeof(short) / sizeof(double)));
        for (int channel = 0; channel < plan.count; ++channel)
            for (int j = 0; j < tile_columns && j0 + j < out.shape[1]; j += block_columns)
                for (int i = 0; i < tile_rows && i0 + i < out.shape[0]; i += block_rows) {
                    const plane_block at{left,
                                         right,
                                         (i0 + i) / panel_lines,
                                         (j0 + j) / panel_lines,
                                         i % panel_lines,
                                         j % panel_lines};
                    put_channel(plan, channel, at, residue + channel * tile + i * tile_columns + j);
                }
        numbers.put(i0, j0, residue);
    });
}

void exact_product(const block_view& out, const block_view* c, bool subtract, const residues& left,
                   const long long* left_exponent, const residues& right,
                   const long long* right_exponent, const channels& plan,
                   const reconstruction& back) {
    switch (out.limbs) {
#define MDQR_LIMB_COUNT(n)                                                                         \
    case n:                                                                                        \
        return multiply_tiles<n>(out, c, subtract, left, left_exponent, right, right_exponent,     \
                                 plan, back);
#include "mdqr/limb_counts.def"
    }
}

MDQR_END
