// The shared networks of one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
#define MDQR_NETWORK template
#include "level/networks.hpp"
