#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "packhorse/image/image_info.h"

namespace packhorse {

/// The file that the Hugging Face Hub and its library `datasets` read first in a directory. Without
/// it, `datasets` takes dataset.json and the other readers' indexes for data. No manifest names it,
/// and packhorse never reads it: users may edit it.
inline constexpr std::string_view kCardName = "README.md";

enum class CardOutcome {
  kWritten,
  kUnchanged,  ///< it was there with the same text
  kKept,       ///< a file of its name with other text is there; it is never replaced
  kNone        ///< `datasets` cannot read these shards: they are not tars, or are compressed
};

/// A dataset that a card describes.
struct CardPart {
  std::filesystem::path path;
  /// The kinds of its images. Unset: its indexes are read for them.
  std::optional<std::set<ImageKind>> kinds = {};
};

/// Writes the card of `directory` into it: which shards are which split, and, where it is known, of
/// which kind each column is. `datasets` are the directory itself, or directories directly in it,
/// complete with their manifests.
///
/// Throws Error(kCorrupt) when a manifest, class list or index is damaged, Error(kIo | kNoSpace).
CardOutcome write_card(const std::filesystem::path& directory,
                       const std::vector<CardPart>& datasets);

}  // namespace packhorse
