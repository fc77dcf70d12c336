#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>

#include "packhorse/annotations/target_options.h"
#include "packhorse/base/progress.h"

namespace packhorse {

struct UnpackReport {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  /// For a notation: the objects, and counts of everything that the files cannot express.
  std::uint64_t objects = 0;
  std::map<std::string, std::uint64_t> unsaid = {};
};

/// Writes every sample of the dataset (or of each split below `dataset`) back as a file under
/// `out`, by the path it had in the source, with its extra fields beside it: the field `json` of
/// `cats/a.b.jpg` becomes `cats/a.json`. Raw pixels become NumPy files, `cats/a.b.npy`. Every byte
/// is checked against its hash. `out` appears in one rename when all files are there. Throws
/// Error(kExists) when `out` exists or two files would have one name, Error(kCorrupt) for a damaged
/// sample or a path that would leave `out`.
///
/// In a notation, images and their objects are written in its usual layout (docs/annotations.md),
/// and no other field. Throws Error(kUsage) for a dataset without objects.
UnpackReport unpack(const std::filesystem::path& dataset, const std::filesystem::path& out,
                    Progress* progress = nullptr, std::stop_token stop = {},
                    UnpackAs as = UnpackAs::kFolder);

}  // namespace packhorse
