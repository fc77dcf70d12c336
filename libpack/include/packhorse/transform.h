#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "packhorse/image_info.h"

namespace packhorse {

/// What becomes of an image's bytes on their way into the dataset: the modes of `--image`.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Returns the bytes to store: a view of `input` when they stay as they are, else of `output`.
  /// Updates `info` to describe what it returns. A pure function of its input; any thread.
  virtual Bytes apply(Bytes input, ImageInfo& info, std::vector<std::byte>& output) const = 0;
};

struct TransformKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Transform> (*make)();
};

/// One line each; feeds the help text and the manifest.
std::span<const TransformKind> all_transforms();
/// Throws Error(kUsage) with the names there are.
const TransformKind& find_transform(std::string_view name);

}  // namespace packhorse
