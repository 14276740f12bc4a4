// Single elements of a product that the digits do not serve: the exact sum, or what IEEE makes of
// infinities and NaN.
//
// A tile notes where such elements are; they are computed when all tiles are done, as tasks of
// their own: one of their terms costs a hundred times what the digits cost.
#pragma once
#include "level/level.hpp"

#include <mutex>
#include <vector>

#include "products/matmul_tile.hpp"
#include "mdqr/superacc.hpp"

MDQR_BEGIN

// Bit 8 j + i stands for row p + i of P times row s + j of S.
struct unserved_block {
    ptrdiff_t item, p, s;
    u64 mask;
};

// The elements of one tile, and of all.
class unserved_elements {
public:
    static constexpr int side = 8;

    // Row i of P times row j of S, counted from the corner of the tile.
    void mark(ptrdiff_t i, ptrdiff_t j) {
        mask[i / side][j / side] |= u64(1) << (j % side * side + i % side);
        is_empty = false;
    }

    // With longer rows a block is cut to eight elements, which share what is read. A task goes over
    // all of k: with od it takes one or two seconds for each million terms.
    void append_to(std::vector<unserved_block>& list, std::mutex& lock, ptrdiff_t item,
                   ptrdiff_t p0, ptrdiff_t s0, ptrdiff_t k) const {
        if (is_empty)
            return;
        constexpr ptrdiff_t longest = 1 << 15;
        const int step = k > longest ? 1 : side;
        const u64 part = k > longest ? 0xff : ~u64(0);
        std::lock_guard<std::mutex> guard(lock);
        for (ptrdiff_t i = 0; i < most; ++i)
            for (ptrdiff_t j = 0; j < most; ++j)
                for (int row = 0; row < side; row += step)
                    if (const u64 found = mask[i][j] & part << row * side)
                        list.push_back({item, p0 + i * side, s0 + j * side, found});
    }

private:
    static constexpr int most = row_scales::capacity / side;
    u64 mask[most][most] = {};
    bool is_empty = true;
};

// finish(context, p, s, part, sum) for the real and imaginary parts of the elements of a block.
using finish_element = void (*)(void* context, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part,
                                superacc& sum);
void accumulate_block(const product_problem& x, const unserved_block& block, finish_element finish,
                      void* context);

// finish(item, p, s, part, sum) for all elements of `list`, on all threads.
template <class F>
void accumulate_each(const product_problem& x, const std::vector<unserved_block>& list,
                     const F& finish) {
    parallel_for(ptrdiff_t(list.size()), [&](ptrdiff_t t) {
        struct {
            const F& finish;
            ptrdiff_t item;
        } at{finish, list[size_t(t)].item};
        using place = decltype(at);
        accumulate_block(
            x, list[size_t(t)],
            [](void* context, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part, superacc& sum) {
                const place& here = *static_cast<place*>(context);
                here.finish(here.item, p, s, part, sum);
            },
            &at);
    });
}

// The sum of those terms that are not finite; the finite ones cannot change it.
double non_finite_row(const product_problem& x, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t s0,
                      ptrdiff_t part);

MDQR_END
