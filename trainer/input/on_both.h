#pragma once

/// For functions that kernels and the CPU's tests of them share.
#ifdef __CUDACC__
#define PACKHORSE_ON_BOTH __host__ __device__
#else
#define PACKHORSE_ON_BOTH
#endif
