#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>

#include "packhorse/foreign_shard.h"
#include "packhorse/image_info.h"

namespace packhorse {

/// One walk through a shard: what is looked at besides its bytes.
struct WalkTask {
  enum class Kind {
    kStructure,  ///< the whole shard, with the format's own library
    kDecode,     ///< some images, strictly
    kDescribe,   ///< a shard of others, which is to be adopted: adopting/describe.h
  };
  Kind kind = Kind::kStructure;
  std::string format;           ///< a name of all_formats(), or of foreign_formats()
  std::filesystem::path data;   ///< the shard's data file
  std::filesystem::path index;  ///< empty: it cannot be used; the structure is then walked alone
  std::filesystem::path adopted = {};  ///< the dataset, when others made its shards; else empty
  std::size_t first = 0;               ///< kDecode: the first row
  std::size_t rows = std::numeric_limits<std::size_t>::max();  ///< kDecode: up to so many
  ImageLimits limits = {};                                     ///< kDecode
  ForeignOptions foreign = {};                                 ///< kDescribe
};

struct WalkFinding {
  std::string kind;          ///< one of Finding's about samples, or "read"
  std::int64_t row = -1;     ///< in the shard; -1: not about one sample
  bool about_bytes = false;  ///< only the bytes of an image or a field are others
  std::string detail;        ///< a sentence for people
};

/// Calls `report` for everything that is wrong; kDecode: for each image that was not decoded to its
/// end, once. `row` says at any time which row is being looked
/// at, -1 before the first: who watches from outside knows then where it ended. Runs other people's
/// libraries on bytes that may be damaged, so that it may crash or never return: walkers (walker.h)
/// run it in a process of its own. Not for kDescribe, which has more to say. Throws
/// Error(kInterrupted), and Error(kIo) as files do.
void walk(const WalkTask& task, std::atomic<std::int64_t>& row,
          const std::function<void(const WalkFinding&)>& report, const std::stop_token& stop = {});

}  // namespace packhorse
