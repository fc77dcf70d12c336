#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/image/image_info.h"
#include "packhorse/walkers/finding_kind.h"
#include "packhorse/walkers/walkers.h"

namespace packhorse {

enum class VerifyLevel {
  kQuick,  ///< manifest, sums, presence, sizes, indexes; no payload is read
  kFull,  ///< and SHA-256 of every file, XXH3 of every image, every shard walked by its own library
};

/// One thing that is not as it was packed or, with a `path`, not as it is in the source.
struct Finding {
  /// Kinds about files: kMissing, kSize, kHash, kIndex, kManifest, kRead. About samples: kPayload,
  /// kStructure, kDescription, kDecode, kLimit. Against a source: kMissing, kExtra, kChanged,
  /// kRelabelled.
  FindingKind kind;
  std::string shard;         ///< the file, relative to the dataset; empty: sample in none
  std::int64_t sample = -1;  ///< number in the dataset; -1: not about one sample
  std::string key;
  std::uint64_t offset = 0;  ///< of the damaged range in the file, with `length` > 0
  std::uint64_t length = 0;
  std::string detail;     ///< a sentence for people
  std::string path = {};  ///< of the input in the source, as printable() writes it, like Reject's;
                          ///< only set when compared with a source
  /// Who wrote the file; this decides how to repair it.
  enum class Writer {
    kPack,    ///< it can be packed again
    kIndex,   ///< it belongs to adopted shards, which can be adopted again
    kOthers,  ///< a foreign shard, never written to
  };
  Writer writer = Writer::kPack;
};

/// One of N parts of a check; all N together are the whole check.
struct VerifyPart {
  std::size_t index = 0, count = 1;
  /// "3/10", counted from 0. Throws Error(kUsage).
  static VerifyPart parse(const std::string& text);
};

/// The most one walk may take; 0 = by the size of the shard. Exceeding it is a finding.
struct WalkLimits {
  std::uint64_t cpu_s = 0;
  double wall_s = 0;
  std::uint64_t memory_bytes = 0;  ///< beyond what the walking process itself takes
};

struct VerifyOptions {
  VerifyLevel level = VerifyLevel::kQuick;
  int jobs = 0;         ///< 0 = as many as the process may use
  bool decode = false;  ///< kFull: also decode every image; a decoder's warning counts
  /// With at least as many shards as parts: the shards whose number leaves the remainder `index`.
  /// With fewer shards: the images of an equal range of samples, and everything else of the shards
  /// with that remainder.
  VerifyPart part = {};
  /// kFull: the processes in which shards are walked and images decoded (walkers/walkers.h), since
  /// a damaged file may crash the libraries that do this or keep them busy for ever. None: in this
  /// process; damaged shards are then not walked, and the report says so.
  std::shared_ptr<WalkerPool> walkers = {};
  WalkLimits limits = {};
  ImageLimits image_limits = {};  ///< an image beyond is not decoded, and that is a finding
};

struct VerifyReport {
  std::uint64_t files = 0, samples = 0, bytes = 0;  ///< that were checked
  std::uint64_t walked = 0;                         ///< shards walked by the format's own library
  std::uint64_t decoded = 0;                        ///< images decoded to their end
  bool isolated = false;                            ///< walks ran in processes of their own
  std::vector<std::string> notes = {};              ///< what was left out, in words
  std::vector<Finding> findings = {};
  bool ok() const { return findings.empty(); }
};

/// Checks a dataset against its own manifest and indexes. Damage is a finding, not an exception.
/// Throws Error(kNotFound) when `dataset` has no dataset.json, Error(kIo) when the walker cannot be
/// started or another dataset took this one's place meanwhile, Error(kInterrupted).
VerifyReport verify(const std::filesystem::path& dataset, const VerifyOptions& options,
                    Progress* progress = nullptr, std::stop_token stop = {});

/// Whether this program was started to do walks.
inline bool is_walk_call(int argc, const char* const* argv) {
  return argc == 2 && argv[1] == kWalkArgument;
}

/// Takes tasks from standard input and answers on standard output until the input ends. Each task
/// runs in a child of its own, made by fork(2) and bounded by setrlimit(2), so that a crash ends
/// nothing else. The process must have one thread: call it first in main(). Returns the exit code.
int serve_walks();

}  // namespace packhorse
