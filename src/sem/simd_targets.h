// Chooses the SIMD levels that kernels are compiled for; include before any Highway header. SSSE3 and the AVX-512
// extensions beyond the first set gain nothing here and cost compile time.
#pragma once

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
