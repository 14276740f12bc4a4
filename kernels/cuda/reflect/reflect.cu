// Q or Q^H times a few columns, Q kept as tiles of reflectors I - V T V^H: one launch for all
// tiles.
//
// A job is one column of one matrix, whose rows are dealt out to members; a group of blocks serves
// it, every block as one member, or as several where there are fewer blocks. For each tile a block
// writes the parts of V^H x of its members; after one barrier of the group every block sums the
// parts, multiplies by T, and subtracts V times that from its rows, which nobody else reads. The
// sums depend on the number of members alone.
//
// The column is brought near 1 by a power of two, so that the fast operations are in range: what
// falls below 2^-1074 of the largest entry is lost, far less than a rounding error of the column.
#include "device/inline_networks.hpp"

#include "triangular/math.hpp"

using namespace mdqr;

MDQR_BEGIN

inline constexpr int most_tiles = 64, most_width = 64, reflect_threads = 256;
inline constexpr int warps_of_block = reflect_threads / warp_lanes, lanes_of_row = 8;

struct reflect_arguments {
    matrix_view x; // (item, i, column)
    i64 rows, columns, items;
    i64 members, blocks;    // of a job
    i64 width, reflectors;  // every tile but the last has `width` columns
    i64 adjoint;            // Q^H: tiles from the first to the last
    i64 tiles, done, count; // of Q; applied before this launch; applied by it
    double* parts;          // (job, parity, member, plane, width)
    i64* counters;          // a job; zeros
    workspace work;
    const double* v[most_tiles]; // those of this launch in turn: (plane, item, row, column)
    const double* t[most_tiles];
};

MDQR_FN md<double, limbs> conjugate(const md<double, limbs>& x) { return x; }
MDQR_FN cmd<double, limbs> conjugate(const cmd<double, limbs>& x) { return {x.re, neg(x.im)}; }
MDQR_FN md<double, limbs> shifted(const md<double, limbs>& x, i64 power) { return ldexp(x, power); }
MDQR_FN cmd<double, limbs> shifted(const cmd<double, limbs>& x, i64 power) {
    return {ldexp(x.re, power), ldexp(x.im, power)};
}
MDQR_FN planes planes_at(const double* data, i64 plane) {
    return {const_cast<double*>(data), plane, limbs * plane, limbs};
}

// What the warps of a block found, (warp, plane, width), then V^H x, (plane, width).
struct reflect_space {
    int width;
    double* memory;
    MDQR_FN planes of_warp(int w) const {
        return planes_at(memory + w * number_planes * width, width);
    }
    MDQR_FN planes sums() const { return of_warp(warps_of_block); }
};

// One job, and the tile at work.
struct reflect_place {
    planes x, v, t;
    i64 x_row, first, block; // first: the first row of the tile
    int width;               // its columns
    MDQR_FN number element(i64 i, int j) const {
        return load_as<number>(v, (i - first) * width + j);
    }
    MDQR_FN number entry(i64 i) const { return load_as<number>(x, i * x_row); }
};
// The first row of a member from `i` on.
MDQR_FN i64 own_row(const reflect_arguments& p, i64 i, i64 member) {
    return i + (member + p.members - i % p.members) % p.members;
}

MDQR_FN void add_product(number& sum, const number& a, const number& b) {
    multiply_add<true>(sum, a, b);
    normalise(sum);
}

// term(j, w, sum) adds what warp w has for column j; the totals go to the part of warp 0.
template <class Term> MDQR_FN void sum_over_warps(const reflect_space& s, int width, Term term) {
    const int w = warp_index();
#pragma unroll 1
    for (int j = lane_index(); j < width; j += warp_lanes) {
        number sum = number_of(0.0);
        term(j, w, sum);
        store_number(s.of_warp(w), j, sum);
    }
    for (int half = warps_of_block / 2; half > 0; half /= 2) {
        sync_threads();
        if (w < half)
#pragma unroll 1
            for (int j = lane_index(); j < width; j += warp_lanes) {
                number sum =
                    plus(load_as<number>(s.of_warp(w), j), load_as<number>(s.of_warp(w + half), j));
                normalise(sum);
                store_number(s.of_warp(w), j, sum);
            }
    }
    sync_threads();
}

MDQR_FN planes part_of(const reflect_arguments& p, i64 job, i64 tile, i64 member) {
    const i64 at = (job * 2 + tile % 2) * p.members + member;
    return planes_at(p.parts + at * number_planes * p.width, p.width);
}

// sums = V^H x: parts of all members, and their totals.
MDQR_FN void multiply_adjoint(const reflect_arguments& p, const reflect_place& here,
                              const reflect_space& s, i64 job, i64 tile, i64 step) {
#pragma unroll 1
    for (i64 member = here.block; member < p.members; member += p.blocks) {
        const i64 start = own_row(p, here.first, member);
        sum_over_warps(s, here.width, [&](int j, int w, number& sum) {
#pragma unroll 1
            for (i64 i = start + w * p.members; i < p.rows; i += warps_of_block * p.members)
                add_product(sum, conjugate(here.element(i, j)), here.entry(i));
        });
        const planes written = part_of(p, job, tile, member);
        for (int e = thread_index(); e < here.width * number_planes; e += reflect_threads) {
            const i64 at = e / here.width * p.width + e % here.width;
            publish(written.data + at, s.of_warp(0).data[at]);
        }
        sync_threads();
    }
    sync_blocks(p.counters + job, p.blocks, step);
    sum_over_warps(s, here.width, [&](int j, int w, number& sum) {
#pragma unroll 1
        for (i64 member = w; member < p.members; member += warps_of_block) {
            const planes part = part_of(p, job, tile, member);
            double word[number_planes];
            static_for<0, number_planes>([&](auto l) MDQR_LAMBDA {
                word[l] = load_past_cache(part.data + l * p.width + j);
            });
            sum = plus(sum, load_as<number>(planes_at(word, 1), 0));
            normalise(sum);
        }
    });
    for (int e = thread_index(); e < p.width * number_planes; e += reflect_threads)
        s.sums().data[e] = s.of_warp(0).data[e];
    sync_threads();
}

