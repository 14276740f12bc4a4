// The shared functions of one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
#define MDQR_CORE template
#include "elementary/cores.hpp"
