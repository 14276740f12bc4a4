// Triangles of small order: a block serves one matrix, a warp one right-hand side at a time.
#include "device/inline_networks.hpp"

#include "triangular/math.hpp"

using namespace mdqr;

struct tile_arguments {
    matrix_view out, a, b;
    i64 order, columns, unit, blocks; // blocks for one matrix
    workspace work;
};

MDQR_BEGIN

// A block keeps the divided rows of the triangles 0, 1 and of the square below triangle 0, then
// reciprocals [plane][row], then a word a warp.
struct tile_space {
    int order, rows;
    double* memory;
    MDQR_FN divided_rows part(int i) const {
        return {memory + i * number_planes * rows * rows, rows};
    }
    MDQR_FN int parts() const { return order > rows_of_tile ? 3 : 1; }
    MDQR_FN planes reciprocals() const {
        return {part(parts()).data, order, i64(limbs) * order, limbs};
    }
    MDQR_FN double* marks() const { return reciprocals().data + number_planes * order; }
};

// True in all threads if x holds in any of the block.
MDQR_FN bool block_any(bool x, double* marks) {
    const bool any = warp_any(x);
    if (lane_index() == 0)
        marks[warp_index()] = any ? 1.0 : 0.0;
    sync_threads();
    bool r = false;
    for (int i = 0; i < thread_count() / warp_lanes; ++i)
        r = r || marks[i] != 0.0;
    return r;
}

// One part of the divided rows; true if an element is out of range.
MDQR_FN bool divide_part(const system_view& v, const tile_space& space, int part, int first_row,
                         int first_column) {
    const divided_rows c = space.part(part);
    bool bad = false;
    for (int e = thread_index(); e < c.rows * c.rows; e += thread_count()) {
        const int i = first_row + e % c.rows, j = first_column + e / c.rows;
        number r = number_of(0.0);
        if (j < i && i < space.order) {
            number element, reciprocal;
            load_number(v.a, i * v.a_row + j * v.a_column, element);
            load_number(space.reciprocals(), i, reciprocal);
            r = opposite(product(reciprocal, element));
            bad = bad || !is_sound_coefficient(leading(element), leading(r));
        }
        store_number(c.to(), c.at(e % c.rows, e / c.rows), r);
    }
    return bad;
}

// True if the whole triangle is in range.
MDQR_FN bool divide_rows(const system_view& v, const tile_space& space) {
    bool bad = false;
    for (int i = thread_index(); i < space.order; i += thread_count()) {
        number r = number_of(1.0);
        if (!v.unit) {
            number element;
            load_number(v.a, i * (v.a_row + v.a_column), element);
            bad = bad || !is_sound_divisor(leading(element));
            r = inverse(element);
        }
        store_number(space.reciprocals(), i, r);
    }
    sync_threads();
#pragma unroll 1
    for (int part = 0; part < space.parts(); ++part)
        bad = divide_part(v, space, part, part > 0 ? rows_of_tile : 0,
                          part == 1 ? rows_of_tile : 0) ||
              bad;
    return !block_any(bad, space.marks());
}

// s += c x for 32 known values x, a lane each.
MDQR_FN void subtract_known(number& s, int& size, const divided_rows& c, const number& known) {
    const int lane = lane_index(), row = lane < c.rows ? lane : c.rows - 1;
#pragma unroll 1
    for (int j = 0; j < c.rows; ++j) {
        number element;
        load_number(c.to(), c.at(row, j), element);
        const number x = from_lane(known, j);
        size = larger_of(size, term_exponent(leading(element), leading(x)));
        multiply_add<true>(s, element, x);
        if (j % 4 == 3)
            normalise(s);
    }
}

// One right-hand side by one warp; true if its numbers stayed in range.
MDQR_FN bool substitute_column(const system_view& v, const tile_space& space) {
    const int lane = lane_index();
    bool sound = true;
    number known = number_of(0.0);
#pragma unroll 1
    for (int first = 0; first < space.order; first += rows_of_tile) {
        const int left = space.order - first, rows = left < rows_of_tile ? left : rows_of_tile;
        number s = number_of(0.0);
        int size = absent;
        if (lane < rows) {
            number r;
            load_number(v.b, (first + lane) * v.b_row, s);
            load_number(space.reciprocals(), first + lane, r);
            size = term_exponent(leading(s), leading(r));
            s = product(s, r);
        }
        if (first > 0)
            subtract_known(s, size, space.part(2), known);
        substitute<true>(s, size, space.part(first > 0 ? 1 : 0), rows,
                         [&](const number& x, int largest) {
                             known = x;
                             sound = sound && is_sound(leading(x), largest);
                         });
        if (lane < rows)
            publish_number(v.out, (first + lane) * v.out_row, known);
    }
    return !warp_any(!sound);
}

MDQR_FN void solve_tile(const tile_arguments& p, i64 unit) {
    const int warps = thread_count() / warp_lanes;
    const i64 item = unit / p.blocks, part = unit % p.blocks;
    system_view v{p.out.to, p.a.to, p.b.to, p.out.row, p.a.row, p.a.column, p.b.row, p.unit != 0};
    v.a.data += p.a.at(item, 0, 0);
    const int order = int(p.order);
    const tile_space space{order, order < rows_of_tile ? order : rows_of_tile,
                           block_memory(p.work)};
    const bool in_range = divide_rows(v, space);
    for (i64 column = part * warps + warp_index(); column < p.columns; column += p.blocks * warps) {
        v.out.data = p.out.to.data + p.out.at(item, 0, column);
        v.b.data = p.b.to.data + p.b.at(item, 0, column);
        if (in_range && substitute_column(v, space))
            continue;
        for (int first = 0; first < order; first += rows_of_tile)
            substitute_slow(v, first, order - first < rows_of_tile ? order - first : rows_of_tile);
    }
}

MDQR_END

MDQR_KERNEL(mdqr_solve_triangular_tile, tile_arguments, 256, 1) {
    for_units(p.work, [&](i64 unit) MDQR_LAMBDA { solve_tile(p, unit); });
}
