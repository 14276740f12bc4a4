// The long functions that those of real and of complex numbers share: compiled once, in cores.cpp.
#pragma once
#include "level/level.hpp"

#include "mdqr/elementary/functions.hpp"

MDQR_BEGIN

#if !defined(MDQR_CORE)
#define MDQR_CORE extern template
#endif

inline constexpr int core_limbs = MDQR_LIMBS, core_digits = last_digit<MDQR_LIMBS>;
using core_number = md<lane, core_limbs>;
using core_wide = wide<lane, core_limbs>;
using core_fixed = fixed<lane, core_digits>;
using core_log = logarithm<lane, core_limbs>;
using core_exponential = exponential<lane, core_digits>;

#if MDQR_LIMBS > 1
MDQR_CORE core_wide add_merged(const core_wide&, const core_wide&);
#endif
#if MDQR_LIMBS >= 9 // by_digits
MDQR_CORE core_wide mul_digits(const core_wide&, const core_wide&);
#elif MDQR_LIMBS > 1
MDQR_CORE core_wide mul_guarded(const core_wide&, const core_wide&);
#endif
MDQR_CORE core_fixed to_fixed<core_digits, 1>(const core_wide&);
MDQR_CORE core_wide to_limbs<core_limbs + 1>(const core_fixed&);
MDQR_CORE core_wide to_limbs<core_limbs + 1>(const fixed<lane, core_digits + 1>&);
MDQR_CORE core_number narrow<lane, core_limbs>(const core_wide&);
MDQR_CORE core_number scale_lanes(core_number, lane);
MDQR_CORE core_fixed inverse<false>(const core_fixed&);
MDQR_CORE core_fixed inverse<true>(const core_fixed&);
MDQR_CORE core_wide divide_wide(const core_wide&, const core_wide&);
MDQR_CORE core_wide sqrt_wide(const core_wide&);
MDQR_CORE core_exponential exp_reduced(const core_fixed&, lane);
MDQR_CORE scaled_wide<lane, core_limbs> less_one<lane, core_limbs>(const core_exponential&,
                                                                   const core_number&);
MDQR_CORE hyperbola<lane, core_limbs> hyperbola_of<lane, core_limbs>(const core_number&);
MDQR_CORE core_log log_of<lane, core_limbs>(core_wide, const core_wide&);
MDQR_CORE core_log log_of<lane, core_limbs>(const core_wide&);
MDQR_CORE core_wide log_above<lane, core_limbs>(const core_wide&, mask_t<lane>);
MDQR_CORE angle<lane, core_limbs> reduce<core_limbs>(const core_number&);
MDQR_CORE sine_parts<lane, core_limbs> sines_of<lane, core_limbs>(const core_wide&);
MDQR_CORE core_wide sine_of<lane, core_limbs>(const sine_parts<lane, core_limbs>&, lane);
MDQR_CORE scaled_wide<lane, core_limbs> atan2_wide<lane, core_limbs>(const core_wide&,
                                                                     const core_wide&);

MDQR_END
