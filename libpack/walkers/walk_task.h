#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "formats/foreign_shard.h"
#include "packhorse/image/image_info.h"
#include "packhorse/walkers/finding_kind.h"

namespace packhorse {

/// One walk through a shard: what to examine besides its bytes.
struct WalkTask {
  enum class Kind {
    kStructure,  ///< the whole shard, with the format's own library
    kDecode,     ///< some images, strictly
    kDescribe,   ///< a shard made by others, to be adopted: adopting/describe.h
  };
  Kind kind = Kind::kStructure;
  std::string format;                  ///< a name of all_formats(), or of foreign_formats()
  std::filesystem::path data;          ///< the shard's data file
  std::filesystem::path index;         ///< empty: unusable; the structure is then walked without it
  std::filesystem::path adopted = {};  ///< the dataset, when others made its shards; else empty
  std::size_t first = 0;               ///< kDecode: the first row
  std::size_t rows = std::numeric_limits<std::size_t>::max();  ///< kDecode: at most this many rows
  ImageLimits limits = {};                                     ///< kDecode
  ForeignOptions foreign = {};                                 ///< kDescribe
};

struct WalkFinding {
  FindingKind kind = FindingKind::kStructure;  ///< one of Finding's kinds for samples, or kRead
  std::int64_t row = -1;                       ///< in the shard; -1: not about one sample
  bool about_bytes = false;  ///< nothing is wrong but the bytes of an image or a field
  std::string detail;        ///< a sentence for people
};

}  // namespace packhorse
