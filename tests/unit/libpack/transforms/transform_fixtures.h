#pragma once

#include <string>
#include <vector>

#include "packhorse/image/image_info.h"
#include "support/pictures.h"
#include "support/support.h"
#include "transforms/transform.h"

/// The vocabulary of the image modes' tests.
namespace packhorse::test {

/// The result of apply(), with its bytes copied.
struct Outcome {
  File bytes;
  std::string note;
  ImageInfo info;
};
Outcome transform(std::string_view mode, Bytes file, const TransformOptions& options = {});
/// The same for pixels that are decoded already.
Outcome transform(std::string_view mode, Bytes file, const ImageInfo& info,
                  const TransformOptions& options);

/// A progressive JPEG cut to its first `scans` scans, with an end marker.
File with_scans(const File& progressive, std::size_t scans);

}  // namespace packhorse::test
