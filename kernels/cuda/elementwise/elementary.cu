// The elementary functions, as elementwise.cu has the other operations: -DMDQR_UNARY=exp. Their
// networks are called, not inlined as those of single operations are: one function has dozens.
#include "mdqr/elementary/functions.hpp"

#include "elementwise/elementwise.cu"
