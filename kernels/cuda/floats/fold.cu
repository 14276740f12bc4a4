// Sums, extremes and tests of plain arrays along axes: CuPy compiles its own for seconds.
#include "device/device.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int fold_threads = 256, warp_lanes = 32;

enum fold_op { fold_sum, fold_max, fold_min, fold_any, fold_all };
enum fold_type { fold_double, fold_integer, fold_bool };

// A task is a piece of what belongs to one output; a thread or, if not `across`, a warp has it.
struct fold_arguments {
    const void* data;
    void* out;
    i64 op, type, to_bool;
    i64 outputs, length, piece, pieces, across;
    i64 kept_shape[max_axes], kept_stride[max_axes];
    i64 is_line, shape[max_axes], stride[max_axes]; // of what is folded; a line has one axis
};

MDQR_FN i64 truth(double x) { return x != 0.0; }
MDQR_FN i64 truth(i64 x) { return x != 0; }
MDQR_FN bool is_nan(i64) { return false; }
MDQR_FN double as_double(double x) { return x; }
MDQR_FN double as_double(i64 x) { return from_bits(x); }
MDQR_FN void from_double(double x, double& to) { to = x; }
MDQR_FN void from_double(double x, i64& to) { to = bits(x); }

template <class Number> MDQR_FN Number folded(i64 op, Number x, Number y) {
    switch (op) {
    case fold_sum:
        return x + y;
    case fold_max:
    case fold_any:
        return y > x || is_nan(y) ? y : x;
    default:
        return y < x || is_nan(y) ? y : x;
    }
}

// Entry -> Number, from `first` of the task on.
template <class Entry, class Number> MDQR_FN void fold(const fold_arguments& p) {
    const Entry* const data = static_cast<const Entry*>(p.data);
    const i64 thread = block_x() * fold_threads + thread_index();
    const int lanes = p.across ? 1 : warp_lanes, lane = p.across ? 0 : int(thread % warp_lanes);
    const i64 task = thread / lanes;
    const bool exists = task < p.outputs * p.pieces;
    const i64 part = p.across ? task / p.outputs : task % p.pieces,
              output = p.across ? task % p.outputs : task / p.pieces;
    Number sum = 0;
    bool some = false;
    if (exists) {
        const i64 start = offset_of(output, p.kept_shape, p.kept_stride), first = part * p.piece,
                  end = first + p.piece < p.length ? first + p.piece : p.length;
        for (i64 k = first + lane; k < end; k += lanes) {
            const i64 at = p.is_line ? k * p.stride[max_axes - 1] : offset_of(k, p.shape, p.stride);
            const Entry entry = data[start + at];
            const Number x = p.op >= fold_any ? Number(truth(Number(entry))) : Number(entry);
            sum = some ? folded(p.op, sum, x) : x;
            some = true;
        }
    }
    // Lanes are neighbours in a warp; the first ones have something.
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
        Number other;
        from_double(shuffle_xor(as_double(sum), mask), other);
        const bool has_other = shuffle_xor(some ? 1.0 : 0.0, mask) != 0.0;
        if (has_other)
            sum = some ? folded(p.op, lane & mask ? other : sum, lane & mask ? sum : other) : other;
        some = some || has_other;
    }
    if (!exists || lane != 0)
        return;
    if (p.to_bool)
        static_cast<bool*>(p.out)[task] = truth(sum) != 0;
    else
        static_cast<Number*>(p.out)[task] = sum;
}

MDQR_KERNEL(mdqr_fold, fold_arguments, fold_threads) {
    if (p.type == fold_double)
        fold<double, double>(p);
    else if (p.type == fold_integer)
        fold<i64, i64>(p);
    else
        fold<bool, i64>(p);
}

MDQR_END
