// Who works on a small system: one thread of a CPU here, the threads of a block on a GPU
// (kernels/cuda/small/team.hpp). Results do not depend on the team.
//
// Tasks do not depend on one another; the threads of a block share them, between two barriers. What
// stands outside of tasks every thread does for itself: it reads shared memory and changes nothing
// there.
#pragma once
#include "mdqr/number/lane.hpp"

// What would reach an object through its address, which takes it from the registers of a GPU.
#if MDQR_DEVICE && !defined(MDQR_QUICK)
#define MDQR_METHOD MDQR_FN
#else
#define MDQR_METHOD MDQR_CALL
#endif

// Code for first calls is short, so that it is compiled soon: loops stay loops, and functions
// apart.
#if defined(MDQR_QUICK)
#define MDQR_SHORT MDQR_CALL
#else
#define MDQR_SHORT MDQR_FN
#endif

MDQR_BEGIN

#if defined(MDQR_QUICK)
inline constexpr bool keeps_loops = true;
#else
inline constexpr bool keeps_loops = false;
#endif

// Sum of a[i] b[i] in 8 parts and a tree; count is a multiple of 8. Single lanes may be `step`
// apart.
template <class T>
MDQR_FN double dot_of_eight(const double* a, const double* b, int count, int step = 1) {
    constexpr int L = lanes<T>, V = 8 / L;
    T part[V];
    for (int v = 0; v < V; ++v)
        part[v] = broadcast<T>(0.0);
    for (int i = 0; i < count; i += 8)
        static_for<0, V>([&](auto v) MDQR_LAMBDA {
            part[v] =
                fma(load<T>(a + (i + v * L) * step), load<T>(b + (i + v * L) * step), part[v]);
        });
    alignas(64) double x[8];
    for (int v = 0; v < V; ++v)
        store(x + v * L, part[v]);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// What one thread does of a column: `lanes` entries from `begin` on, and again after `step`.
struct column_part {
    int begin, step, lanes;
    MDQR_FN bool has(int i) const { return i % step >= begin && i % step < begin + lanes; }
};

// What one thread does of a sum: terms from `first` on, and again after `step`.
struct whole_sum {
    static constexpr int first = 0, step = 1;
    template <class I> MDQR_FN I total(I x) const { return x; }
};

struct one_worker {
    // What points to numbers that all threads use.
    template <class P> using array = P*;
    // Whether a matrix is read by rows as a copy that lies by rows.
    static constexpr bool transposes = true;
    // Groups of lanes that a task of a matrix-vector product takes.
    static constexpr int groups_together = 4;
    // How far columns of so many rows are apart in memory.
    MDQR_FN static int apart(int rows) { return rows; }

    template <class F> MDQR_FN void each(int count, F&& f) const {
        for (int i = 0; i < count; ++i)
            f(i);
    }
    // Tasks f(i, j).
    template <class F> MDQR_FN void each_pair(int rows, int columns, F&& f) const {
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j)
                f(i, j);
    }
    // Tasks on a column each, which several threads may share: f(j, part).
    template <class T, class F> MDQR_FN void each_column(int count, F&& f) const {
        for (int j = 0; j < count; ++j)
            f(j, column_part{0, lanes<T>, lanes<T>});
    }
    // y += x factor, what is `part` of `count` entries.
    template <class T>
    MDQR_FN static void add_multiple(column_part part, int count, const double* x, double factor,
                                     double* y) {
        const T by = broadcast<T>(factor);
        for (int i = part.begin; i < count; i += part.step)
            store(y + i, fma(load<T>(x + i), by, load<T>(y + i)));
    }
    // Tasks f(i, share) that form sums, which several threads may share: each calls f.
    template <class F> MDQR_FN void each_sum(int count, F&& f) const {
        for (int i = 0; i < count; ++i)
            f(i, whole_sum{});
    }
    // Tasks of columns after a dot product each: f(j, part, dot of a(j) and b(j)).
    template <class T, class A, class B, class F>
    MDQR_FN void each_dot(int count, int rows, A&& a, B&& b, F&& f) const {
        for (int j = 0; j < count; ++j)
            f(j, column_part{0, lanes<T>, lanes<T>}, dot_of_eight<T>(a(j), b(j), rows));
    }
    template <class T> MDQR_FN double dot(const double* a, const double* b, int count) const {
        return dot_of_eight<T>(a, b, count);
    }
    // The largest f(i), 0 if none is above; NaN does not count.
    template <class F> MDQR_FN double largest(int count, F&& f) const {
        double most = 0.0;
        for (int i = 0; i < count; ++i) {
            const double x = f(i);
            most = x > most ? x : most;
        }
        return most;
    }
    // The same of tasks f(i, j), which come before other tasks: rows * columns of them.
    template <class F> MDQR_FN double largest_task(int rows, int columns, double*, F&& f) const {
        double most = 0.0;
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
                const double x = f(i, j);
                most = x > most ? x : most;
            }
        return most;
    }
    // The first i with the largest f(i), -1 if none is above 0.
    template <class F> MDQR_FN int first_largest(int count, F&& f) const {
        int first = -1;
        double most = 0.0;
        for (int i = 0; i < count; ++i)
            if (const double x = f(i); x > most) {
                most = x;
                first = i;
            }
        return first;
    }
};

template <class Team> MDQR_SHORT double largest_of(Team team, const double* x, int count) {
    return team.largest(count, [&](int i) { return abs(x[i]); });
}

MDQR_END
