// Exponents of lines and their residues, for one level (MDQR_LEVEL).
#include "level/level.hpp"

#include "products/exact/entries.hpp"
#include "products/exact/lanes.hpp"
#include "products/matmul_operand.hpp"
#include "products/matmul_scratch.hpp"
#include "mdqr/residues.hpp"

MDQR_BEGIN

using mdqr_exact::channels;
using mdqr_exact::panel_lines;
using mdqr_exact::residues;
using ints = ints_t<lane>;

static constexpr int L = lanes<lane>;
void exact_scan(const block_view& x, const long long* shift, long long* top, long long* bottom) {
    const ptrdiff_t lines = x.shape[0], k = x.shape[1];
    parallel_for((lines + L - 1) / L, [&](ptrdiff_t task) {
        const ptrdiff_t i0 = task * L, count = lines - i0 < L ? lines - i0 : ptrdiff_t(L);
        ints most = splat_ints<lane>(absent_exponent),
             least = splat_ints<lane>(non_finite_exponent);
        for (int part = 0; part < (x.imag ? 2 : 1); ++part)
            for (int l = 0; l < x.limbs; ++l) {
                const double* p = x.data + l * x.plane + part * x.imag + i0 * x.stride[0];
                for (ptrdiff_t j = 0; j < k; ++j) {
                    const lane v = gather(p + j * x.stride[1], x.stride[0], count);
                    if (l == 0)
                        most = larger_ints<lane>(most, exponents_above(v) + i64(shift[j]));
                    least = smaller_ints<lane>(least, lowest_bits(v) + i64(shift[j]));
                }
            }
        i64 found[2][L];
        store_lanes(found[0], most);
        store_lanes(found[1], least);
        for (ptrdiff_t i = 0; i < count; ++i) {
            top[i0 + i] = found[0][i];
            bottom[i0 + i] = found[1][i];
        }
    });
}

// Fours of steps along k that are cut to words at a time: their words stay in L1 or L2.
static constexpr int block_fours = 4;

// What one panel has of one channel, for `fours` fours from `four` on.
struct panel_residues {
    const residues& out;
    ptrdiff_t panel, four;
    const int* words; // (steps, n, panel_lines)
    int n;

    // Sums of the products of the words of four steps with `factor`, of lines from `line` on.
    MDQR_FN void dots(int_lanes* r, const int* factor, int f, int line) const {
        const int* w = words + 4 * f * n * panel_lines + line;
        for (int j = 0; j < n; ++j) {
            const int_lanes y = splat(factor[j]);
            for (int s = 0; s < 4; ++s)
                r[s] = dot_bytes(r[s], load_ints(w + (s * n + j) * panel_lines), y);
        }
    }

    MDQR_FN void put(int plane, int f, int line, const int_lanes* digit) const {
        const int_lanes bytes = (digit[0] & 255) | ((digit[1] & 255) << 8) |
                                ((digit[2] & 255) << 16) | (digit[3] << 24);
        store_ints(out.panel(plane, panel) + ((four + f) * panel_lines + line) * 4, bytes);
        int* sum = out.sums(plane, panel) + line;
        store_ints(sum, load_ints(sum) + digit[0] + digit[1] + digit[2] + digit[3]);
    }
};

static void put_narrow(const panel_residues& to, const channels& plan, int c, int fours) {
    const float m = float(plan.modulus[c]), inverse = 1.0f / m;
    const int_lanes start = splat(plan.start[c]);
    for (int f = 0; f < fours; ++f)
        for (int line = 0; line < panel_lines; line += byte_lanes) {
            int_lanes r[4] = {start, start, start, start};
            to.dots(r, plan.low + c * to.n, f, line);
            for (int s = 0; s < 4; ++s) // 128 is -128 modulo 256
                r[s] = (nearest_residues(r[s], m, inverse) << 24) >> 24;
            to.put(plan.first_plane(c), f, line, r);
        }
}

static void put_wide(const panel_residues& to, const channels& plan, int c, int fours) {
    const double m = plan.modulus[c], inverse = 1.0 / m;
    const int_lanes start = splat(plan.start[c]);
    for (int f = 0; f < fours; ++f)
        for (int line = 0; line < panel_lines; line += byte_lanes) {
            int_lanes low[4] = {start, start, start, start}, high[4] = {}, both[4];
            to.dots(low, plan.low + c * to.n, f, line);
            to.dots(high, plan.high + (c - plan.narrow) * to.n, f, line);
            for (int s = 0; s < 4; ++s) {
                half_pair parts = halves_of(low[s] + high[s] * 128);
                for (half_lanes& part : parts.half)
                    part = nearest_residues(part, m, inverse);
                const int_lanes r = joined(parts), sign = r >> 31, size = (r ^ sign) - sign;
                high[s] = (((size + 127) >> 7) ^ sign) - sign;
                low[s] = r - high[s] * 128;
                both[s] = low[s] + high[s];
            }
            const int plane = plan.first_plane(c);
            to.put(plane, f, line, high);
            to.put(plane + 1, f, line, low);
            to.put(plane + 2, f, line, both);
        }
}

