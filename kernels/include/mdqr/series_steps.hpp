// Power series that solve equations, order by order, written once for every device.
//
// A team (`host/series/team.hpp`, `cuda/series/team.hpp`) forms sums of products, eight virtual
// lanes each, and the ends of products, layer by layer; it says how tasks are shared.
#pragma once
#include "mdqr/series.hpp"
#include "mdqr/series_arguments.hpp"

MDQR_BEGIN

namespace series {

using namespace mdqr_series;

MDQR_FN i64 at(const view& x, i64 item, i64 row, i64 column) {
    return item * x.item + row * x.row + column * x.column;
}
template <int N> MDQR_FN void load(const view& x, i64 offset, md<double, N>& r) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { r.limb[l] = x.data[l * x.plane + offset]; });
}
template <int N> MDQR_FN void load(const view& x, i64 offset, cmd<double, N>& r) {
    load(x, offset, r.re);
    load(x, offset + x.imag, r.im);
}
template <class Number> MDQR_FN Number load(const view& x, i64 offset) {
    Number r;
    load(x, offset, r);
    return r;
}
template <int N> MDQR_FN void store(const view& x, i64 offset, const md<double, N>& r) {
    static_for<0, N>([&](auto l) MDQR_LAMBDA { x.data[l * x.plane + offset] = r.limb[l]; });
}
template <int N> MDQR_FN void store(const view& x, i64 offset, const cmd<double, N>& r) {
    store(x, offset, r.re);
    store(x, offset + x.imag, r.im);
}
template <int N> MDQR_FN cmd<double, N> neg_of(const cmd<double, N>& x) {
    return {neg(x.re), neg(x.im)};
}
template <int N> MDQR_FN md<double, N> neg_of(const md<double, N>& x) { return neg(x); }

// Where the factors of a term lie.
struct term {
    i64 left, right;
};

// Sums of products: `count(i)` terms, the factors of which lie in x and y; `put` takes the sum.

// Products of series without their ends.
template <class Number> struct inner_sums {
    const view &x, &y, &sums;
    const graph& products;
    i64 item, order;
    MDQR_FN inner_sums(const view& values, const view& sums, const graph& products, i64 item,
                       i64 order)
        : x(values), y(values), sums(sums), products(products), item(item), order(order) {}
    MDQR_FN i64 count(i64) const { return order - 1; }
    MDQR_FN term place(i64 i, i64 j) const {
        return {at(x, item, products.left[i], j + 1),
                at(x, item, products.right[i], order - 1 - j)};
    }
    MDQR_FN void put(i64 i, const Number& sum) const { store(sums, at(sums, item, i, 0), sum); }
};

// One order of the equations.
template <class Number> struct row_sums {
    const view &x, &y, &out;
    const equations& terms;
    i64 item, order;
    MDQR_FN row_sums(const view& out, const view& values, const equations& terms, i64 item,
                     i64 order)
        : x(terms.factors), y(values), out(out), terms(terms), item(item), order(order) {}
    MDQR_FN i64 length(i64 row) const { return terms.start[row + 1] - terms.start[row]; }
    MDQR_FN i64 count(i64 row) const {
        return length(row) * (order < terms.orders ? order + 1 : terms.orders);
    }
    MDQR_FN term place(i64 row, i64 i) const {
        const i64 j = i / length(row), t = terms.start[row] + i - j * length(row);
        return {at(x, item / terms.share, t, j), at(y, item, terms.node[t], order - j)};
    }
    MDQR_FN void put(i64 row, const Number& found) const {
        Number sum = found;
        if (order < terms.constant_orders)
            sum =
                series_sum(sum, load<Number>(terms.constants,
                                             at(terms.constants, item / terms.share, row, order)));
        finish_order(sum);
        store(out, at(out, item, row, 0), sum);
    }
};

// Rows of a matrix times a vector.
template <class Number, class Put> struct matrix_sums {
    const view &x, &y;
    i64 item, columns;
    Put put_row;
    MDQR_FN matrix_sums(const view& matrix, const view& vector, i64 item, i64 columns, Put put)
        : x(matrix), y(vector), item(item), columns(columns), put_row(put) {}
    MDQR_FN i64 count(i64) const { return columns; }
    MDQR_FN term place(i64 i, i64 j) const { return {at(x, item, i, j), at(y, item, j, 0)}; }
    MDQR_FN void put(i64 i, const Number& sum) const { put_row(i, sum); }
};

