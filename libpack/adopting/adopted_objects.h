#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adopting/merge_shards.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/targets/target_options.h"

namespace packhorse {

/// Describes the field "objects" that shards written by packhorse hold, as `options` say what its
/// classes are; nothing without options. Each sample's field is read and checked. Throws
/// Error(kUsage) when the shards have no such field, Error(kCorrupt), naming the sample, for one
/// that is damaged or missing.
std::optional<TargetRecord> adopted_objects(const NamedShards& named,
                                            const std::vector<ScannedShard>& scanned,
                                            const MergedShards& merged,
                                            const TargetOptions& options);

}  // namespace packhorse
