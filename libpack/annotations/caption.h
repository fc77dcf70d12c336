#pragma once

#include "packhorse/base/bytes.h"

namespace packhorse {

/// Throws Error(kUnsupported) for a caption of more than 1 MiB, Error(kCorrupt) for one that is no
/// text in UTF-8 or holds a zero.
void check_caption(Bytes caption);

}  // namespace packhorse
