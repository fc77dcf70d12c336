#pragma once

#include "packhorse/format.h"

namespace packhorse::lmdb {

/// LMDB with Caffe Datum values. layout.h draws it.
extern const Format kFormat;

}  // namespace packhorse::lmdb
