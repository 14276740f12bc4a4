// A tile of a product: packing, accumulation over k, and the test that says which elements the
// digits serve.
#pragma once
#include "level/level.hpp"

#include "products/matmul_engine.hpp"
#include "products/matmul_operand.hpp"
#include "products/matmul_pack.hpp"
#include "products/matmul_row.hpp"
#include "products/matmul_scratch.hpp"

MDQR_BEGIN

struct product_problem {
    operand p, s; // lanes and scalars
    ptrdiff_t items, rows_p, rows_s, k;
    bool is_complex;
    ptrdiff_t cost; // of a term, in multiplications of doubles
};

// Lanes go along the columns of the result (row-major results are stored fastest), unless there are
// few.
inline bool lanes_along_columns(ptrdiff_t m, ptrdiff_t n) { return n >= 8 || n >= m; }

inline product_problem make_problem(const block_view& a, const block_view& b, bool conj_a,
                                    bool conj_b, const block_view& out, ptrdiff_t real_cost) {
    const ptrdiff_t m = out.shape[1], n = out.shape[2], k = a.shape[2];
    const bool is_complex = out.imag != 0;
    const ptrdiff_t cost = is_complex ? 4 * real_cost : real_cost;
    const operand rows = rows_of(a, conj_a), columns = columns_of(b, conj_b);
    if (lanes_along_columns(m, n))
        return {columns, rows, out.shape[0], n, m, k, is_complex, cost};
    return {rows, columns, out.shape[0], m, n, k, is_complex, cost};
}

struct tile_shape {
    ptrdiff_t rows_p, rows_s, tiles_p, tiles_s;
};

// Tiles of at most 16 vectors by 64 rows, smaller while there are few or each takes some tenths of
// a second. They go over all of k: the least, a vector by 4 rows, takes longer where k is millions.
inline tile_shape cut_product(const product_problem& x) {
    constexpr ptrdiff_t L = lanes<lane>, longest = ptrdiff_t(1) << 30;
    tile_shape t{16 * L, x.is_complex ? 32 : 64, 0, 0};
    for (;;) {
        t.tiles_p = (x.rows_p + t.rows_p - 1) / t.rows_p;
        t.tiles_s = (x.rows_s + t.rows_s - 1) / t.rows_s;
        const ptrdiff_t p = t.rows_p < x.rows_p ? t.rows_p : x.rows_p,
                        s = t.rows_s < x.rows_s ? t.rows_s : x.rows_s;
        const bool is_short = p * s <= longest / x.cost / (x.k + 1);
        if (is_short && x.items * t.tiles_p * t.tiles_s >= 8)
            return t;
        if (p <= L && s <= 4)
            return t;
        if (p > L && p >= s)
            t.rows_p = (p / 2 + L - 1) / L * L;
        else
            t.rows_s = (s + 1) / 2;
    }
}

// run(item, p0, rows_p, s0, rows_s) for every tile, on all threads.
template <class F> void for_each_tile(const product_problem& x, F run) {
    const tile_shape cut = cut_product(x);
    parallel_for(x.items * cut.tiles_p * cut.tiles_s, [&](ptrdiff_t t) {
        const ptrdiff_t item = t / (cut.tiles_p * cut.tiles_s);
        const ptrdiff_t p0 = t / cut.tiles_s % cut.tiles_p * cut.rows_p,
                        s0 = t % cut.tiles_s * cut.rows_s;
        run(item, p0, p0 + cut.rows_p < x.rows_p ? cut.rows_p : x.rows_p - p0, s0,
            s0 + cut.rows_s < x.rows_s ? cut.rows_s : x.rows_s - s0);
    });
}

