// The elementary functions, as elementwise.cu has the other operations: -DMDQR_UNARY=exp. Their
// networks are called, not inlined as those of single operations are: one function has dozens.
#include "mdqr/elementary/functions.hpp"

#include "elementwise/map.hpp"

MDQR_BEGIN

#if defined(MDQR_UNARY)
MDQR_KERNEL(mdqr_unary, unary_arguments, block_threads) {
    map_unary(p, [](const number& x) { return MDQR_JOIN(apply_, MDQR_UNARY)(x); });
}
#endif

#if defined(MDQR_BINARY)
MDQR_KERNEL(mdqr_binary, binary_arguments, block_threads) {
    map_binary(
        p, [](const number& x, const number& y) { return MDQR_JOIN(apply_, MDQR_BINARY)(x, y); });
}
#endif

MDQR_END
