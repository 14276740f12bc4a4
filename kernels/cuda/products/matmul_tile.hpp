// One tile of a sliced product: the copies into shared memory and the sums over the diagonals.
//
// A warp forms 16 x 8 sums; WM x WN warps lie side by side and KW behind each other, every one of
// those with a part of the terms. The sums over one diagonal i + j = k are one accumulator, an
// integer; see products/slices.hpp. With -DMDQR_INTEGERS it is held as one: devices with few FP64
// units multiply integers many times as fast.
#pragma once
#include "device/matrix_step.hpp"

#include "products/slices.hpp"

MDQR_BEGIN

// MDQR_TILE 0: 32 x 32, for large results; 1: 16 x 16 with the terms spread over four warps, or
// over two where a stage of four takes more shared memory than each device has.
#if MDQR_TILE == 0
inline constexpr int WM = 2, WN = 4, KW = 1, stage_quads = slices > 12 ? 1 : 2;
#else
inline constexpr int WM = 1, WN = 2, KW = slices > 23 ? 2 : 4, stage_quads = KW;
#endif
inline constexpr int tile_threads = 32 * WM * WN * KW;
// Two blocks an SM where the sums leave the registers for it.
#if MDQR_LIMBS == 2
#define MDQR_TILE_BOUNDS mdqr::tile_threads, 2
#else
#define MDQR_TILE_BOUNDS mdqr::tile_threads
#endif
inline constexpr int BM = 16 * WM, BN = 8 * WN;
// Stages of the copies. With -DMDQR_GLOBAL a device has shared memory for one alone.
#if defined(MDQR_GLOBAL)
inline constexpr int stages = 1;
#else
inline constexpr int stages = 3;
#endif
inline constexpr int stage_words = stage_quads * sliced_planes * (BM + BN) * quad;

// Steps of a warp between two carries: S K 2^42 plus what the carry before left stays below 2^53.
inline constexpr int carry_steps = (2047 / slices / quad) / (stage_quads / KW) * (stage_quads / KW);

// Words of a finished sum: the carry out of the first diagonal, then pairs of diagonals.
inline constexpr int sum_words = 1 + (slices + 1) / 2;
MDQR_FN constexpr int pair_exponent(int p) { return p == 0 ? -20 : -42 - 22 * (2 * p - 1); }

struct tile_place {
    i64 item, row, column; // of the real product
};

// The diagonals fill the registers: two rows of sums that are rarely touched lie in shared memory.
inline constexpr int parked_sums = 8; // a thread

#if defined(MDQR_INTEGERS)
using diagonal_sum = i64;
#else
using diagonal_sum = double;
#endif

class tile_sums {
public:
    // sum[k] is diagonal k.
    diagonal_sum sum[slices][4];

    // `parked`: shared memory for parked_sums doubles a thread.
    MDQR_FN explicit tile_sums(double* parked) : parked(parked + thread_index()) {
        static_for<0, 4>([&](auto c) MDQR_LAMBDA {
            static_for<0, slices>([&](auto k) MDQR_LAMBDA { sum[k][c] = 0; });
            put<0>(c, 0.0);
            put<1>(c, 0.0);
        });
    }

    // The carry of the first diagonal, and the sum over products of leading limbs.
    MDQR_FN double top(int c) const { return get<0>(c); }
    MDQR_FN double magnitude(int c) const { return get<1>(c); }

    // += four terms; `a` and `b` point to this lane's words of plane 0.
    MDQR_FN void add_quad(const unsigned* a, const unsigned* b) {
        add_products(a, b);
        keep_order();
        add_magnitudes(a + slices * BM * quad, b + slices * BN * quad);
    }

    // Leaves |sum[k]| <= 2^21.
    MDQR_FN void carry() {
        static_for_down<slices - 1, 1>([&](auto k) MDQR_LAMBDA {
            static_for<0, 4>([&](auto c) MDQR_LAMBDA { carry_into(sum[k][c], sum[k - 1][c]); });
        });
        static_for<0, 4>([&](auto c) MDQR_LAMBDA {
            double above = top(c);
            carry_into(sum[0][c], above);
            put<0>(c, above);
        });
    }

    // Word W of the pairs for number c, |word| < 2^44 for W > 0.
    template <int W> MDQR_FN double word(int c) const {
        if constexpr (W == 0)
            return top(c);
        else if constexpr (2 * W <= slices)
            return pair_word(sum[2 * W - 2][c], sum[2 * W - 1][c]);
        else
            return pair_word(sum[2 * W - 2][c]);
    }

private:
    double* parked;

    template <int Row> MDQR_FN double get(int c) const {
        return parked[(4 * Row + c) * tile_threads];
    }
    template <int Row> MDQR_FN void put(int c, double x) {
        parked[(4 * Row + c) * tile_threads] = x;
    }

#if defined(MDQR_INTEGERS)
    // Every thread forms its products itself, term by term.
    MDQR_FN void add_products(const unsigned* a, const unsigned* b) {
        const int place = thread_index() % 32 % quad;
        a -= place;
        b += 2 * quad * place - thread_index() % 32;
#pragma unroll 1
        for (int t = 0; t < quad; ++t) {
            int y[slices][2];
            static_for<0, slices>([&](auto j) MDQR_LAMBDA {
                y[j][0] = slice_integer(b[j.value * BN * quad + t]);
                y[j][1] = slice_integer(b[j.value * BN * quad + quad + t]);
            });
            static_for<0, slices>([&](auto i) MDQR_LAMBDA {
                keep_order();
                const i64 x0 = slice_integer(a[i.value * BM * quad + t]);
                const i64 x1 = slice_integer(a[i.value * BM * quad + 8 * quad + t]);
                static_for<0, slices - i.value>([&](auto j) MDQR_LAMBDA {
                    sum[i + j][0] += x0 * y[j][0];
                    sum[i + j][1] += x0 * y[j][1];
                    sum[i + j][2] += x1 * y[j][0];
                    sum[i + j][3] += x1 * y[j][1];
                });
            });
        }
    }
#else
    MDQR_FN void add_products(const unsigned* a, const unsigned* b) {
        double y[slices];
        static_for<0, slices>([&](auto j)
                                  MDQR_LAMBDA { y[j] = slice_value(b[j.value * BN * quad]); });
        static_for<0, slices>([&](auto i) MDQR_LAMBDA {
            keep_order();
            const double x0 = slice_value(a[i.value * BM * quad]);
            const double x1 = slice_value(a[i.value * BM * quad + 8 * quad]);
            static_for<0, slices - i.value>(
                [&](auto j) MDQR_LAMBDA { matrix_multiply_add(sum[i + j], x0, x1, y[j]); });
        });
    }
#endif

