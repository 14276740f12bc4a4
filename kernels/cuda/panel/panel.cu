// Householder QR of panels: one launch a call, one grid barrier a column.
#include "mdqr/config.hpp"

// Calls save registers, which takes longer than a network of few limbs.
#if MDQR_LIMBS <= 2
#undef MDQR_CALL
#define MDQR_CALL MDQR_FN
#endif
#include "panel/triangle.hpp"

MDQR_BEGIN

// Nobody reads or adds to the sums of the next column before this one's barrier.
MDQR_FN void clear_next_sums(const panel_block& q, int j) {
    i64* sums = q.exchange.sums_of(j + 1);
    for (i64 k = q.thread; k <= q.exchange.column_digits(q.w); k += q.threads)
        publish(sums + k, 0);
}

// One column: two passes over the rows, one barrier.
MDQR_FN void reflect_column(panel_block& q, int j) {
    refresh_sizes(q, j);
    if (q.makes_rows()) {
        q.each_block_of_rows([&]() MDQR_LAMBDA { make_pivot(q, j); });
        sync_threads();
        q.each_block_of_rows([&]() MDQR_LAMBDA {
            if constexpr (sums_in_digits)
                add_up_digits(q, j);
            else
                add_up_limbs(q, j);
        });
    }
    if (!q.makes_rows() || (in_turn && q.makes_t()))
        clear_next_sums(q, j);
    q.barrier();
    q.take_row(j);
    const bool identity = reflect(q, j);
    sync_threads();
    if (q.thread == 0 && q.alone())
        q.shared.memory[panel_shared::below] = 0.0;
    if (q.makes_rows())
        q.each_block_of_rows([&]() MDQR_LAMBDA { update(q, j, identity); });
    if (q.makes_t())
        extend_triangle(q, j);
    sync_threads();
}

MDQR_END

// Grid: items * group; cooperative if that is more than one. Without -DMDQR_IN_TURN group is 1 if
// blocks == 1, else blocks + 1.
MDQR_KERNEL(mdqr_qr_panel, mdqr::panel_arguments, mdqr::panel_threads, mdqr::panel_blocks) {
    using namespace mdqr;
    panel_block q(p, block_x() / p.group, block_x() % p.group);
    if (q.makes_t())
        clear_triangle(q);
    if (q.thread == 0)
        q.shared.memory[panel_shared::below] = q.shared.memory[panel_shared::stale] = 0.0;
    const int first_non_finite = read_panel(q);
    for (int j = 0; j < first_non_finite; ++j)
        reflect_column(q, j);
    q.each_block_of_rows([&]() MDQR_LAMBDA { write_rows(q, first_non_finite); });
    if (q.makes_t())
        fill_triangle_with_nan(q, first_non_finite);
}
