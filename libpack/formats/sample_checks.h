#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/format.h"

namespace packhorse {

/// What every writer demands of its samples, whatever the format. One thread at a time.
class SampleChecks {
 public:
  /// Throws Error(kUsage) when ShardSpec::fields are not sorted and unique, or one has a name that
  /// no file could have: empty, with a slash, a zero or an upper-case letter, or a dot in front.
  SampleChecks(const ShardSpec& spec, std::filesystem::path shard);

  /// Throws Error(kUsage) with the key when keys are not strictly increasing (which makes them
  /// unique too), when raw pixels do not have the size that the image says, or when a field was not
  /// announced or is out of order.
  void check(const Sample& sample);

  /// The fields of the last sample checked, one for each announced name; null where it has none.
  std::span<const Field* const> fields() const { return fields_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::filesystem::path& shard() const { return shard_; }

  [[noreturn]] void refuse(const std::string& what, std::string_view key) const;

 private:
  std::vector<std::string> names_;
  std::filesystem::path shard_;
  std::vector<const Field*> fields_;
  std::string last_key_;
};

/// Throws Error(kUsage) when `spec` asks for compression. For formats that cannot be compressed.
void refuse_compression(const ShardSpec& spec, const std::filesystem::path& shard);

}  // namespace packhorse
