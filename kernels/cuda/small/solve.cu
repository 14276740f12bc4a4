// Small square systems.
#include "small/block.hpp"

#include "mdqr/small/solve.hpp"

MDQR_BEGIN

MDQR_KERNEL(mdqr_solve_small, small_arguments, most_small_threads, small_blocks) {
    run_items<small_solve<double, block_team>>(
        p, [](const block_team&, auto& s, const small_operand& b, const small_operand& x,
              double* error, i64) { return s.run(b, x, error); });
}

MDQR_END
