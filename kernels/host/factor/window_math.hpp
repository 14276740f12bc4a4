// Sums of windows, and the elements of their blocks.
#pragma once
#include "level/level.hpp"

#include <cstring>
#include <type_traits>

#include "mdqr/window.hpp"
#include "factor/panel_math.hpp"

MDQR_BEGIN

template <int N> MDQR_FN md<lane, N> plus(md<lane, N> x, const md<lane, N>& y) {
    if constexpr (N > 4) {
        add_call(x, y);
        return x;
    } else {
        return add_fast(x, y);
    }
}
template <int N> MDQR_FN cmd<lane, N> plus(const cmd<lane, N>& x, const cmd<lane, N>& y) {
    return {plus(x.re, y.re), plus(x.im, y.im)};
}

// A matrix of one item: element (i, c) of plane k of part `part`.
template <class Element> struct plane_view {
    Element* data;
    ptrdiff_t row, column;
    plane_view(const block_view& x, ptrdiff_t item, int part, int limb)
        : data(reinterpret_cast<Element*>(x.data) + item * x.stride[0] + part * x.imag +
               limb * x.plane),
          row(x.stride[1]), column(x.stride[2]) {}
    Element& at(ptrdiff_t i, ptrdiff_t c) const { return data[i * row + c * column]; }
    // Columns from `first` on.
    void read(ptrdiff_t i, ptrdiff_t first, ptrdiff_t count, double* to) const {
        if constexpr (std::is_same_v<Element, double>)
            if (column == 1) {
                std::memcpy(to, &at(i, first), size_t(count) * sizeof(double));
                return;
            }
        for (ptrdiff_t c = 0; c < count; ++c)
            to[c] = double(at(i, first + c));
    }
    void write(ptrdiff_t i, ptrdiff_t first, ptrdiff_t count, const double* from) const {
        if constexpr (std::is_same_v<Element, double>)
            if (column == 1) {
                std::memcpy(&at(i, first), from, size_t(count) * sizeof(double));
                return;
            }
        for (ptrdiff_t c = 0; c < count; ++c)
            at(i, first + c) = Element(from[c]);
    }
};

// The sum of parts by the tree of lanes that exchange them.
template <class Number> MDQR_FN Number tree_of(Number* part, int count) {
    for (int half = count / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            part[i] = plus(part[i], part[i + half]);
    return part[0];
}

MDQR_END
