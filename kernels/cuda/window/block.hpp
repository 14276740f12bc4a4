// A window in the memory of one block of threads.
//
// `lanes` threads share a column, of the window or of E^H. Column c of the window becomes column
// c + below of E^H, which is that of the identity until reflector c meets it: R and what is not yet
// zero of E^H fit into one matrix. Behind it are the first columns of E^H. One more warp makes the
// scalars of each reflector, while the others form their products with it.
#pragma once
#include "device/floats.hpp"
#include "panel/math.hpp"

#include "mdqr/window.hpp"

MDQR_BEGIN

struct window_arguments {
    matrix_view r; // (item, rows, columns), replaced
    matrix_view e; // (item, rows, rows)
    i64 rows, columns, below, lanes;
    i64 stride; // of the rows that a block keeps
    workspace work;
};

inline constexpr int warp_size = 32;
// At most; the last warp makes the scalars.
inline constexpr int window_threads = number_planes <= 4 ? 512 : 256;
// Entries whose updates do not wait for each other.
inline constexpr int updates_together = number_planes <= 2 ? 4 : number_planes <= 4 ? 2 : 1;
// Numbers that are on their way from global memory.
inline constexpr int loads_together = number_planes <= 4 ? 4 : 1;

#if defined(MDQR_FLOAT32)
static_assert(limbs == 1, "float32 is one limb");
MDQR_FN number element_at(const matrix_view& x, i64 offset) {
    const unsigned* data = reinterpret_cast<const unsigned*>(x.to.data) + offset;
    number r = zero_number();
    real_part(r).limb[0] = widened(data[0]);
    if (parts == 2)
        imaginary_part(r).limb[0] = widened(data[x.to.imag]);
    return r;
}
MDQR_FN void set_element(const matrix_view& x, i64 offset, number value) {
    float* data = reinterpret_cast<float*>(x.to.data) + offset;
    data[0] = narrowed(real_part(value).limb[0]);
    if (parts == 2)
        data[x.to.imag] = narrowed(imaginary_part(value).limb[0]);
}
#else
MDQR_FN number element_at(const matrix_view& x, i64 offset) {
    return load_as<number>(x.to, offset);
}
MDQR_FN void set_element(const matrix_view& x, i64 offset, const number& value) {
    store_number(x.to, offset, value);
}
#endif

struct window_block {
    const window_arguments& p;
    window_shape q;
    i64 item, stride;
    int thread, shift, slot, lane;
    window_memory matrix, vectors, betas, scalars;
    double *exponents, *powers; // of the columns; of what was left of them

    MDQR_FN window_block(const window_arguments& p, i64 item)
        : p(p), q{int(p.rows), int(p.columns), int(p.below), int(p.lanes)}, item(item),
          stride(p.stride), thread(thread_index()), shift(0) {
        while (1 << shift < q.lanes)
            ++shift;
        slot = thread >> shift;
        lane = thread & (q.lanes - 1);
        double* at = block_memory(p.work);
        matrix = {at, q.rows * stride};
        at += number_planes * matrix.plane;
        vectors = {at, 2 * (q.below + 1)};
        at += number_planes * vectors.plane;
        betas = {at, q.columns};
        at += limbs * betas.plane;
        exponents = at;
        powers = exponents + q.columns;
        scalars = {powers + q.columns, 2};
    }

    MDQR_FN int slots() const { return q.columns + q.below; }
    MDQR_FN bool makes_scalars() const { return thread >= thread_count() - warp_size; }
    MDQR_FN window_memory vector(int j) const {
        return {vectors.data + (j & 1) * (q.below + 1), vectors.plane};
    }
    // Behind the scalars: whether reflector j is the identity.
    MDQR_FN double& identity(int j) const { return scalars.data[2 * number_planes + (j & 1)]; }
    // Whether reflector j meets a slot.
    MDQR_FN bool is_active(int j) const {
        return !makes_scalars() && slot < slots() && (slot > j || slot + q.below < q.rows);
    }
    MDQR_FN number at(i64 i, int c) const {
        number x;
        matrix.get(i * stride + c, x);
        return x;
    }
};

MDQR_FN i64 lanes_peak(i64 peak, int lanes) {
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        const i64 other = bits(shuffle_xor(from_bits(peak), mask));
        peak = other > peak ? other : peak;
    }
    return peak;
}
template <class Number> MDQR_FN Number lanes_sum(Number x, int lanes) {
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        x = plus(x, shuffle_xor(x, mask));
    return x;
}

MDQR_FN number first_number(const window_block& b, int i, int c) {
    if (c >= b.q.columns)
        return number_from<number>(i == c - b.q.columns ? 1.0 : 0.0);
    return i <= c + b.q.below ? element_at(b.p.r, b.p.r.at(b.item, i, c)) : zero_number();
}
MDQR_FN void read_window(const window_block& b) {
    const int total = b.q.rows * b.slots(), step = thread_count();
    for (int first = b.thread; first < total; first += loads_together * step) {
        number x[loads_together];
        static_for<0, loads_together>([&](auto l) MDQR_LAMBDA {
            const int k = first + l * step < total ? first + l * step : first;
            x[l] = first_number(b, k / b.slots(), k % b.slots());
        });
        static_for<0, loads_together>([&](auto l) MDQR_LAMBDA {
            const int k = first + l * step;
            if (k < total)
                b.matrix.put(k / b.slots() * b.stride + k % b.slots(), x[l]);
        });
    }
}

