#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// A dataset that packhorse wrote, in any format, or a directory of such datasets, one for each
/// split. Samples come in their stored order, with their keys.
namespace packed {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace packed

inline constexpr SourceKind kPackedSource = {"packed", "a dataset packhorse wrote", packed::probe,
                                             packed::open};

}  // namespace packhorse
