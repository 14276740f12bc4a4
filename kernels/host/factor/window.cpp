// Windows with few diagonals below the main one, for one level (MDQR_LEVEL) and limb count
// (MDQR_LIMBS); see factor/window.hpp.
#include "level/level.hpp"

#include "factor/window.hpp"

MDQR_BEGIN

// Strips of the columns of `left`, then of the rows of `right`.
template <class Number, class Element>
void apply_window(const window<Number, Element>& w, const block_view* left, const block_view* right,
                  bool parallel) {
    constexpr ptrdiff_t size = window<Number, Element>::strip_columns;
    const ptrdiff_t columns = left ? left->shape[2] : 0, rows = right ? right->shape[1] : 0;
    const ptrdiff_t before = (columns + size - 1) / size, count = before + (rows + size - 1) / size;
    auto task = [&](ptrdiff_t k) {
        const ptrdiff_t first = (k < before ? k : k - before) * size;
        const ptrdiff_t end = k < before ? columns : rows;
        const ptrdiff_t last = first + size < end ? first + size : end;
        if (k < before)
            w.apply_left(*left, first, last);
        else
            w.apply_right(*right, first, last);
    };
    if (parallel)
        parallel_for(count, task);
    else
        for (ptrdiff_t k = 0; k < count; ++k)
            task(k);
}

template <class Number, class Element>
void make_windows(const block_view& r, const block_view* left, const block_view* right, int below,
                  int lanes) {
    const bool rises = below == 0 && r.shape[2] == 1 && r.shape[1] > 1;
    const int rows = int(r.shape[1]), columns = rises ? rows - 1 : int(r.shape[2]);
    const window_shape q{rows, columns, rises ? 1 : below, lanes};
    auto one = [&](ptrdiff_t item, bool parallel) {
        window<Number, Element> w(r, q, item, rises);
        if (rises)
            w.rise();
        else
            w.factor();
        apply_window(w, left, right, parallel);
    };
    if (r.shape[0] != 1) {
        parallel_for(r.shape[0], [&](ptrdiff_t item) { one(item, false); });
        return;
    }
    // Waking a thread costs some 10 microseconds.
    const ptrdiff_t others = (left ? left->shape[2] : 0) + (right ? right->shape[1] : 0);
    const ptrdiff_t work = others * q.columns * (q.below + 2) * Number::limbs * Number::limbs;
    one(0, work > 100000);
}

template <int N>
void mdqr_window(const block_view& r, const block_view* left, const block_view* right, int below,
                 int lanes, bool single) {
    const auto run = [&](auto number) {
        using Number = decltype(number);
        if constexpr (N == 1)
            if (single)
                return make_windows<Number, float>(r, left, right, below, lanes);
        make_windows<Number, double>(r, left, right, below, lanes);
    };
    if (r.imag != 0)
        run(cmd<lane, N>{});
    else
        run(md<lane, N>{});
}

template void mdqr_window<MDQR_LIMBS>(const block_view&, const block_view*, const block_view*, int,
                                      int, bool);

MDQR_END
