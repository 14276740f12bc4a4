// The threads of a block as the team of a small system, see mdqr/small/team.hpp.
#pragma once
#include "device/device.hpp"

#include "mdqr/small/team.hpp"

MDQR_BEGIN

inline constexpr int warp_size = 32;
inline constexpr int most_small_threads = 256;

// Sums and maxima that all threads need are formed by every warp for itself, without a barrier.
struct block_team {
    int thread, threads; // whole warps

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
        for (int i = thread; i < count; i += threads)
            f(i);
        sync();
    }
    template <class F> MDQR_FN void each_pair(int rows, int columns, F&& f) const {
        sync();
        const int down = threads / columns, right = threads % columns;
        int i = thread / columns, j = thread % columns;
        while (i < rows) {
            f(i, j);
            i += down;
            j += right;
            if (j >= columns) {
                j -= columns;
                ++i;
            }
        }
        sync();
    }
    // Eight threads a column.
    template <class T, class F> MDQR_FN void each_column(int count, F&& f) const {
        sync();
        for (int j = thread / 8; j < count; j += threads / 8)
            f(j, column_part{thread % 8, 8, 1});
        sync();
    }
    template <class T, class A, class B, class F>
    MDQR_FN void each_dot(int count, int rows, A&& a, B&& b, F&& f) const {
        sync();
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
        for (int i = thread % 8; i < count; i += 8)
            sum = fma(a[i], b[i], sum);
        for (int mask = 4; mask > 0; mask >>= 1)
            sum = one_sum(sum, shuffle_xor(sum, mask));
        return sum;
    }
    template <class F> MDQR_FN double largest(int count, F&& f) const {
        double most = 0.0;
        for (int i = thread % warp_size; i < count; i += warp_size) {
            const double x = f(i);
            most = x > most ? x : most;
        }
        for (int mask = warp_size / 2; mask > 0; mask >>= 1) {
            const double x = shuffle_xor(most, mask);
            most = x > most ? x : most;
        }
        return most;
    }
    template <class F> MDQR_FN int first_largest(int count, F&& f) const {
        int first = count;
        double most = 0.0;
        for (int i = thread % warp_size; i < count; i += warp_size)
            if (const double x = f(i); x > most) {
                most = x;
                first = i;
            }
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
