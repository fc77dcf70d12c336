#pragma once

#include "packhorse/formats/format.h"

namespace packhorse::wds {

/// WebDataset: plain tar, the members of a sample side by side. layout.h draws it.
extern const Format kFormat;
/// The same of any writer, to be adopted.
extern const Format kForeignFormat;

}  // namespace packhorse::wds
