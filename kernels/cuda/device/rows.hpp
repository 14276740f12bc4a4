// Rows of numbers: reductions run over the last axis of a block, whose stride is `step`.
//
// A task is one piece of one row. Neighbouring tasks are neighbouring pieces of a row or, where
// neighbours in memory belong to different rows (`across`), the same piece of neighbouring rows.
#pragma once
#include "device/device.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int row_threads = 64;

// `length` elements a row, `piece` of them a piece.
struct row_extent {
    i64 rows, length, step, piece, pieces, across;
    i64 shape[max_axes];
};

// What a task reads or writes once, for every piece of every row.
struct part_view {
    planes to;
    i64 row, piece;
    MDQR_FN i64 at(i64 i, i64 k) const { return i * row + k * piece; }
};

struct task {
    i64 row, piece, length; // length 0: none
};

MDQR_FN task task_at(const row_extent& e, i64 index) {
    task t{index, 0, 0};
    if (index >= e.rows * e.pieces)
        return t;
    if (e.across) {
        t.piece = index / e.rows;
        t.row = index - t.piece * e.rows;
    } else {
        t.row = index / e.pieces;
        t.piece = index - t.row * e.pieces;
    }
    const i64 left = e.length - t.piece * e.piece;
    t.length = left < e.piece ? left : e.piece;
    return t;
}

// The offset of the first element of a row.
MDQR_FN i64 row_start(const row_extent& e, const array_view& x, i64 row) {
    return offset_of(row, e.shape, x.stride);
}

// Eight threads a task: the virtual lanes of the host's reductions. The lanes of a task are
// neighbours, or with `across` the tasks of a lane are.
inline constexpr int virtual_lanes = 8;
inline constexpr int block_tasks = row_threads / virtual_lanes;

struct lane_place {
    int lane, slot, stride; // slot: which task of the block; stride: from lane to lane
};
MDQR_FN lane_place this_lane(const row_extent& e) {
    const int i = thread_index();
    if (e.across)
        return {i / block_tasks, i % block_tasks, block_tasks};
    return {i % virtual_lanes, i / virtual_lanes, 1};
}

// Numbers of the threads of a block in shared memory, limb by limb.
template <int N> MDQR_FN void share(double* shared, int thread, const md<double, N>& x) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { shared[l * row_threads + thread] = x.limb[l]; });
}
template <int N> MDQR_FN void share(double* shared, int thread, const cmd<double, N>& x) {
    share(shared, thread, x.re);
    share(shared + N * row_threads, thread, x.im);
}
template <int N> MDQR_FN void take(const double* shared, int thread, md<double, N>& x) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { x.limb[l] = shared[l * row_threads + thread]; });
}
template <int N> MDQR_FN void take(const double* shared, int thread, cmd<double, N>& x) {
    take(shared, thread, x.re);
    take(shared + N * row_threads, thread, x.im);
}

// Combine the lanes of every task as ((0+4)+(2+6)) + ((1+5)+(3+7)) into lane 0; lanes from `used`
// on hold nothing and take no part.
template <class Item, class Combine>
MDQR_FN void combine_lanes(const lane_place& here, i64 used, Item& item, Combine combine) {
    double* shared = shared_memory();
    const int thread = thread_index();
    for (int width = virtual_lanes / 2; width > 0; width /= 2) {
        sync_threads();
        share(shared, thread, item);
        sync_threads();
        if (here.lane < width && here.lane + width < used) {
            Item other;
            take(shared, thread + width * here.stride, other);
            item = combine(item, other);
        }
    }
}

MDQR_END
