// Powers of two that bring the largest entries of rows and columns below 1, and multiplication by
// them.
//
// The power of a line is that of its largest entry; the line runs over `i`. `width` threads read
// one line, a block at several. Where neighbours in memory belong to different lines (`across`),
// neighbouring threads do too.
#include "device/inline_networks.hpp"

#include "device/device.hpp"
#include "mdqr/number/contract.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int most_threads = 512, scale_threads = 256;
// What has no entry but zeros, and what has one that is not finite.
inline constexpr i64 absent = -(1LL << 40), non_finite = 1LL << 40;
inline constexpr i64 non_finite_bits = 0x7ff0000000000000LL, one_bits = 0x3ff0000000000000LL;
inline constexpr i64 least_diagonal = -700; // as mdqr/_backend/host/backend.py has it

// The entries of a matrix that count: all, those on and below the diagonal, those on and above it.
enum part_of_matrix : i64 { whole = 0, below = 1, above = 2 };
struct region {
    i64 part, unit; // unit: the diagonal counts as ones
    MDQR_FN bool has(i64 i, i64 j) const {
        return part == whole || (part == below ? i >= j : i <= j);
    }
};

MDQR_FN i64 magnitude_bits(const planes& x, i64 offset) {
    const i64 re = bits(abs(x.data[offset]));
    if (!MDQR_COMPLEX)
        return re;
    const i64 im = bits(abs(x.data[offset + x.imag]));
    return re > im ? re : im;
}

// e with 2^(e-1) <= x < 2^e for the bits of a finite x > 0.
MDQR_FN i64 exponent_of(i64 magnitude) {
    const i64 biased = magnitude >> 52;
    // The fraction of a subnormal number is a whole number of 2^-1074.
    return biased > 0 ? biased - 1022 : (bits(double(magnitude)) >> 52) - 1022 - 1074;
}

struct power_arguments {
    matrix_view x;             // (item, i, line)
    i64 length, lines, groups; // groups: blocks of an item
    i64 width, across;         // width: a power of two
    region area;               // of (i, line)
    const i64* offsets;        // null, or (item, i): powers by which x counts as multiplied
    i64* powers;               // (item, line)
    i64* faults;               // not finite; zero on the diagonal
    i64* unsound;              // (item): a diagonal would become too small
    i64 items, clears;         // clears: both are set to zero, for the launch that sets them
};

// Where a thread works.
struct line_place {
    i64 item, line;
    int lane, slot; // lane: which thread of the line; slot: which line of the block
    bool is_line;
};
MDQR_FN line_place place_of(const power_arguments& p) {
    const int t = thread_index(), width = int(p.width), lines = thread_count() / width;
    line_place r;
    r.lane = p.across ? t / lines : t % width;
    r.slot = p.across ? t % lines : t / width;
    r.item = block_x() / p.groups;
    r.line = block_x() % p.groups * lines + r.slot;
    r.is_line = r.line < p.lines;
    return r;
}

// The largest exponent that one thread sees. The one on the diagonal goes to shared memory.
MDQR_FN i64 largest_of_lane(const power_arguments& p, const line_place& here, double* diagonal) {
    const i64 first = p.area.part == below ? here.line : 0;
    const i64 end = p.area.part == above ? here.line + 1 : p.length;
    i64 largest = absent;
#pragma unroll 8
    for (i64 i = first + here.lane; i < end; i += p.width) {
        const bool is_one = p.area.unit && i == here.line;
        const i64 found =
            is_one ? one_bits : magnitude_bits(p.x.to, p.x.at(here.item, i, here.line));
        const i64 offset = p.offsets ? p.offsets[here.item * p.length + i] : 0;
        const i64 e = found >= non_finite_bits ? non_finite
                      : found == 0             ? absent
                                               : exponent_of(found) + offset;
        largest = e > largest ? e : largest;
        if (i == here.line)
            *diagonal = from_bits(e);
    }
    return largest;
}

// The largest of the lanes of every line, in lane 0.
MDQR_FN i64 largest_of_line(const line_place& here, int width, i64 largest) {
    double* words = shared_memory();
    const int lines = thread_count() / width, at = here.lane * lines + here.slot;
    for (int half = width / 2; half > 0; half /= 2) {
        words[at] = from_bits(largest);
        sync_threads();
        if (here.lane < half) {
            const i64 other = bits(words[at + half * lines]);
            largest = other > largest ? other : largest;
        }
        sync_threads();
    }
    return largest;
}

MDQR_FN i64 power_for(i64 largest) {
    return largest == non_finite || largest < absent / 2 ? 0 : -largest;
}

MDQR_FN void clear_marks(const power_arguments& p) {
    for (i64 i = thread_index(); i < p.items; i += thread_count())
        p.unsound[i] = 0;
    if (thread_index() == 0)
        p.faults[0] = p.faults[1] = 0;
}

struct balance_arguments {
    power_arguments lines;
    matrix_view out; // (item, i, line)
};

