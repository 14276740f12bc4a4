// One column z to the left of R: the orthogonal E with E^H z = (zeta, 0), by reflectors of two
// entries from the end upwards; one launch of one block a column. With -DMDQR_FLOAT32 as in
// window/window.cu.
//
// The reflectors depend on z alone: one warp makes the next while the others apply the last.
#include "mdqr/config.hpp"

#if MDQR_LIMBS <= 2
#undef MDQR_CALL
#define MDQR_CALL MDQR_FN
#endif
#include "window/block.hpp"

MDQR_BEGIN

struct rise_arguments {
    matrix_view z; // (item, rows, 1), replaced
    matrix_view e; // (item, rows, rows)
    i64 rows;
    i64 stride; // of the rows that a block keeps
    workspace work;
};

struct rise_block {
    const rise_arguments& p;
    window_shape q;
    i64 item, stride;
    int thread, warp_thread;
    window_memory matrix, z, vectors, scalars;
    double* flags; // whether a reflector is the identity, by parity; the power of z

    MDQR_FN rise_block(const rise_arguments& p, i64 item)
        : p(p), q{int(p.rows), int(p.rows) - 1, 1, 1}, item(item), stride(p.stride),
          thread(thread_index()), warp_thread(thread_index() % warp_size) {
        double* at = block_memory(p.work);
        matrix = {at, q.rows * stride};
        at += number_planes * matrix.plane;
        z = {at, q.rows};
        at += number_planes * z.plane;
        vectors = {at, 4};
        at += number_planes * vectors.plane;
        scalars = {at, 4};
        flags = at + number_planes * scalars.plane;
    }
    MDQR_FN bool makes_scalars() const { return thread >= thread_count() - warp_size; }
    MDQR_FN window_memory vector(int j) const { return {vectors.data + (j & 1) * 2, 4}; }
    MDQR_FN int scalars_at(int j) const { return (j & 1) * 2; }
};

MDQR_FN void read_rise(const rise_block& b) {
    const int m = b.q.rows;
    for (int k = b.thread; k < m * m; k += thread_count())
        b.matrix.put(k / m * b.stride + k % m, number_from<number>(k / m == k % m ? 1.0 : 0.0));
    if (!b.makes_scalars())
        return;
    i64 peak = 0;
    for (int i = b.warp_thread; i < m; i += warp_size) {
        const number x = element_at(b.p.z, b.p.z.at(b.item, i, 0));
        b.z.put(i, x);
        peak = peak_of(x) > peak ? peak_of(x) : peak;
    }
    const int e = peak_exponent(lanes_peak(peak, warp_size));
    for (int i = b.warp_thread; i < m; i += warp_size) {
        number x;
        b.z.get(i, x);
        b.z.put(i, shifted_down(x, e));
    }
    if (b.warp_thread == 0)
        b.flags[2] = from_bits(e);
    sync_warp();
}

// Reflector j from z_j and what is left below; one warp.
MDQR_FN void make_reflector(const rise_block& b, int j) {
    const window_memory u = b.vector(j);
    number x[2];
    b.z.get(j, x[0]);
    b.z.get(j + 1, x[1]);
    normalise(x[0]);
    normalise(x[1]);
    const i64 above = peak_of(x[0]), rest = peak_of(x[1]);
    const int e = peak_exponent(above > rest ? above : rest);
    const int entry = b.warp_thread == 0 ? 0 : 1;
    if (b.warp_thread < 2)
        u.put(entry, shifted_down(x[entry], e));
    sync_warp();
    real_number s = from_double<double, limbs>(0.0);
    if (b.warp_thread < 2)
        s = window_square<number>(b.q, u, j, entry);
    s = lanes_sum(s, 2);
    normalise(s);
    if (b.warp_thread == 0) {
        const bool identity = rest == 0 && imaginary_peak(x[0]) == 0;
        b.flags[j & 1] = from_bits(identity);
        b.z.put(j + 1, zero_number());
        if (!identity) {
            number alpha;
            u.get(0, alpha);
            const window_reflector<number> h = make_window_reflector(alpha, s);
            b.scalars.put(b.scalars_at(j), h.root);
            b.scalars.put(b.scalars_at(j) + 1, h.inverse);
            b.z.put(j, shifted_down(from_real(h.beta), -e));
        }
    }
    sync_warp();
}

// Columns j and later of E^H: those before are still the identity's.
MDQR_FN void apply_reflector(const rise_block& b, int j) {
    const int t = b.thread;
    if (t >= b.q.rows || t < j || bits(b.flags[j & 1]) != 0)
        return;
    const i64 at = j * b.stride + t;
    number sum[1], y0, inverse, r;
    real_number root;
    b.matrix.get(at, y0);
    window_dot(b.q, b.vector(j), b.matrix, at, b.stride, j, 0, sum);
    b.scalars.get(b.scalars_at(j), root);
    b.scalars.get(b.scalars_at(j) + 1, inverse);
    const number factor = window_factor(root, inverse, sum[0], y0, r);
    b.matrix.put(at, r);
    window_update<1>(b.q, b.vector(j), b.matrix, at, b.stride, j, 0, factor);
}

MDQR_FN void write_rise(const rise_block& b) {
    const int m = b.q.rows, e = int(bits(b.flags[2]));
    for (int i = b.thread; i < m; i += thread_count()) {
        number x;
        b.z.get(i, x);
        set_element(b.p.z, b.p.z.at(b.item, i, 0), scaled_back(x, e));
    }
    for (int k = b.thread; k < m * m; k += thread_count()) {
        number x;
        b.matrix.get(k % m * b.stride + k / m, x);
        x = conjugate(x);
        normalise(x);
        set_element(b.p.e, b.p.e.at(b.item, k / m, k % m), x);
    }
}

// The last warp makes the scalars.
MDQR_FN void reduce_column(const rise_block& b) {
    read_rise(b);
    sync_threads();
    for (int j = b.q.columns; j >= 0; --j) {
        if (b.makes_scalars()) {
            if (j > 0)
                make_reflector(b, j - 1);
        } else if (j < b.q.columns) {
            apply_reflector(b, j);
        }
        sync_threads();
    }
    write_rise(b);
}

MDQR_END

// Grid: items.
MDQR_KERNEL(mdqr_rise, mdqr::rise_arguments, mdqr::window_threads) {
    using namespace mdqr;
    for_units(p.work, [&](i64 item) MDQR_LAMBDA { reduce_column(rise_block(p, item)); });
}
