// Reductions over the last axis. One module holds one of them: -DMDQR_REDUCE=sum or prod,
// -DMDQR_CUMSUM or -DMDQR_ARGREDUCE=1 (maximum) or -1 (minimum).
#include "device/inline_networks.hpp"

#include "device/elements.hpp"
#include "device/rows.hpp"

MDQR_BEGIN

#if defined(MDQR_REDUCE)
// Sums and products in the host's order (kernels/host/reduce.cpp): element k of a piece goes to
// lane k mod 8.
#define MDQR_REDUCE_OP(name, operation, start)                                                     \
    MDQR_FN number combine_##name(const number& a, const number& b) {                              \
        return apply_##operation(a, b);                                                            \
    }
#include "mdqr/operations.def"

MDQR_FN number combine(const number& a, const number& b) {
    return MDQR_JOIN(combine_, MDQR_REDUCE)(a, b);
}

MDQR_COLD number combine_call(const number& a, const number& b) { return combine(a, b); }

// Elements that are on their way from memory while as many are combined.
inline constexpr int words = MDQR_LIMBS * (1 + MDQR_COMPLEX);
inline constexpr int ahead = words < 16 ? 16 / words : 1;

MDQR_FN void load_ahead(number (&next)[ahead], const planes& x, i64 at, i64 step) {
    static_for<0, ahead>([&](auto i) MDQR_LAMBDA { load_number(x, at + i * step, next[i]); });
}

MDQR_FN number reduce_lane(const planes& x, i64 at, i64 step, i64 count) {
    number total = load_as<number>(x, at), next[ahead];
    at += step;
    i64 left = count - 1;
    if (left >= ahead)
        load_ahead(next, x, at, step);
    while (left >= ahead) {
        number now[ahead];
        static_for<0, ahead>([&](auto i) MDQR_LAMBDA { now[i] = next[i]; });
        at += ahead * step;
        left -= ahead;
        if (left >= ahead)
            load_ahead(next, x, at, step);
        static_for<0, ahead>([&](auto i) MDQR_LAMBDA { total = combine(total, now[i]); });
    }
    for (; left > 0; --left, at += step)
        total = combine_call(total, load_as<number>(x, at));
    return total;
}

struct reduce_arguments {
    row_extent all;
    array_view x;
    part_view out;
};

MDQR_KERNEL(mdqr_reduce, reduce_arguments, row_threads) {
    const lane_place here = this_lane(p.all);
    const task t = task_at(p.all, block_x() * block_tasks + here.slot);
    number total{};
    if (here.lane < t.length) {
        const i64 first = t.piece * p.all.piece + here.lane;
        total = reduce_lane(p.x.to, row_start(p.all, p.x, t.row) + first * p.all.step,
                            virtual_lanes * p.all.step,
                            (t.length - here.lane + virtual_lanes - 1) / virtual_lanes);
    }
    combine_lanes(here, t.length, total,
                  [](const number& a, const number& b) { return combine_call(a, b); });
    if (here.lane == 0 && t.length > 0)
        store_number(p.out.to, p.out.at(t.row, t.piece), total);
}
#endif

#if defined(MDQR_CUMSUM)
// Running sums of one piece a thread, on top of the running sums of the pieces (`part`).
struct scan_arguments {
    row_extent all;
    array_view x;
    part_view part, out;
};

MDQR_FN i64 piece_start(const row_extent& e, const array_view& x, const task& t) {
    return row_start(e, x, t.row) + t.piece * e.piece * e.step;
}

MDQR_KERNEL(mdqr_piece_sums, scan_arguments, row_threads) {
    const task t = task_at(p.all, block_x() * row_threads + thread_index());
    if (t.length == 0)
        return;
    i64 at = piece_start(p.all, p.x, t);
    number total = load_as<number>(p.x.to, at);
    for (i64 k = 1; k < t.length; ++k) {
        at += p.all.step;
        total = add(total, load_as<number>(p.x.to, at));
    }
    store_number(p.part.to, p.part.at(t.row, t.piece), total);
}

MDQR_KERNEL(mdqr_running_sums, scan_arguments, row_threads) {
    const task t = task_at(p.all, block_x() * row_threads + thread_index());
    if (t.length == 0)
        return;
    i64 from = piece_start(p.all, p.x, t), to = p.out.at(t.row, t.piece * p.all.piece);
    number total;
    for (i64 k = 0; k < t.length; ++k) {
        const number term = load_as<number>(p.x.to, from);
        if (k > 0)
            total = add(total, term);
        else if (t.piece > 0)
            total = add(load_as<number>(p.part.to, p.part.at(t.row, t.piece - 1)), term);
        else
            total = term;
        store_number(p.out.to, to, total);
        from += p.all.step;
        to += p.out.piece;
    }
}
#endif

#if defined(MDQR_ARGREDUCE)
struct candidate {
    real_number value;
    i64 position;
};

MDQR_FN void share(double* shared, int thread, const candidate& x) {
    share(shared, thread, x.value);
    shared[MDQR_LIMBS * row_threads + thread] = from_bits(x.position);
}
MDQR_FN void take(const double* shared, int thread, candidate& x) {
    take(shared, thread, x.value);
    x.position = bits(shared[MDQR_LIMBS * row_threads + thread]);
}

// The one to keep: a NaN before all, then the larger (smaller) one, then the first.
MDQR_FN candidate better(const candidate& a, const candidate& b) {
    const bool a_nan = is_nan(a.value.limb[0]), b_nan = is_nan(b.value.limb[0]);
    const int order = compare(b.value, a.value);
    const bool tie = a_nan ? b_nan : order == 0;
    const bool wins = !a_nan && (b_nan || order == (MDQR_ARGREDUCE));
    return wins || (tie && b.position < a.position) ? b : a;
}

MDQR_COLD candidate better_call(const candidate& a, const candidate& b) { return better(a, b); }

// Positions in x: those that `among` lists for every row, or all. `among` and `out` hold int64.
struct argreduce_arguments {
    row_extent all;
    array_view x;
    part_view among, out;
};

MDQR_FN candidate load_candidate(const argreduce_arguments& p, i64 row, i64 start, i64 k) {
    const i64* listed = reinterpret_cast<const i64*>(p.among.to.data);
    candidate r;
    r.position = listed != nullptr ? listed[p.among.at(row, k)] : k;
    load_number(p.x.to, start + r.position * p.all.step, r.value);
    return r;
}

MDQR_KERNEL(mdqr_argreduce, argreduce_arguments, row_threads) {
    const lane_place here = this_lane(p.all);
    const task t = task_at(p.all, block_x() * block_tasks + here.slot);
    candidate best{};
    if (here.lane < t.length) {
        const i64 start = row_start(p.all, p.x, t.row), first = t.piece * p.all.piece;
        best = load_candidate(p, t.row, start, first + here.lane);
        for (i64 k = here.lane + virtual_lanes; k < t.length; k += virtual_lanes)
            best = better(best, load_candidate(p, t.row, start, first + k));
    }
    combine_lanes(here, t.length, best,
                  [](const candidate& a, const candidate& b) { return better_call(a, b); });
    if (here.lane == 0 && t.length > 0)
        reinterpret_cast<i64*>(p.out.to.data)[p.out.at(t.row, t.piece)] = best.position;
}
#endif

MDQR_END
