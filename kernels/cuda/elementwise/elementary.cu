// The elementary functions, as elementwise.cu has the other operations: -DMDQR_UNARY=exp.
#include "device/inline_networks.hpp"

#include "mdqr/elementary/functions.hpp"

#include "elementwise/elementwise.cu"
