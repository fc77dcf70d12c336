#pragma once

/// XXH3 from the system's library, with the widest instructions the processor has: the second
/// header replaces the calls with ones that choose at run time. (Inlined from the first header, a
/// program built for any x86-64 would use SSE2 only.)
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif
