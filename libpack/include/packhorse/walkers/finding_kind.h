#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace packhorse {

/// What is wrong, in a word that `--json` uses, too.
enum class FindingKind : std::uint8_t {
  // Sorted by name.
  kChanged,      ///< "changed": the input is different in the source
  kDecode,       ///< "decode": the image cannot be decoded
  kDescription,  ///< "description": the index describes the image wrongly
  kExtra,        ///< "extra": the source has no such input
  kHash,         ///< "hash": a file has other bytes
  kIndex,        ///< "index": a shard's index cannot be used
  kLimit,        ///< "limit": the image is beyond VerifyOptions::image_limits and was not decoded
  kManifest,     ///< "manifest": dataset.json cannot be used, or does not fit
  kMissing,      ///< "missing": a file, or a sample of the source
  kPayload,      ///< "payload": an image or a field has other bytes
  kRead,         ///< "read": the system cannot read a file
  kRelabelled,   ///< "relabelled": the input, or a label, has another class in the source
  kSize,         ///< "size": a file has another size
  kStructure,    ///< "structure": the format's own library sees something else, fails or crashes
};

std::string_view name_of(FindingKind kind);
/// Returns nothing for an unknown word.
std::optional<FindingKind> parse_finding_kind(std::string_view name);

}  // namespace packhorse