    MDQR_FN void add_magnitudes(const unsigned* a, const unsigned* b) {
        double size[4];
        static_for<0, 4>([&](auto c) MDQR_LAMBDA { size[c] = magnitude(c); });
        matrix_multiply_add(size, leading_value(a[0]), leading_value(a[8 * quad]),
                            leading_value(b[0]));
        static_for<0, 4>([&](auto c) MDQR_LAMBDA { put<1>(c, size[c]); });
    }

    MDQR_FN static double pair_word(double high, double low) { return fma(high, two_to(22), low); }
    MDQR_FN static double pair_word(double high) { return one_prod(high, two_to(22)); }
    MDQR_FN static double pair_word(i64 high, i64 low = 0) { return double(high * unit + low); }

    MDQR_FN static void carry_into(double& low, double& high) {
        const double magic = digit_rest * two_to(22);
        const double part = one_sum(one_sum(low, magic), -magic);
        low = one_sum(low, -part);
        high = fma(part, two_to(-22), high);
    }
    // As that, ties to even.
    MDQR_FN static i64 carry_out(i64& low) {
        i64 part = (low + unit / 2) >> 22;
        if (low == part * unit - unit / 2)
            part -= part & 1;
        low -= part * unit;
        return part;
    }
    MDQR_FN static void carry_into(i64& low, i64& high) { high += carry_out(low); }
    MDQR_FN static void carry_into(i64& low, double& high) {
        high = one_sum(high, double(carry_out(low)));
    }
    static constexpr i64 unit = i64(1) << 22;
};

class tile_loader {
public:
    MDQR_FN tile_loader(const sliced& a, const sliced& b, const tile_place& at)
        : a_words(a.at(a.item_of(at.item), 0, 0) + at.row * quad),
          b_words(b.at(b.item_of(at.item), 0, 0) + at.column * quad), a_line(a.rows * quad),
          b_line(b.rows * quad), buffer(reinterpret_cast<unsigned*>(shared_memory())) {}

    MDQR_FN unsigned* stage(int slot) const { return buffer + slot * stage_words; }

    // Start the copies of `stage_quads` quads from quad q on.
    MDQR_FN void start(int q, int slot) const {
        constexpr int lines = stage_quads * sliced_planes;
        unsigned* to = stage(slot);
        copy_lines<BM, lines>(to, a_words + i64(q) * sliced_planes * a_line, a_line);
        copy_lines<BN, lines>(to + lines * BM * quad, b_words + i64(q) * sliced_planes * b_line,
                              b_line);
    }

private:
    const unsigned *a_words, *b_words;
    i64 a_line, b_line;
    unsigned* buffer;

    template <int Rows, int Lines>
    MDQR_FN static void copy_lines(unsigned* to, const unsigned* from, i64 line) {
#pragma unroll 1
        for (int i = thread_index(); i < Lines * Rows; i += tile_threads)
            copy_async(to + i * quad, from + i / Rows * line + i % Rows * quad);
    }
};

// Sums over the quads [first, last), a multiple of stage_quads of them.
MDQR_FN void accumulate(tile_sums& sums, const tile_loader& loader, int first, int last) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    const int behind = warp / (WM * WN), wm = warp / WN % WM, wn = warp % WN;
    const int a_at = wm * 16 * quad + lane;
    const int b_at = stage_quads * sliced_planes * BM * quad + wn * 8 * quad + lane;
    static_for<0, stages - 1>([&](auto s) MDQR_LAMBDA {
        if (first + s.value * stage_quads < last)
            loader.start(first + s.value * stage_quads, s);
        end_copies();
    });
    int slot = 0, steps = 0;
    for (int q = first; q < last; q += stage_quads) {
        if constexpr (stages > 1)
            wait_copies<stages - 2>();
        sync_threads();
        const int next = q + (stages - 1) * stage_quads;
        const int free = slot == 0 ? stages - 1 : slot - 1;
        if (next < last)
            loader.start(next, free);
        end_copies();
        if constexpr (stages == 1) {
            wait_copies<0>();
            sync_threads();
        }
        const unsigned* words = loader.stage(slot);
#pragma unroll 1
        for (int s = behind; s < stage_quads; s += KW)
            sums.add_quad(words + a_at + s * sliced_planes * BM * quad,
                          words + b_at + s * sliced_planes * BN * quad);
        slot = slot == stages - 1 ? 0 : slot + 1;
        steps += stage_quads / KW;
        if (steps == carry_steps) {
            sums.carry();
            steps = 0;
        }
    }
    sums.carry();
    wait_copies<0>();
    sync_threads();
}

MDQR_END
