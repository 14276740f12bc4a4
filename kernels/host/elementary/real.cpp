// Elementary functions of real numbers.
#include "elementary/elementary.hpp"

MDQR_BEGIN

template void elementary_unary<MDQR_LIMBS, false>(unary_op, const block_view&, const block_view&);
template void elementary_binary<MDQR_LIMBS, false>(binary_op, const block_view&, const block_view&,
                                                   const block_view&);

MDQR_END
