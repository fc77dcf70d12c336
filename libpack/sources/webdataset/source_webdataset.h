#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// WebDataset shards, whoever wrote them: one tar (plain or compressed), a folder of them, or a
/// pattern like "shards/train-{000000..000146}.tar".
namespace webdataset {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);

/// What the first members of an archive look like.
enum class Look { kSamples, kClassFolders, kBareImages, kUnclear };
Look look_at(const std::filesystem::path& archive);
/// Whether `path` is an archive that begins with images outside any folder, and nothing beside
/// them: shards without labels, or the images of a labels file. False for a damaged archive.
bool holds_bare_images(const std::filesystem::path& path);
}  // namespace webdataset

inline constexpr SourceKind kWebDatasetSource = {"webdataset",
                                                 "WebDataset shards (a tar, a folder, a pattern)",
                                                 webdataset::probe, webdataset::open};

}  // namespace packhorse