struct scale_arguments {
    matrix_view out, x;
    i64 size, rows, columns;
    region area;                     // the values elsewhere become zero
    i64 *row_powers, *column_powers; // (item, row), (item, column)
    i64 sign;                        // of the powers of columns: 1 or -1
    i64* unsound;                    // null, or (item): no scaling, and its powers become 0
    i64* fault;                      // null, or: a result is not finite
};

struct element {
    i64 item, i, j;
};
template <class Integer> MDQR_FN element element_at(Integer flat, const scale_arguments& p) {
    const Integer line = flat / Integer(p.columns), item = line / Integer(p.rows);
    return {i64(item), i64(line - item * Integer(p.rows)), i64(flat - line * Integer(p.columns))};
}

// The power of an element. The thread of a row's or column's first one clears what does not hold.
MDQR_FN i64 power_of(const scale_arguments& p, const element& e) {
    i64* row = p.row_powers + e.item * p.rows + e.i;
    i64* column = p.column_powers + e.item * p.columns + e.j;
    if (!p.unsound || p.unsound[e.item] == 0)
        return *row + p.sign * *column;
    if (e.j == 0)
        *row = 0;
    if (e.i == 0)
        *column = 0;
    return 0;
}

MDQR_FN real_number scaled(const real_number& x, i64 power) { return ldexp(x, power); }
MDQR_FN bool is_non_finite(const real_number& x) { return !is_finite(x.limb[0]); }
#if MDQR_COMPLEX
MDQR_FN number scaled(const number& x, i64 power) {
    return {ldexp(x.re, power), ldexp(x.im, power)};
}
MDQR_FN bool is_non_finite(const number& x) { return is_non_finite(x.re) || is_non_finite(x.im); }
MDQR_FN number number_of(double x) {
    return {from_double<double, limbs>(x), from_double<double, limbs>(0.0)};
}
#else
MDQR_FN number number_of(double x) { return from_double<double, limbs>(x); }
#endif

MDQR_END

// Shared memory: a word a thread, and one a line.
MDQR_KERNEL(mdqr_powers, mdqr::power_arguments, mdqr::most_threads, 1) {
    using namespace mdqr;
    const line_place here = place_of(p);
    double* diagonal = shared_memory() + thread_count() + here.slot;
    i64 largest = here.is_line ? largest_of_lane(p, here, diagonal) : absent;
    largest = largest_of_line(here, int(p.width), largest);
    if (p.clears && block_x() == 0)
        clear_marks(p);
    if (here.lane != 0 || !here.is_line)
        return;
    const i64 power = power_for(largest);
    p.powers[here.item * p.lines + here.line] = power;
    if (p.clears)
        return;
    if (largest == non_finite)
        p.faults[0] = 1;
    const i64 found = bits(*diagonal);
    if (found == absent)
        p.faults[1] = 1;
    else if (found + power < least_diagonal)
        p.unsound[here.item] = 1;
}

// The powers of whole lines, and the lines times them; shared memory as above.
MDQR_KERNEL(mdqr_balance_lines, mdqr::balance_arguments, mdqr::most_threads, 1) {
    using namespace mdqr;
    const power_arguments& q = p.lines;
    const line_place here = place_of(q);
    double* common = shared_memory() + thread_count() + here.slot;
    i64 largest = here.is_line ? largest_of_lane(q, here, common) : absent;
    largest = largest_of_line(here, int(q.width), largest);
    if (here.lane == 0)
        *common = from_bits(power_for(largest));
    sync_threads();
    if (!here.is_line)
        return;
    const i64 power = bits(*common);
    if (here.lane == 0)
        q.powers[here.item * q.lines + here.line] = power;
    for (i64 i = here.lane; i < q.length; i += q.width) {
        const i64 offset = q.offsets ? q.offsets[here.item * q.length + i] : 0;
        const number r = load_as<number>(q.x.to, q.x.at(here.item, i, here.line));
        store_number(p.out.to, p.out.at(here.item, i, here.line), scaled(r, offset + power));
    }
}

MDQR_KERNEL(mdqr_scale, mdqr::scale_arguments, mdqr::scale_threads) {
    using namespace mdqr;
    const i64 flat = block_x() * scale_threads + thread_index();
    if (flat >= p.size)
        return;
    const element e =
        p.size <= 0xffffffffLL ? element_at(unsigned(flat), p) : element_at(u64(flat), p);
    const i64 power = power_of(p, e);
    number r = number_of(0.0);
    if (p.area.has(e.i, e.j)) {
        r = number_of(1.0);
        if (!p.area.unit || e.i != e.j)
            load_number(p.x.to, p.x.at(e.item, e.i, e.j), r);
        r = scaled(r, power);
    }
    store_number(p.out.to, p.out.at(e.item, e.i, e.j), r);
    if (p.fault && is_non_finite(r))
        *p.fault = 1;
}
