#pragma once

#include "formats/foreign_shard.h"

namespace packhorse::lmdb {

/// LMDB with Caffe Datum values, and with one value per member. layout.h draws both.
extern const Format kDatumFormat;
extern const Format kMembersFormat;
/// LMDB of any writer, to be adopted. foreign.h draws what is accepted.
extern const ForeignFormat kForeignFormat;

}  // namespace packhorse::lmdb