// Divide the columns by their powers of two.
MDQR_FN void scale_window(const window_block& b) {
    const window_shape& q = b.q;
    const bool used = !b.makes_scalars() && b.slot < q.columns;
    const int end = !used ? 0 : b.slot + q.below < q.rows ? b.slot + q.below + 1 : q.rows;
    i64 peak = 0;
    for (int i = b.lane; i < end; i += q.lanes) {
        const i64 other = peak_of(b.at(i, b.slot));
        peak = other > peak ? other : peak;
    }
    const int e = peak_exponent(lanes_peak(peak, q.lanes));
    for (int i = b.lane; i < end; i += q.lanes)
        b.matrix.put(i * b.stride + b.slot, shifted_down(b.at(i, b.slot), e));
    if (used && b.lane == 0)
        b.exponents[b.slot] = from_bits(e);
}

// Take u from column j; the threads of its warp call. What stays in its place is the column of the
// identity that reflector j is the first to meet.
MDQR_FN void take_vector(const window_block& b, int j) {
    const window_shape& q = b.q;
    const window_memory u = b.vector(j);
    const int tail = b.slot == j ? q.tail(j) : -1;
    i64 peak = 0, rest = 0;
    for (int i = b.lane; i <= tail; i += q.lanes) {
        number x = b.at(j + i, j);
        normalise(x);
        u.put(i, x);
        const i64 other = peak_of(x), count = i == 0 ? imaginary_peak(x) : other;
        peak = other > peak ? other : peak;
        rest = count > rest ? count : rest;
    }
    peak = lanes_peak(peak, q.lanes);
    rest = lanes_peak(rest, q.lanes);
    const int e = peak_exponent(peak);
    for (int i = b.lane; i <= tail; i += q.lanes) {
        number x;
        u.get(i, x);
        u.put(i, shifted_down(x, e));
        b.matrix.put((j + i) * b.stride + j, number_from<number>(i == q.below ? 1.0 : 0.0));
    }
    if (b.slot == j && b.lane == 0) {
        b.powers[j] = from_bits(e);
        b.identity(j) = from_bits(rest == 0);
    }
}

// The scalars of reflector j, by one warp.
MDQR_FN void make_scalars(const window_block& b, int j) {
    const int lane = b.thread % warp_size, lanes = b.q.square_lanes();
    const window_memory u = b.vector(j);
    real_number s = from_double<double, limbs>(0.0);
    if (lane < lanes)
        s = window_square<number>(b.q, u, j, lane);
    s = lanes_sum(s, lanes);
    normalise(s);
    number alpha;
    u.get(0, alpha);
    if (lane != 0)
        return;
    const bool identity = bits(b.identity(j)) != 0;
    window_reflector<number> h;
    if (identity) {
        h.beta = real_part(alpha);
    } else {
        h = make_window_reflector(alpha, s);
        b.scalars.put(0, h.root);
        b.scalars.put(1, h.inverse);
    }
    b.betas.put(j, h.beta);
}

MDQR_FN void apply_reflector(const window_block& b, int j, const number& sum, const number& y0) {
    const i64 at = j * b.stride + b.slot;
    real_number root;
    number inverse, r;
    b.scalars.get(0, root);
    b.scalars.get(1, inverse);
    const number factor = window_factor(root, inverse, sum, y0, r);
    if (b.lane == 0)
        b.matrix.put(at, r);
    window_update<updates_together>(b.q, b.vector(j), b.matrix, at, b.stride, j, b.lane, factor);
}

// One column: two barriers of the block.
MDQR_FN void reflect_column(const window_block& b, int j) {
    const bool identity = bits(b.identity(j)) != 0, active = b.is_active(j) && !identity;
    number sum[1] = {zero_number()}, y0 = sum[0];
    if (b.makes_scalars()) {
        make_scalars(b, j);
    } else {
        if (active) {
            y0 = b.at(j, b.slot);
            window_dot(b.q, b.vector(j), b.matrix, j * b.stride + b.slot, b.stride, j, b.lane, sum);
        }
        sum[0] = lanes_sum(sum[0], b.q.lanes);
    }
    sync_threads();
    if (active)
        apply_reflector(b, j, sum[0], y0);
    sync_warp();
    const int next = j + 1;
    if (next < b.q.columns && b.thread / warp_size == (next << b.shift) / warp_size)
        take_vector(b, next);
    sync_threads();
}

// R with zeros below, and E from the columns of E^H.
MDQR_FN void write_window(const window_block& b) {
    const window_shape& q = b.q;
    for (int k = b.thread; k < q.rows * q.columns; k += thread_count()) {
        const int i = k / q.columns, c = k % q.columns;
        number x = zero_number();
        int e = int(bits(b.exponents[c]));
        if (i < c) {
            x = b.at(i, c);
        } else if (i == c) {
            b.betas.get(c, real_part(x));
            e += int(bits(b.powers[c]));
        }
        set_element(b.p.r, b.p.r.at(b.item, i, c), i <= c ? scaled_back(x, e) : x);
    }
    for (int k = b.thread; k < q.rows * q.rows; k += thread_count()) {
        const int t = k / q.rows, i = k % q.rows;
        const int c = t < q.below ? q.columns + t : t - q.below;
        number x = zero_number();
        if (i >= c || t < q.below)
            x = conjugate(b.at(i, c));
        normalise(x);
        set_element(b.p.e, b.p.e.at(b.item, t, i), x);
    }
}

MDQR_END
