#pragma once

/// Marks functions that kernels share with their tests on the CPU.
#ifdef __CUDACC__
#define PACKHORSE_ON_BOTH __host__ __device__
#else
#define PACKHORSE_ON_BOTH
#endif