template <class Engine> class product_tile {
public:
    static constexpr int L = lanes<lane>, W = Engine::words;

    row_scales scale_p, scale_s;

    product_tile(const product_problem& x, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p,
                 ptrdiff_t s0, ptrdiff_t rows_s)
        : x(x), item(item), p0(p0), s0(s0), rows_p(rows_p), rows_s(rows_s) {
        parts = x.is_complex ? 2 : 1;
        panels = (rows_p + L - 1) / L;
        engine.fold = fold_length(x.k * parts, x.is_complex);
        cut_terms();
        row_words = (chunk + 2 * L) * W;
        const ptrdiff_t packed_p = group * block * W * L, packed_s = rows_s * parts * row_words;
        const ptrdiff_t states = panels * rows_s * parts * Engine::state_words * L;
        memory = mdqr_host::matmul_scratch(states +
                                           (is_along_k() ? rows_memory() : packed_p + packed_s));
        states_at = memory;
        pack_p = states_at + states;
        pack_s = pack_p + packed_p;
        for (ptrdiff_t i = 0; i < states; ++i)
            states_at[i] = 0.0;
        for (ptrdiff_t i = rows_p; i < panels * L; ++i) {
            scale_p.e[i] = 0;
            scale_p.finite[i] = true;
            scale_p.first[i] = scale_p.second[i] = 1.0;
        }
        scan_rows(x.p, item, p0, rows_p, x.k, scale_p);
        scan_rows(x.s, item, s0, rows_s, x.k, scale_s);
        find_peaks(x.s, item, s0, rows_s, x.k, scale_s);
    }

    // N: limbs to take from the operands.
    template <int N> void accumulate() {
        if (is_along_k())
            return accumulate_rows<N>();
        if (!Engine::is_exact && x.rows_p == 1 && x.rows_s == 1)
            return accumulate_dot();
        for (ptrdiff_t k0 = 0; k0 < x.k; k0 += chunk / parts) {
            const ptrdiff_t k = x.k - k0 < chunk / parts ? x.k - k0 : chunk / parts;
            int used[row_scales::capacity];
            for (ptrdiff_t r = 0; r < rows_s; ++r)
                used[r] = pack_scalars<N>(r, k0, k);
            for (ptrdiff_t v = 0; v < panels; v += group)
                for (ptrdiff_t at = 0; at < k; at += block / parts)
                    add_group<N>(v, k0, at, k - at < block / parts ? k - at : block / parts, used);
        }
    }

    double* state(ptrdiff_t v, ptrdiff_t s, ptrdiff_t part) {
        return states_at + ((v * rows_s + s) * parts + part) * Engine::state_words * L;
    }
    ptrdiff_t count(ptrdiff_t v) const { return rows_p - v * L < L ? rows_p - v * L : L; }

    // Lanes whose largest term lies at most `limit` bits below the product of the maxima, and which
    // are finite.
    mask_t<lane> served(ptrdiff_t v, ptrdiff_t s, int limit) const {
        if (x.k == 0 || (scale_s.peak_bits[s] == 0 && scale_p.all_finite))
            return all(true);
        if (!scale_s.finite[s])
            return all(false);
        const lane least = broadcast<lane>(scale(0.5, -limit));
        mask_t<lane> ok = (scaled(v, magnitude_at(v, scale_s.peak[s])) >= least) | unused(v);
        if (any(!ok))
            ok = ok | spans(v, s, least);
        if (!scale_p.all_finite)
            for (int i = 0; i < L; ++i)
                if (!scale_p.finite[v * L + i])
                    ok = ok & lane_is_not(i);
        return ok;
    }

private:
    const product_problem& x;
    const ptrdiff_t item, p0, s0, rows_p, rows_s;
    Engine engine;
    ptrdiff_t parts, panels, row_words;
    // Scalars are packed for `chunk` terms, `group` panels of lanes for `block` (parts counted).
    ptrdiff_t chunk, block, group;
    double *memory, *pack_p, *pack_s, *states_at;

    static ptrdiff_t stride_size(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

    bool is_few() const { return rows_s < 8; }

    // Few scalar rows: lanes along k where P is stored that way, or has too few rows to fill lanes.
    // Digit sums are exact, so the result is the same.
    bool is_along_k() const {
        return Engine::is_exact && is_few() &&
               (rows_p == 1 || stride_size(x.p.step) < stride_size(x.p.row));
    }

    // Whole folds, and whole pairs of complex parts. With few scalar rows packing takes much of the
    // time, and waits for memory: panels that lie side by side are read together.
    void cut_terms() {
        const ptrdiff_t whole = Engine::is_exact ? 8 : 2 * engine.fold;
        auto rounded = [&](ptrdiff_t terms) {
            return terms < whole ? whole : terms / whole * whole;
        };
        block = chunk = rounded(Engine::chunk);
        group = 1;
        if (!is_few() || x.p.row != 1)
            return;
        block = rounded(Engine::few_terms / 2);
        chunk = block * (1 + 256 / block);
        group = panels;
    }

    template <int N>
    void add_group(ptrdiff_t v, ptrdiff_t k0, ptrdiff_t at, ptrdiff_t k, const int* used) {
        const ptrdiff_t count = panels - v < group ? panels - v : group;
        const int used_p = pack_vectors<Engine, N>(
            {x.p, x.p.at(item, p0 + v * L, k0 + at), x.p.row, k, x.p.step, count, rows_p - v * L, 0,
             scale_p.first + v * L, scale_p.second + v * L, false, int(parts),
             group > 1 ? 4 * x.p.step : 0},
            pack_p, block * W * L);
        for (ptrdiff_t g = 0; g < count; ++g)
            engine.panel(pack_p + g * block * W * L, used_p, pack_s + at * parts * W, row_words,
                         rows_s * parts, used, int(parts), int(k * parts), state(v + g, 0, 0));
    }

    ptrdiff_t rows_memory() const {
        if constexpr (Engine::is_exact)
            return row_sums<Engine::words>::memory(rows_p, rows_s, int(parts));
        return 0;
    }

    void accumulate_dot() {
        const lane p[2] = {broadcast<lane>(scale_p.first[0]), broadcast<lane>(scale_p.second[0])};
        const lane s[2] = {broadcast<lane>(scale_s.first[0]), broadcast<lane>(scale_s.second[0])};
        md<double, 2> sum[2];
        const auto dot = parts == 2 ? dot_product<2> : dot_product<1>;
        dot(x.p, x.p.at(item, p0, 0), p, x.s, x.s.at(item, s0, 0), s, x.k, sum);
        for (ptrdiff_t part = 0; part < parts; ++part)
            for (int i = 0; i < 2; ++i)
                state(0, 0, part)[i * L] = sum[part].limb[i];
    }

    template <int N> void accumulate_rows() {
        if constexpr (Engine::is_exact) {
            row_sums<Engine::words> sums(rows_p, rows_s, int(parts), pack_p);
            sums.template add<N>(x.p, x.p.at(item, p0, 0), scale_p, x.s, x.s.at(item, s0, 0),
                                 scale_s, x.k);
            for (ptrdiff_t i = 0; i < rows_p; ++i)
                for (ptrdiff_t s = 0; s < rows_s * parts; ++s)
                    sums.get(i, s, state(i / L, s / parts, s % parts) + i % L, L);
        }
    }

    MDQR_FN static mask_t<lane> all(bool b) {
        return broadcast<lane>(b ? 1.0 : 0.0) == broadcast<lane>(1.0);
    }
    // Lanes behind the last row.
    mask_t<lane> unused(ptrdiff_t v) const {
        double x[L];
        for (int i = 0; i < L; ++i)
            x[i] = i < count(v) ? 0.0 : 1.0;
        return load<lane>(x) != broadcast<lane>(0.0);
    }
    static mask_t<lane> lane_is_not(int i) {
        double m[L] = {};
        m[i] = 1.0;
        return load<lane>(m) == broadcast<lane>(0.0);
    }

    // Scalar row r, by way of vectors along k. Returns how many of the words are used.
    template <int N> int pack_scalars(ptrdiff_t r, ptrdiff_t k0, ptrdiff_t k) {
        const ptrdiff_t longest = group * block / parts * L;
        int used = 0;
        for (ptrdiff_t at = 0; at < k; at += longest) {
            const ptrdiff_t count = k - at < longest ? k - at : longest;
            const int found = pack_vectors<Engine, N>(
                {x.s, x.s.at(item, s0 + r, k0 + at), x.s.step, (count + L - 1) / L, L * x.s.step, 1,
                 count, L, scale_s.first + r, scale_s.second + r, true, int(parts), 0},
                pack_p);
            put_scalars(pack_s + (r * row_words + at * W) * parts, count, found);
            used = found > used ? found : used;
        }
        return used;
    }

    // Rows (re, -im) and (im, re) meet lanes (re, im).
    void put_scalars(double* to, ptrdiff_t count, int used) const {
        const double* from = pack_p;
        for (ptrdiff_t k = 0; k < count; k += L, to += L * parts * W)
            for (ptrdiff_t part = 0; part < parts; ++part, from += W * L) {
                const int some = count - k < L ? int(count - k) : L;
                for (int w = 0; w < W; ++w) {
                    lane y = broadcast<lane>(0.0);
                    if (w < used)
                        y = load<lane>(from + w * L);
                    if (parts == 2)
                        put_apart(to + row_words + (1 - part) * W + w, y, some);
                    put_apart(to + part * W + w, part == 1 ? -y : y, some);
                }
            }
    }
    MDQR_FN void put_apart(double* to, lane x, int some) const {
        double y[L];
        store(y, x);
        for (int l = 0; l < some; ++l)
            to[l * parts * W] = y[l];
    }

    // Magnitudes of the lanes at k: the larger of real and imaginary part.
    MDQR_FN lane magnitude_at(ptrdiff_t v, ptrdiff_t k) const {
        const double* from = x.p.at(item, p0 + v * L, k);
        lane a = abs(gather(from, x.p.row, count(v)));
        if (x.is_complex) {
            const lane b = abs(gather(from + x.p.imag, x.p.row, count(v)));
            a = select(a < b, b, a);
        }
        return a;
    }
    MDQR_FN lane scaled(ptrdiff_t v, lane x) const {
        return x * load<lane>(scale_p.first + v * L) * load<lane>(scale_p.second + v * L);
    }

    __attribute__((noinline)) mask_t<lane> spans(ptrdiff_t v, ptrdiff_t s, lane least) const {
        const lane zero = broadcast<lane>(0.0);
        lane largest = zero;
        mask_t<lane> is_zero = all(true);
        for (ptrdiff_t k = 0; k < x.k; ++k) {
            const double* q = x.s.at(item, s0 + s, k);
            double y = abs(*q);
            if (x.is_complex && abs(q[x.s.imag]) > y)
                y = abs(q[x.s.imag]);
            if (y == 0.0)
                continue;
            const lane magnitude = magnitude_at(v, k), a = scaled(v, magnitude);
            const lane b = broadcast<lane>(y * scale_s.first[s] * scale_s.second[s]);
            // Powers of two; both below 1, so their product is 2^(E + F - e - f - 2).
            const lane t =
                from_bits(bits(a) & i64(infinity_bits)) * from_bits(bits(b) & i64(infinity_bits));
            largest = select(largest < t, t, largest);
            // Scaled values may underflow; zeros are told by those that are not.
            is_zero = is_zero & (magnitude == zero);
        }
        return (largest >= least * broadcast<lane>(0.5)) | is_zero;
    }
};

MDQR_END
