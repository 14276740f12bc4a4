// Panels of elimination for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS): one thread with its
// lanes is the team of mdqr/elimination.hpp.
#include "level/level.hpp"

#include "mdqr/elimination.hpp"
#include "products/matmul_scratch.hpp"
#include "factor/panel_math.hpp"
#include "module/entries.hpp"

MDQR_BEGIN

// Vectors as planes of limbs, their entries in lanes.
template <class Number> struct vector_team {
    static constexpr int N = Number::limbs, planes = number_of<Number>::planes, L = lanes<lane>;
    using scalar = typename number_of<Number>::scalar;

    int steps;
    ptrdiff_t length, padded;
    double* data;
    bool triangular; // vector c begins with entry c

    vector_team(int steps, ptrdiff_t length, double* data, bool triangular)
        : steps(steps), length(length), padded(padded_length(length)), data(data),
          triangular(triangular) {}
    static ptrdiff_t padded_length(ptrdiff_t length) { return (length + L - 1) / L * L; }
    static size_t words(int vectors, ptrdiff_t length) {
        return size_t(vectors * planes * padded_length(length));
    }

    column vector(int j) const { return {data + j * planes * padded, padded}; }

    // f(x) for the entries from `first` on, and those before in the same group.
    template <class F> MDQR_FN void each(int j, ptrdiff_t first, F f) const {
        for (ptrdiff_t i = first / L * L; i < padded; i += L) {
            Number x;
            read(vector(j), i, x);
            f(x);
            write(vector(j), i, x);
        }
    }
    template <class Real> MDQR_FN auto spread(const Real& x) const { return everywhere(x); }

    // Vector c += factor(c) times vector j, for the vectors behind j.
    template <class F> MDQR_FN void subtract(int j, F factor) const {
        for (int c = j + 1; c < steps; ++c)
            column_update<Number>(vector(c), vector(j), factor(c), (triangular ? c : j + 1) / L * L,
                                  padded);
    }
};

inline double* place_of(const block_view& x, ptrdiff_t item, ptrdiff_t i, ptrdiff_t j) {
    return x.data + item * x.stride[0] + i * x.stride[1] + j * x.stride[2];
}

// Entries [from, to) of a vector of planes, `along` apart in a block that may hold fewer limbs.
template <int N>
void take(const column& to, int planes, const block_view& x, const double* from, ptrdiff_t along,
          ptrdiff_t first, ptrdiff_t count, ptrdiff_t at) {
    for (int plane = 0; plane < planes; ++plane) {
        double* p = to.data + plane * to.rows + at;
        if (plane % N >= x.limbs)
            continue;
        const double* q = from + plane / N * x.imag + plane % N * x.plane + first * along;
        for (ptrdiff_t i = 0; i < count; ++i)
            p[i] = q[i * along];
    }
}
template <int N>
void give(const column& from, int planes, const block_view& x, double* to, ptrdiff_t along,
          ptrdiff_t first, ptrdiff_t count, ptrdiff_t at) {
    for (int plane = 0; plane < planes; ++plane) {
        const double* p = from.data + plane * from.rows + at;
        double* q = to + plane / N * x.imag + plane % N * x.plane + first * along;
        for (ptrdiff_t i = 0; i < count; ++i)
            q[i * along] = p[i];
    }
}

// Columns [first, first + steps) of one matrix, from row `first` on. Rows of U are kept apart:
// zeros in their place let groups of lanes begin above the diagonal.
template <class Number> struct column_team : vector_team<Number> {
    using base = vector_team<Number>;
    using base::length;
    using base::planes;
    using base::steps;
    using base::vector;
    using typename base::scalar;
    static constexpr int N = base::N;

    double* upper; // row j, column c at [j][c][plane]
    long long* places;

    column_team(int steps, ptrdiff_t length, double* data, double* upper, long long* places)
        : base(steps, length, data, false), upper(upper), places(places) {}

    column kept_at(int j, int c) const { return {upper + (j * steps + c) * planes, 1}; }
    scalar kept(int j, int c) const {
        scalar x;
        read_one(kept_at(j, c), 0, x);
        return x;
    }

    void exchange(int j) const {
        ptrdiff_t place = j;
        double most = -1.0;
        for (ptrdiff_t i = j; i < length; ++i) {
            scalar x;
            read_leading(vector(j), i, x);
            const double size = pivot_size(x);
            if (size > most) {
                most = size;
                place = i;
            }
        }
        places[j] = place;
        for (int c = 0; c < steps; ++c) {
            const column v = vector(c);
            scalar top, x;
            read_one(v, j, top);
            read_one(v, place, x);
            write_one(v, place, top);
            if (c >= j) {
                finish_entry(x);
                write_one(kept_at(j, c), 0, x);
                x = zero_number<scalar>();
            }
            write_one(v, j, x);
        }
    }

private:
    static void read_leading(const column& v, ptrdiff_t i, md<double, N>& x, int first = 0) {
        x.limb[0] = v.data[first * v.rows + i];
    }
    static void read_leading(const column& v, ptrdiff_t i, cmd<double, N>& x) {
        read_leading(v, i, x.re);
        read_leading(v, i, x.im, N);
    }
};

// Rows [0, w) of the columns of the tile and of others.
template <class Number> struct row_team : vector_team<Number> {
    using base = vector_team<Number>;
    using base::base;
    using base::vector;
    using typename base::scalar;

    scalar kept(int j, int i) const {
        scalar x;
        read_one(vector(j), i, x);
        return x;
    }
    void put_diagonal(int j, const md<double, base::N>& root) const {
        scalar x = zero_number<scalar>();
        real_of(x) = root;
        write_one(vector(j), j, x);
    }

private:
    static md<double, base::N>& real_of(md<double, base::N>& x) { return x; }
    static md<double, base::N>& real_of(cmd<double, base::N>& x) { return x.re; }
};

