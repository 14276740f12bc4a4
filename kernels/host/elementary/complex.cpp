// Elementary functions of complex numbers.
#include "elementary/elementary.hpp"

MDQR_BEGIN

template void elementary_unary<MDQR_LIMBS, true>(unary_op, const block_view&, const block_view&);
template void elementary_binary<MDQR_LIMBS, true>(binary_op, const block_view&, const block_view&,
                                                  const block_view&);

MDQR_END