// T sums or T^H sums, to the part of warp 0.
MDQR_FN void multiply_triangle(const reflect_arguments& p, const reflect_place& here,
                               const reflect_space& s) {
    const int width = here.width;
    sum_over_warps(s, width, [&](int i, int w, number& sum) {
        const int begin = p.adjoint ? 0 : i, end = p.adjoint ? i + 1 : width;
#pragma unroll 1
        for (int k = begin + w; k < end; k += warps_of_block) {
            const number element = p.adjoint ? conjugate(load_as<number>(here.t, k * width + i))
                                             : load_as<number>(here.t, i * width + k);
            add_product(sum, element, load_as<number>(s.sums(), k));
        }
    });
}

// x -= V (what warp 0 has), the rows of a member.
MDQR_FN void subtract_product(const reflect_arguments& p, const reflect_place& here,
                              const reflect_space& s, i64 member) {
    const int slot = thread_index() / lanes_of_row, lane = thread_index() % lanes_of_row;
    constexpr int slots = reflect_threads / lanes_of_row;
    const i64 start = own_row(p, here.first, member);
#pragma unroll 1
    for (i64 base = start; base < p.rows; base += slots * p.members) {
        const i64 i = base + slot * p.members;
        number sum = number_of(0.0);
        if (i < p.rows)
#pragma unroll 1
            for (int j = lane; j < here.width; j += lanes_of_row)
                add_product(sum, here.element(i, j), load_as<number>(s.of_warp(0), j));
#pragma unroll 1
        for (int mask = 1; mask < lanes_of_row; mask *= 2) {
            sum = plus(sum, shuffle_xor(sum, mask));
            normalise(sum);
        }
        if (i < p.rows && lane == 0) {
            number r = plus(here.entry(i), opposite(sum));
            normalise(r);
            clear_zeros(r);
            store_number(here.x, i * here.x_row, r);
        }
    }
}

// Minus the exponent of the largest entry; 0 if there is none, or one that is not finite.
MDQR_FN i64 power_of_column(const reflect_arguments& p, const reflect_place& here,
                            double* largest) {
    double mine = 0.0;
    for (i64 i = thread_index(); i < p.rows; i += reflect_threads) {
        const double size = leading(here.entry(i));
        mine = size > mine || size != size ? size : mine;
        if (mine != mine)
            break;
    }
    largest[thread_index()] = mine;
    for (int half = reflect_threads / 2; half > 0; half /= 2) {
        sync_threads();
        if (thread_index() < half) {
            const double other = largest[thread_index() + half];
            if (other > largest[thread_index()] || other != other)
                largest[thread_index()] = other;
        }
    }
    sync_threads();
    const double found = largest[0];
    sync_threads();
    return found == 0.0 || !is_finite(found) ? 0 : -i64(exponent(found));
}

MDQR_FN void shift_rows(const reflect_arguments& p, const reflect_place& here, i64 power) {
#pragma unroll 1
    for (i64 member = here.block; member < p.members; member += p.blocks)
        for (i64 i = member + thread_index() * p.members; i < p.rows;
             i += reflect_threads * p.members)
            store_number(here.x, i * here.x_row, shifted(here.entry(i), power));
    sync_threads();
}

MDQR_END

MDQR_KERNEL(mdqr_reflect, reflect_arguments, reflect_threads, 1) {
    const i64 job = block_x() / p.blocks, item = job / p.columns;
    const reflect_space space{int(p.width), block_memory(p.work)};
    reflect_place here{p.x.to, {}, {}, p.x.row, 0, block_x() % p.blocks, 0};
    here.x.data += p.x.at(item, 0, job % p.columns);
    const i64 power = power_of_column(p, here, space.memory);
    sync_blocks(p.counters + job, p.blocks, 1);
    shift_rows(p, here, power);
#pragma unroll 1
    for (i64 k = 0; k < p.count; ++k) {
        const i64 tile = p.adjoint ? p.done + k : p.tiles - 1 - p.done - k;
        here.first = tile * p.width;
        const i64 left = p.reflectors - here.first, below = p.rows - here.first;
        here.width = int(left < p.width ? left : p.width);
        const i64 square = i64(here.width) * here.width, tall = below * here.width;
        here.v = planes_at(p.v[k] + item * tall, p.items * tall);
        here.t = planes_at(p.t[k] + item * square, p.items * square);
        multiply_adjoint(p, here, space, job, k, k + 2);
        multiply_triangle(p, here, space);
#pragma unroll 1
        for (i64 member = here.block; member < p.members; member += p.blocks)
            subtract_product(p, here, space, member);
        sync_threads();
    }
    shift_rows(p, here, -power);
}