// The real (part 0) or imaginary parts of numbers.
MDQR_FN view parts_of(const view& x, int part) {
    view r = x;
    r.data += part * x.imag;
    r.imag = 0;
    return r;
}

// Where both ends of the series of a node are.
struct end_places {
    const view &first, &last;
    i64 item, order; // column of `last`
    MDQR_FN i64 first_of(i64 node) const { return at(first, item, node, 0); }
    MDQR_FN i64 last_of(i64 node) const { return at(last, item, node, order); }
};

// Order `order` of the products, of which the terms in between are summed.
template <class Team>
MDQR_FN void add_ends(const Team& team, const view& values, const view& sums, const graph& products,
                      i64 item, i64 order) {
    using real = md<double, Team::number::limbs>;
    team.ends(
        products, end_places{values, values, item, order}, order == 0,
        [&](i64 i, int part)
            MDQR_LAMBDA { return load<real>(parts_of(sums, part), at(sums, item, i, 0)); },
        [&](i64 i, int part, real sum) MDQR_LAMBDA {
            finish_order(sum);
            store(parts_of(values, part), at(values, item, products.first + i, order), sum);
        });
}

// What the change of the variables at one order changes of the products, added to them: the
// rounding errors of a product stay with it.
template <class Team>
MDQR_FN void add_changes(const Team& team, const expand_arguments& p, i64 item, i64 order) {
    using real = md<double, Team::number::limbs>;
    team.ends(
        p.products, end_places{p.values, p.changes, item, 0}, false,
        [&](i64, int) MDQR_LAMBDA { return real{}; },
        [&](i64 i, int part, real sum) MDQR_LAMBDA {
            finish_order(sum);
            const i64 node = p.products.first + i, place = at(p.values, item, node, order);
            store(parts_of(p.changes, part), at(p.changes, item, node, 0), sum);
            sum = series_sum(load<real>(parts_of(p.values, part), place), sum);
            finish_order(sum);
            store(parts_of(p.values, part), place, sum);
        });
}

// vector := matrix * other, or what `put` makes of the rows.
template <class Team, class Put>
MDQR_FN void multiply(const Team& team, const view& matrix, const view& vector, i64 item, i64 rows,
                      i64 columns, Put put) {
    team.dots(0, rows, matrix_sums<typename Team::number, Put>(matrix, vector, item, columns, put));
    team.sync();
}

// Order `order` of the variables: what is left of the equations times the inverse of the Jacobian,
// with one step of refinement. Writes x and its place in `changes`.
template <class Team>
MDQR_FN void solve_order(const Team& team, const expand_arguments& p, i64 item, i64 order) {
    using Number = typename Team::number;
    const i64 rows = p.terms.rows, variables = p.products.first;
    multiply(team, p.inverse, p.rest, item, variables, rows, [&](i64 i, Number sum) MDQR_LAMBDA {
        finish_order(sum);
        store(p.steps, at(p.steps, item, i, 0), sum);
    });
    multiply(team, p.jacobian, p.steps, item, rows, variables, [&](i64 i, Number sum) MDQR_LAMBDA {
        const i64 place = at(p.rest, item, i, 0);
        sum = series_sum(load<Number>(p.rest, place), neg_of(sum));
        finish_order(sum);
        store(p.rest, place, sum);
    });
    multiply(team, p.inverse, p.rest, item, variables, rows, [&](i64 i, Number sum) MDQR_LAMBDA {
        sum = neg_of(series_sum(load<Number>(p.steps, at(p.steps, item, i, 0)), sum));
        finish_order(sum);
        store(p.changes, at(p.changes, item, i, 0), sum);
        store(p.values, at(p.values, item, i, order), sum);
    });
}

// Orders from `first` on.
template <class Team> MDQR_FN void expand(const Team& team, const expand_arguments& p, i64 item) {
    using Number = typename Team::number;
    for (i64 order = p.first; order < p.end; ++order) {
        team.dots(0, p.products.products,
                  inner_sums<Number>(p.values, p.sums, p.products, item, order));
        team.sync();
        add_ends(team, p.values, p.sums, p.products, item, order);
        team.dots(0, p.terms.rows, row_sums<Number>(p.rest, p.values, p.terms, item, order));
        team.sync();
        solve_order(team, p, item, order);
        add_changes(team, p, item, order);
    }
}

} // namespace series

MDQR_END
