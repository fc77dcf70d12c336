#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace packhorse {

/// What is wrong, in a word, as `--json` has it.
enum class FindingKind : std::uint8_t {
  // In the order of their names.
  kChanged,      ///< "changed": another one in the source
  kDecode,       ///< "decode": the image cannot be decoded
  kDescription,  ///< "description": the index says of an image what it is not
  kExtra,        ///< "extra": the source has no such input
  kHash,         ///< "hash": a file's bytes are others
  kIndex,        ///< "index": a shard's index cannot be used
  kLimit,        ///< "limit": the image is beyond VerifyOptions::image_limits, and not decoded
  kManifest,     ///< "manifest": dataset.json cannot be used, or does not fit
  kMissing,      ///< "missing": a file, or a sample of the source
  kPayload,      ///< "payload": the bytes of an image or a field are others
  kRead,         ///< "read": the system refuses to read
  kRelabelled,   ///< "relabelled": of another class in the source
  kSize,         ///< "size": a file has another one
  kStructure,    ///< "structure": the format's own library sees something else, fails or crashes
};

std::string_view name_of(FindingKind kind);
/// Nothing for a word that is none.
std::optional<FindingKind> parse_finding_kind(std::string_view name);

}  // namespace packhorse