void exact_residues(const residues& out, const channels& plan, const block_view& x,
                    const long long* exponent, const long long* shift, int tau) {
    const ptrdiff_t k = x.shape[1];
    const int n = plan.parts * plan.words;
    parallel_for(out.panels(), [&](ptrdiff_t panel) {
        const ptrdiff_t line0 = panel * panel_lines;
        const ptrdiff_t lines =
            out.lines - line0 < panel_lines ? out.lines - line0 : ptrdiff_t(panel_lines);
        i64 e[panel_lines] = {};
        for (ptrdiff_t i = 0; i < lines; ++i)
            e[i] = exponent[line0 + i];
        for (int p = 0; p < plan.planes(); ++p)
            __builtin_memset(out.sums(p, panel), 0, panel_lines * sizeof(int));
        int* words = reinterpret_cast<int*>(
            mdqr_host::matmul_scratch(size_t(4 * block_fours) * n * panel_lines / 2));
        for (ptrdiff_t four = 0; four < out.fours; four += block_fours) {
            const int fours = int(out.fours - four < block_fours ? out.fours - four : block_fours);
            for (int s = 0; s < 4 * fours; ++s)
                for (int i = 0; i < panel_lines; i += L) {
                    const ptrdiff_t step = 4 * four + s;
                    const ptrdiff_t count = step >= k || lines <= i ? 0
                                            : lines - i < L         ? lines - i
                                                                    : ptrdiff_t(L);
                    lane first, second;
                    power_factors<lane>(i64(tau) + (step < k ? shift[step] : 0) - load_lanes(e + i),
                                        first, second);
                    for (int part = 0; part < plan.parts; ++part) {
                        lane limb[mdqr_host::largest_limb_count];
                        const double* from =
                            x.data + part * x.imag + (line0 + i) * x.stride[0] + step * x.stride[1];
                        for (int l = 0; l < x.limbs; ++l)
                            limb[l] = count == 0 ? broadcast<lane>(0.0)
                                                 : gather(from + l * x.plane, x.stride[0], count);
                        ints word[most_words];
                        to_words(limb, x.limbs, first, second, tau, word, plan.words);
                        for (int j = 0; j < plan.words; ++j)
                            store_narrow(words + (s * n + part * plan.words + j) * panel_lines + i,
                                         word[j]);
                    }
                }
            const panel_residues to{out, panel, four, words, n};
            for (int c = 0; c < plan.narrow; ++c)
                put_narrow(to, plan, c, fours);
            for (int c = plan.narrow; c < plan.count; ++c)
                put_wide(to, plan, c, fours);
        }
    });
}

// Planes: floor(|x| 2^(7 - e)), of the larger part if complex, and 1 where x is not 0.
void exact_magnitudes(const residues& out, int planes, const block_view& x,
                      const long long* exponent, const long long* shift) {
    const ptrdiff_t k = x.shape[1];
    parallel_for(out.panels(), [&](ptrdiff_t panel) {
        const ptrdiff_t line0 = panel * panel_lines;
        const ptrdiff_t lines =
            out.lines - line0 < panel_lines ? out.lines - line0 : ptrdiff_t(panel_lines);
        i64 e[panel_lines] = {};
        for (ptrdiff_t i = 0; i < lines; ++i)
            e[i] = exponent[line0 + i];
        const panel_residues to{out, panel, 0, nullptr, 0};
        for (int p = 0; p < planes; ++p)
            __builtin_memset(out.sums(p, panel), 0, panel_lines * sizeof(int));
        for (ptrdiff_t four = 0; four < out.fours; ++four) {
            int size[4][panel_lines] = {}, is_there[4][panel_lines] = {};
            for (int s = 0; s < 4; ++s)
                for (int i = 0; i < panel_lines && 4 * four + s < k; i += L) {
                    const ptrdiff_t step = 4 * four + s;
                    const ptrdiff_t count = lines - i < L ? lines - i : ptrdiff_t(L);
                    if (count <= 0)
                        break;
                    const double* from = x.data + (line0 + i) * x.stride[0] + step * x.stride[1];
                    lane v = abs(gather(from, x.stride[0], count));
                    if (x.imag) {
                        const lane w = abs(gather(from + x.imag, x.stride[0], count));
                        v = select(v < w, w, v);
                    }
                    lane first, second;
                    power_factors<lane>(i64(7) + shift[step] - load_lanes(e + i), first, second);
                    store_narrow(size[s] + i, floor_magnitude(v, first, second));
                    store_narrow(is_there[s] + i,
                                 select_ints(v == broadcast<lane>(0.0), splat_ints<lane>(0),
                                             splat_ints<lane>(1)));
                }
            for (int line = 0; line < panel_lines; line += byte_lanes) {
                int_lanes a[4], b[4];
                for (int s = 0; s < 4; ++s) {
                    a[s] = load_ints(size[s] + line);
                    b[s] = load_ints(is_there[s] + line);
                }
                to.put(0, int(four), line, a);
                if (planes > 1)
                    to.put(1, int(four), line, b);
            }
        }
    });
}

MDQR_END
