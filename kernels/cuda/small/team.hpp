// The threads of a block as the team of a small system, see mdqr/small/team.hpp.
#pragma once
#if !defined(MDQR_MOST_DIGITS)
#define MDQR_MOST_DIGITS 14
#endif
#include "device/device.hpp"

#include "mdqr/small/team.hpp"
#include "mdqr/digits.hpp"

// Bodies of tasks are long, and what is unrolled does not fit the instruction cache.
#if defined(MDQR_EMULATE)
#define MDQR_ROLLED
#define MDQR_BY_FOUR
#else
#define MDQR_ROLLED _Pragma("unroll 1")
#define MDQR_BY_FOUR _Pragma("unroll 4")
#endif

MDQR_BEGIN

inline constexpr int warp_size = 32;
// Systems of more than 64 rows have a multiprocessor for two or themselves.
#if defined(MDQR_WIDE)
inline constexpr int most_small_threads = 512, small_blocks = 1;
inline constexpr int threads_of_column = 32, threads_of_sum = 4;
#else
inline constexpr int most_small_threads = 128, small_blocks = 3;
inline constexpr int threads_of_column = 8, threads_of_sum = 1;
#endif
#if defined(MDQR_GLOBAL)
inline constexpr bool in_shared = false;
#else
inline constexpr bool in_shared = true;
#endif

// An array in shared memory: half a register, and accesses that need no general address.
template <class P> struct shared_array {
    using element = P;
    int offset; // in bytes
    shared_array() = default;
    MDQR_FN shared_array(double* p) : offset(int(p - shared_memory()) * 8) {}
    MDQR_FN operator P*() const {
        return reinterpret_cast<P*>(reinterpret_cast<char*>(shared_memory()) + offset);
    }
};
template <bool InShared> struct array_choice {
    template <class P> using array = shared_array<P>;
};
template <> struct array_choice<false> {
    template <class P> using array = P*;
};

// What one thread does of a sum that neighbours share.
struct shared_sum {
    static constexpr int step = threads_of_sum;
    int first;
    MDQR_FN i64 total(i64 x) const {
        for (int mask = step / 2; mask > 0; mask >>= 1)
            x = wrapping_add(x, bits(shuffle_xor(from_bits(x), mask)));
        return x;
    }
};

// Sums and maxima that all threads need are formed by every warp for itself, without a barrier.
struct block_team : array_choice<in_shared> {
    int thread, threads; // whole warps

    MDQR_FN block_team() : thread(thread_index()), threads(thread_count()) {}

    // Global memory is read in order.
    static constexpr bool transposes = !in_shared;
    static constexpr int groups_together = 1;
    // Odd, so that rows as well as columns lie in different banks.
    MDQR_FN static int apart(int rows) { return rows + 1; }

    MDQR_FN void sync() const {
        if (threads == warp_size)
            sync_warp();
        else
            sync_threads();
    }
    template <class F> MDQR_FN void each(int count, F&& f) const {
        sync();
        MDQR_ROLLED
        for (int i = thread; i < count; i += threads)
            f(i);
        sync();
    }
    template <class F> MDQR_FN void each_pair(int rows, int columns, F&& f) const {
        sync();
        each_own_pair(rows, columns, f);
        sync();
    }
    template <class F> MDQR_FN void each_own_pair(int rows, int columns, F&& f) const {
        const int down = threads / columns, right = threads % columns;
        int i = thread / columns, j = thread % columns;
        MDQR_ROLLED
        while (i < rows) {
            f(i, j);
            i += down;
            j += right;
            if (j >= columns) {
                j -= columns;
                ++i;
            }
        }
    }
    template <class T, class F> MDQR_FN void each_column(int count, F&& f) const {
        constexpr int share = threads_of_column;
        sync();
        MDQR_ROLLED
        for (int j = thread / share; j < count; j += threads / share)
            f(j, column_part{thread % share, share, 1});
        sync();
    }
    // Loads that follow a store wait for it.
    template <class T>
    MDQR_FN static void add_multiple(column_part part, int count, const double* x, double factor,
                                     double* y) {
        constexpr int together = 4;
        for (int first = part.begin; first < count; first += together * part.step) {
            T sum[together];
            static_for<0, together>([&](auto k) MDQR_LAMBDA {
                const int i = first + k * part.step;
                sum[k] = i < count ? fma(x[i], factor, y[i]) : 0.0;
            });
            static_for<0, together>([&](auto k) MDQR_LAMBDA {
                if (const int i = first + k * part.step; i < count)
                    y[i] = sum[k];
            });
        }
    }
    // Counts are multiples of 8, so that warps stay together.
    template <class F> MDQR_FN void each_sum(int count, F&& f) const {
        sync();
        MDQR_ROLLED
        for (int i = thread / threads_of_sum; i < count; i += threads / threads_of_sum)
            f(i, shared_sum{thread % threads_of_sum});
        sync();
    }
    // Eight threads a column, in the order of dot_of_eight.
    template <class T, class A, class B, class F>
    MDQR_FN void each_dot(int count, int rows, A&& a, B&& b, F&& f) const {
        sync();
        MDQR_ROLLED
        for (int first = 0; first < count; first += threads / 8) {
            const int j = first + thread / 8;
            const double sum = dot<T>(a(j < count ? j : 0), b(j < count ? j : 0), rows);
            if (j < count)
                f(j, column_part{thread % 8, 8, 1}, sum);
        }
        sync();
    }
    // In the order of dot_of_eight.
    template <class T> MDQR_FN double dot(const double* a, const double* b, int count) const {
        double sum = 0.0;
        MDQR_BY_FOUR
        for (int i = thread % 8; i < count; i += 8)
            sum = fma(a[i], b[i], sum);
        for (int mask = 4; mask > 0; mask >>= 1)
            sum = one_sum(sum, shuffle_xor(sum, mask));
        return sum;
    }
    template <class F> MDQR_FN double largest(int count, F&& f) const {
        double most = 0.0;
        MDQR_ROLLED
        for (int i = thread % warp_size; i < count; i += warp_size) {
            const double x = f(i);
            most = x > most ? x : most;
        }
        return largest_of_warp(most);
    }
    MDQR_FN static double largest_of_warp(double most) {
        MDQR_ROLLED
        for (int mask = warp_size / 2; mask > 0; mask >>= 1) {
            const double x = shuffle_xor(most, mask);
            most = x > most ? x : most;
        }
        return most;
    }
    // `slots` has a number for each warp.
    template <class F>
    MDQR_FN double largest_task(int rows, int columns, double* slots, F&& f) const {
        double most = 0.0;
        sync();
        each_own_pair(rows, columns, [&](int i, int j) {
            const double x = f(i, j);
            most = x > most ? x : most;
        });
        most = largest_of_warp(most);
        if (thread % warp_size == 0)
            slots[thread / warp_size] = most;
        sync();
        return largest(threads / warp_size, [&](int i) { return slots[i]; });
    }
    template <class F> MDQR_FN int first_largest(int count, F&& f) const {
        int first = count;
        double most = 0.0;
        MDQR_ROLLED
        for (int i = thread % warp_size; i < count; i += warp_size)
            if (const double x = f(i); x > most) {
                most = x;
                first = i;
            }
        MDQR_ROLLED
        for (int mask = warp_size / 2; mask > 0; mask >>= 1) {
            const double x = shuffle_xor(most, mask);
            const int i = int(shuffle_xor(double(first), mask));
            if (x > most || (x == most && i < first)) {
                most = x;
                first = i;
            }
        }
        return first < count ? first : -1;
    }
};

MDQR_END