// Interchange columns [from, to) of two rows.
inline void exchange_rows(const block_view& a, int planes, ptrdiff_t item, ptrdiff_t i, ptrdiff_t j,
                          ptrdiff_t from, ptrdiff_t to) {
    for (int plane = 0; plane < planes && i != j; ++plane) {
        const ptrdiff_t shift = plane / a.limbs * a.imag + plane % a.limbs * a.plane;
        double *x = place_of(a, item, i, 0) + shift, *y = place_of(a, item, j, 0) + shift;
        for (ptrdiff_t c = from; c < to; ++c) {
            const double kept = x[c * a.stride[2]];
            x[c * a.stride[2]] = y[c * a.stride[2]];
            y[c * a.stride[2]] = kept;
        }
    }
}

template <class Number>
void eliminate_item(const block_view& a, long long* places, ptrdiff_t item, int first, int last) {
    using team = column_team<Number>;
    constexpr int N = team::N, planes = team::planes;
    const int steps = last - first;
    const ptrdiff_t length = a.shape[1] - first;
    const size_t words = team::words(steps, length), kept = size_t(steps * steps * planes);
    double* memory = mdqr_host::matmul_scratch(words + kept);
    for (size_t i = 0; i < words; ++i)
        memory[i] = 0.0;
    const team t(steps, length, memory, memory + words, places);
    for (int c = 0; c < steps; ++c)
        take<N>(t.vector(c), planes, a, place_of(a, item, first, first + c), a.stride[1], 0, length,
                0);
    eliminate(t);
    for (int c = 0; c < steps; ++c)
        for (int j = 0; j <= c; ++j)
            write_one(t.vector(c), j, t.kept(j, c));
    for (int c = 0; c < steps; ++c)
        give<N>(t.vector(c), planes, a, place_of(a, item, first, first + c), a.stride[1], 0, length,
                0);
    for (int j = 0; j < steps; ++j) {
        places[j] += first;
        exchange_rows(a, planes, item, first + j, places[j], 0, first);
        exchange_rows(a, planes, item, first + j, places[j], last, a.shape[2]);
    }
    mdqr_host::trim_matmul_scratch();
}

template <class Number>
void factor_columns(const block_view& a, long long* places, ptrdiff_t apart, int first, int last) {
    parallel_for(a.shape[0], [&](ptrdiff_t item) {
        eliminate_item<Number>(a, places + item * apart + first, item, first, last);
    });
}

// The tile is reduced with each piece of the other columns.
template <class Number>
void reduce_piece(const block_view& c, const block_view& a, ptrdiff_t item, ptrdiff_t from,
                  ptrdiff_t to) {
    using team = row_team<Number>;
    constexpr int N = team::N, planes = team::planes;
    const int w = int(a.shape[1]);
    const ptrdiff_t length = w + to - from;
    double* memory = mdqr_host::matmul_scratch(team::words(w, length));
    for (size_t i = 0; i < team::words(w, length); ++i)
        memory[i] = 0.0;
    const team t(w, length, memory, true);
    for (int j = 0; j < w; ++j) {
        const double* row = place_of(a, item, j, 0);
        take<N>(t.vector(j), planes, a, row, a.stride[2], j, w - j, j);
        take<N>(t.vector(j), planes, a, row, a.stride[2], from, to - from, w);
    }
    reduce_definite(t);
    for (int j = 0; j < w; ++j) {
        double* row = place_of(c, item, j, 0);
        if (from == w) {
            for (int i = 0; i < j; ++i)
                write_one(t.vector(j), i, zero_number<typename team::scalar>());
            give<N>(t.vector(j), planes, c, row, c.stride[2], 0, w, 0);
        }
        give<N>(t.vector(j), planes, c, row, c.stride[2], from, to - from, w);
    }
    mdqr_host::trim_matmul_scratch();
}

template <class Number> void reduce_rows(const block_view& c, const block_view& a) {
    constexpr ptrdiff_t width = 128;
    const ptrdiff_t w = a.shape[1], others = a.shape[2] - w;
    const ptrdiff_t pieces = others <= width ? 1 : (others + width - 1) / width;
    parallel_for(a.shape[0] * pieces, [&](ptrdiff_t task) {
        const ptrdiff_t from = w + task % pieces * width;
        const ptrdiff_t to = from + width < a.shape[2] ? from + width : a.shape[2];
        reduce_piece<Number>(c, a, task / pieces, from, to);
    });
}

template <int N>
void mdqr_lu_panel(const block_view& a, long long* places, ptrdiff_t apart, int first, int last) {
    if (a.imag != 0)
        factor_columns<cmd<lane, N>>(a, places, apart, first, last);
    else
        factor_columns<md<lane, N>>(a, places, apart, first, last);
}
template <int N> void mdqr_cholesky_panel(const block_view& c, const block_view& a) {
    if (c.imag != 0)
        reduce_rows<cmd<lane, N>>(c, a);
    else
        reduce_rows<md<lane, N>>(c, a);
}

template void mdqr_lu_panel<MDQR_LIMBS>(const block_view&, long long*, ptrdiff_t, int, int);
template void mdqr_cholesky_panel<MDQR_LIMBS>(const block_view&, const block_view&);

MDQR_END
