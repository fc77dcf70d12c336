#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/format.h"
#include "support/made_dataset.h"
#include "support/support.h"

/// Shards for the conformance tests: every format, in every way it can be written.
namespace packhorse::test {

inline const std::vector<std::string> kFieldNames = {"json", "seg.png", "txt"};

/// One way to write a shard.
struct Variant {
  const Format& format;
  int zstd_level = 0;
  bool fields = false;
  bool raw = false;

  std::string name() const;
  ShardSpec spec() const;
  /// The path of a shard of this variant.
  std::filesystem::path path_in(const TemporaryDirectory& directory) const;
  /// Sizes around every boundary the formats have: tar blocks, pages, LMDB's overflow limit, write
  /// buffers. Fields are empty, tiny, large or absent.
  std::vector<Row> rows() const;
  ShardLayout write(const std::filesystem::path& path, const std::vector<Row>& rows) const;
};

/// Every registered format, and concat: the smallest that does all a format must. It is no part of
/// packhorse, and an example of how to write one.
std::vector<const Format*> tested_formats();

/// Every format: compressed where possible, with fields where it carries them, with files and with
/// pixels.
std::vector<Variant> all_variants();

inline void add(ShardWriter& writer, const Row& row) { add(writer, row, kFieldNames); }

/// The decompressed content of a data file.
std::vector<std::byte> content_of(const std::filesystem::path& path, const ShardLayout& layout);

template <class Check>
void for_each_variant(const Check& check) {
  for (const Variant& variant : all_variants()) {
    CAPTURE(variant.name());
    const TemporaryDirectory directory;
    check(variant, variant.path_in(directory));
  }
}

template <class Check>
void for_each_format(const Check& check) {
  for (const Format* format : tested_formats()) {
    CAPTURE(format->name);
    const TemporaryDirectory directory;
    check(*format, Variant{*format}.path_in(directory));
  }
}

}  // namespace packhorse::test
