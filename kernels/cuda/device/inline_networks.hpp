// Include this before any other header: up to 4 limbs the networks are inlined, since passing limbs
// through memory would take longer than the network itself.
#pragma once
#include "mdqr/config.hpp"

#if MDQR_LIMBS <= 4
#undef MDQR_CALL
#define MDQR_CALL MDQR_FN
#endif
