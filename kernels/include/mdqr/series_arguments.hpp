// What the kernels of power series are handed, on every device: no lanes, no templates, and 64-bit
// fields alone.
#pragma once

namespace mdqr_series {

using word = long long;

// Numbers by item of a batch, row and column: limb l of one lies l * plane further, its imaginary
// part imag. Strides are in doubles.
struct view {
    double* data;
    word plane, imag; // imag 0: real
    word item, row, column;
};

// Product i is that of nodes left[i] and right[i], and is node first + i. Products of layer j begin
// at layer[j], end at layer[j + 1], and do not need each other.
struct graph {
    const word *left, *right, *layer;
    word first, products, layers;
};

// Row r of the equations is the sum of terms start[r] .. start[r + 1], a factor times a node each,
// and of a constant. `share` items one after the other have the same factors and constants.
struct equations {
    const word *start, *node;
    view factors;   // (items / share, terms, orders)
    view constants; // (items / share, rows, orders)
    word rows, orders, constant_orders, share;
};

struct order_arguments {
    view values; // (item, node, order), changed
    view sums;   // (item, product, 0) of the terms in between
    graph products;
    word order;
};

struct equation_arguments {
    view out; // (item, row, 0)
    view values;
    equations terms;
    word order;
};

struct expand_arguments {
    view values;            // (item, node, order): order 0 is there, the others are made
    view jacobian, inverse; // (item, row, variable), (item, variable, row)
    view sums, changes;     // (item, product, 0), (item, node, 0): memory to work in
    view rest, steps;       // (item, row, 0), (item, variable, 0): likewise
    graph products;
    equations terms;
    word first, end; // orders to make
};

} // namespace mdqr_series
