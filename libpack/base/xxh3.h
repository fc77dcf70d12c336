#pragma once

/// XXH3 by the system's library, in the widest instructions the processor has: the calls below are
/// replaced by those that choose at run time. (The header's own inline form knows SSE2 only in a
/// program built for any x86-64.)
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif
