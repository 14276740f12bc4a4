// The reflections that an orthonormal panel stands for.
#include "device/floats.hpp"

MDQR_BEGIN

inline constexpr int panel_columns = 128;
inline constexpr int reflector_threads = 256;
inline constexpr int side = 16, cells = panel_columns / side;

struct reflector_arguments {
    float_matrix q, k;
    float* signs;
};

struct cell_block {
    double x[cells][cells]; // element (y + 16 a, x + 16 b) of the thread (x, y)
};

// Row and column of a step by turns, so that one barrier a step is enough, and the signs.
struct reflector_shared {
    double *rows, *columns, *signs;
    MDQR_FN explicit reflector_shared(double* start)
        : rows(start), columns(start + 2 * panel_columns), signs(start + 4 * panel_columns) {}
};

// Step k = y_of_k + 16 A of the inversion in place: row and column k are replaced, multiples of
// them leave the others.
template <int A>
MDQR_FN void invert_step(cell_block& g, const double* row, const double* column, int k,
                         double reciprocal) {
    const int x = thread_index() % side, y = thread_index() / side;
    double values[cells];
    static_for<0, cells>([&](auto b) MDQR_LAMBDA {
        const int j = x + side * b;
        values[b] = b == A && j == k ? reciprocal : row[j] * reciprocal;
    });
    static_for<0, cells>([&](auto a) MDQR_LAMBDA {
        const int i = y + side * a;
        const bool in_row = a == A && i == k;
        const double factor = in_row ? -1.0 : column[i];
        static_for<0, cells>([&](auto b) MDQR_LAMBDA {
            const bool replaced = in_row || (b == A && x + side * b == k);
            g.x[a][b] = fma(-factor, values[b], replaced ? 0.0 : g.x[a][b]);
        });
    });
}

// Steps A * 16 to + 15. The sign that makes the pivot larger is subtracted from it.
template <int A> MDQR_FN void invert_steps(cell_block& g, const reflector_shared& s, int columns) {
    const int x = thread_index() % side, y = thread_index() / side;
    for (int z = 0; z < side; ++z) {
        const int k = side * A + z;
        if (k >= columns)
            return;
        double* const row = s.rows + k % 2 * panel_columns;
        double* const column = s.columns + k % 2 * panel_columns;
        if (y == z)
            static_for<0, cells>([&](auto b) MDQR_LAMBDA { row[x + side * b] = g.x[A][b]; });
        if (x == z)
            static_for<0, cells>([&](auto a) MDQR_LAMBDA { column[y + side * a] = g.x[a][A]; });
        sync_threads();
        const double sign = row[k] >= 0.0 ? -1.0 : 1.0;
        if (thread_index() == 0)
            s.signs[k] = sign;
        invert_step<A>(g, row, column, k, 1.0 / (row[k] - sign));
    }
}

MDQR_END

// One block: Y = Q - E S in place, and K = -S (Q1 - S)^-T, where Q1 are the first rows of Q.
MDQR_KERNEL(mdqr_tensorcore_reflector, mdqr::reflector_arguments, mdqr::reflector_threads) {
    using namespace mdqr;
    const reflector_shared shared(shared_memory());
    const int x = thread_index() % side, y = thread_index() / side;
    const int columns = int(p.q.columns);
    cell_block g;
    static_for<0, cells>([&](auto a) MDQR_LAMBDA {
        static_for<0, cells>([&](auto b) MDQR_LAMBDA {
            const int i = y + side * a, j = x + side * b;
            g.x[a][b] = i < columns && j < columns ? double(p.q.at(i, j)) : 0.0;
        });
    });
    static_for<0, cells>([&](auto a) MDQR_LAMBDA { invert_steps<a.value>(g, shared, columns); });
    sync_threads();
    if (thread_index() < columns) {
        const int t = thread_index();
        const float sign = float(shared.signs[t]);
        p.signs[t] = sign;
        p.q.at(t, t) = p.q.at(t, t) - sign;
    }
    static_for<0, cells>([&](auto a) MDQR_LAMBDA {
        static_for<0, cells>([&](auto b) MDQR_LAMBDA {
            const int i = y + side * a, j = x + side * b;
            if (i < columns && j < columns)
                p.k.at(j, i) = float(-shared.signs[j] * g.x[a][b]);
        });
    });
}
