// Has no include guard: it precedes each inclusion of <hwy/foreach_target.h>, and makes its
// settings. Vectors whose length is unknown at compile time are left out: blocks of 8 coefficients
// are laid out in parts of 128 bits.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
