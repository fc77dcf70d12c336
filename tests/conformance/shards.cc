#include "shards.h"

#include <algorithm>

#include "base/file.h"
#include "base/zstd_frame.h"
#include "concat/concat.h"

namespace packhorse::test {

namespace {

namespace fs = std::filesystem;

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 131 + size) >> 3);
  return bytes;
}

/// A field that is absent, empty, one byte, some bytes, or 3 MB, depending on the row's number.
std::optional<std::string> field_of(std::size_t row, std::size_t field) {
  if ((row + field) % 4 == 0) return std::nullopt;
  if ((row + field) % 4 == 1) return std::string();
  if (row == 6) return some_bytes(3000000 + field);
  return some_bytes(1 + (row / 4) * 511 + field);
}

constexpr std::size_t kSizes[] = {1,    2,     511,     512,     513,     900,
                                  2020, 2040,  2048,    4079,    4080,    4096,
                                  4097, 65536, 1048575, 1048576, 1048577, 3000000};

}  // namespace

std::string Variant::name() const {
  return std::string(format.name) + (zstd_level != 0 ? " compressed" : "") +
         (fields ? " with fields" : "") + (raw ? " raw" : "");
}

ShardSpec Variant::spec() const {
  return {{"a", "b", "c", "d", "e"}, fields ? kFieldNames : std::vector<std::string>(), zstd_level};
}

fs::path Variant::path_in(const TemporaryDirectory& directory) const {
  return directory / ("shard-000000" + std::string(suffix_of(format, zstd_level)));
}

std::vector<Row> Variant::rows() const {
  std::vector<Row> rows;
  for (const std::size_t size : kSizes) {
    const std::size_t i = rows.size();
    Row row{key_of(3 * i), static_cast<std::int64_t>(i % 5), some_bytes(size)};  // keys have gaps
    if (raw) {
      row.image = {ImageKind::kRaw, 3, 8, 1, 31, 17};
      row.bytes = some_bytes(2000 + i).substr(0, 31 * 17 * 3);
    }
    for (std::size_t f = 0; fields && f < kFieldNames.size(); ++f)
      row.fields.push_back(field_of(i, f));
    rows.push_back(std::move(row));
  }
  return rows;
}

ShardLayout Variant::write(const fs::path& path, const std::vector<Row>& rows) const {
  const auto writer = format.open_writer(path, spec());
  for (const Row& row : rows) add(*writer, row);
  return writer->close();
}

std::vector<const Format*> tested_formats() {
  const auto formats = all_formats();
  std::vector<const Format*> tested(formats.begin(), formats.end());
  tested.push_back(&concat::kFormat);
  return tested;
}

std::vector<Variant> all_variants() {
  std::vector<Variant> variants;
  for (const Format* format : tested_formats()) {
    for (const int level : {0, 3}) {
      if (level != 0 && format->compressed_suffix.empty()) continue;
      for (const bool fields : {false, true}) {
        if (fields && !format->carries_fields) continue;
        for (const bool raw : {false, true}) variants.push_back({*format, level, fields, raw});
      }
    }
  }
  return variants;
}

std::vector<std::byte> content_of(const fs::path& path, const ShardLayout& layout) {
  std::vector<std::byte> file = read_file(path);
  if (layout.frames.empty()) return file;
  std::vector<std::byte> content;
  for (const Frame& frame : layout.frames) {
    REQUIRE(frame.stored.end() <= file.size());
    REQUIRE(frame.content.offset == content.size());
    content.resize(frame.content.end());
    decompress_frame(Bytes(file).subspan(frame.stored.offset, frame.stored.length),
                     std::span(content).subspan(frame.content.offset));
  }
  return content;
}

}  // namespace packhorse::test
