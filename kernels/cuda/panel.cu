// Householder QR of panels: one launch a call, one meeting of the blocks a column.
#include "panel_reflect.hpp"

// Grid: items * (1 if blocks == 1 else blocks + 1); cooperative if blocks > 1.
MDQR_KERNEL(mdqr_qr_panel, mdqr::panel_arguments, mdqr::panel_threads) {
    using namespace mdqr;
    const i64 group = p.blocks == 1 ? 1 : p.blocks + 1;
    panel_block q(p, block_x() / group, block_x() % group);
    if (q.makes_t())
        clear_triangle(q);
    q.find_column_exponents();
    q.read_rows();
    sync_threads();
    for (int j = 0; j < q.w; ++j)
        reflect_column(q, j);
    q.write_rows();
}
