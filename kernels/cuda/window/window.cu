// Windows with few diagonals below the main one: R, and the orthogonal E of window = E R, by one
// launch of one block a window. With -DMDQR_FLOAT32 both are float32 and the work is in double.
#include "mdqr/config.hpp"

// Calls save registers, which takes longer than a network of few limbs.
#if MDQR_LIMBS <= 2
#undef MDQR_CALL
#define MDQR_CALL MDQR_FN
#endif
#include "window/block.hpp"

MDQR_BEGIN

// The last warp makes the scalars.
MDQR_FN void reduce_window(const window_block& b) {
    read_window(b);
    sync_threads();
    scale_window(b);
    sync_threads();
    if (b.thread / warp_size == 0)
        take_vector(b, 0);
    sync_threads();
    for (int j = 0; j < b.q.columns; ++j)
        reflect_column(b, j);
    write_window(b);
}

MDQR_END

// Grid: items.
MDQR_KERNEL(mdqr_window, mdqr::window_arguments, mdqr::window_threads) {
    using namespace mdqr;
    for_units(p.work, [&](i64 item) MDQR_LAMBDA { reduce_window(window_block(p, item)); });
}
