#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// WebDataset shards, whoever wrote them: one tar (plain or compressed), a folder of them, or a
/// pattern like "shards/train-{000000..000146}.tar".
namespace webdataset {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);

/// What the first members of an archive look like.
enum class Look { kSamples, kClassFolders, kUnclear };
Look look_at(const std::filesystem::path& archive);
}  // namespace webdataset

inline constexpr SourceKind kWebDatasetSource = {"webdataset",
                                                 "WebDataset shards (a tar, a folder, a pattern)",
                                                 webdataset::probe, webdataset::open};

}  // namespace packhorse
