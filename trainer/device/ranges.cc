#include "device/ranges.h"

#ifdef PACKHORSE_WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace packhorse::trainer {

Range::Range(const char* name) : guard_(at::RecordScope::USER_SCOPE) {
  if (guard_.isActive()) guard_.before(name);
#ifdef PACKHORSE_WITH_NVTX
  nvtxRangePushA(name);
#endif
}

Range::~Range() {
#ifdef PACKHORSE_WITH_NVTX
  nvtxRangePop();
#endif
}

}  // namespace packhorse::trainer
