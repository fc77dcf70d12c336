#include <algorithm>
#include <array>
#include <cstring>

#include "base/zstd_frame.h"
#include "dataset/index_layout.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"

namespace packhorse {

using namespace index_layout;

namespace {

template <class T>
std::string_view raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

ShardIndexWriter::ShardIndexWriter(std::vector<std::string> fields, bool compressed)
    : fields_(std::move(fields)), compressed_(compressed) {}

void ShardIndexWriter::reserve(std::size_t entries, std::size_t path_bytes) {
  constexpr std::size_t kKeyBytes = 9;
  hashes_.reserve(entries);
  labels_.reserve(entries);
  images_.reserve(entries * sizeof(ImageRow));
  key_ends_.reserve(entries);
  path_ends_.reserve(entries);
  keys_.reserve(entries * kKeyBytes);
  paths_.reserve(path_bytes);
  field_hashes_.reserve(entries * fields_.size());
}

void ShardIndexWriter::add(const IndexEntry& entry) {
  if (entry.fields.size() != fields_.size()) {
    throw Error(ErrorKind::kUsage, "an index entry needs a range for each field", {}, {},
                entry.key);
  }
  add_unplaced(entry);
  ranges_.push_back(entry.range);
  field_ranges_.insert(field_ranges_.end(), entry.fields.begin(), entry.fields.end());
  if (compressed_) frames_.push_back(entry.frame);
}

void ShardIndexWriter::add_unplaced(const IndexEntry& entry) {
  if (entry.field_hashes.size() != fields_.size()) {
    throw Error(ErrorKind::kUsage, "an index entry needs a hash for each field", {}, {}, entry.key);
  }
  hashes_.push_back(entry.hash);
  labels_.push_back(entry.label);
  const ImageRow row{
      entry.image.width,      entry.image.height,    static_cast<std::uint8_t>(entry.image.kind),
      entry.image.components, entry.image.bit_depth, entry.image.orientation};
  const Bytes bytes = std::as_bytes(std::span(&row, 1));
  images_.insert(images_.end(), bytes.begin(), bytes.end());
  keys_ += entry.key;
  key_ends_.push_back(keys_.size());
  paths_ += entry.path;
  path_ends_.push_back(paths_.size());
  field_hashes_.insert(field_hashes_.end(), entry.field_hashes.begin(), entry.field_hashes.end());
}

void ShardIndexWriter::place(ShardLayout&& layout) {
  if (layout.images.size() != size() || layout.fields.size() != size() * fields_.size() ||
      (!layout.frames.empty() && layout.frames.size() != size())) {
    throw Error(ErrorKind::kUsage, "the layout has a different number of samples than the index");
  }
  ranges_ = std::move(layout.images);
  field_ranges_ = std::move(layout.fields);
  frames_ = std::move(layout.frames);
  compressed_ = !frames_.empty();
}

struct ShardIndexWriter::Column {
  std::uint32_t id, flags;
  std::string_view bytes;
};

void ShardIndexWriter::write(std::uint64_t data_bytes,
                             const std::function<void(Bytes)>& out) const {
  std::vector<Column> columns = {
      {kRanges, kRequired, raw(ranges_)},      {kHashes, kRequired, raw(hashes_)},
      {kLabels, kRequired, raw(labels_)},      {kImages, kRequired, raw(images_)},
      {kKeyEnds, kRequired, raw(key_ends_)},   {kKeys, kRequired, keys_},
      {kPathEnds, kRequired, raw(path_ends_)}, {kPaths, kRequired, paths_},
  };
  std::vector<std::uint64_t> field_ends;
  std::string field_names;
  for (const std::string& name : fields_) {
    field_names += name;
    field_ends.push_back(field_names.size());
  }
  if (!fields_.empty()) {
    // Not kRequired: a reader that does not know fields still reads the images correctly.
    columns.insert(columns.end(), {{kFieldEnds, 0, raw(field_ends)},
                                   {kFieldNames, 0, field_names},
                                   {kFieldRanges, 0, raw(field_ranges_)},
                                   {kFieldHashes, 0, raw(field_hashes_)}});
  }
  if (compressed_) columns.push_back({kFrames, kRequired, raw(frames_)});
  std::vector<std::uint64_t> sums = block_sums();
  if (!sums.empty()) columns.push_back({kBlockSums, 0, raw(sums)});

  const auto aligned = [](std::size_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::vector<Section> table;
  std::size_t end = sizeof(Header) + columns.size() * sizeof(Section);
  for (const Column& column : columns) {
    table.push_back({column.id, column.flags, aligned(end), column.bytes.size()});
    end = aligned(end) + column.bytes.size();
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.header_bytes = sizeof header;
  header.sections = static_cast<std::uint32_t>(columns.size());
  header.samples = size();
  header.data_bytes = data_bytes;
  header.file_bytes = end;

  if (!sums.empty()) {
    Checksum head(std::as_bytes(std::span(&header, 1)));
    for (const std::string_view part : {raw(table), raw(field_ends), std::string_view(field_names),
                                        raw(sums).substr(sizeof(std::uint64_t))})
      head.add(as_bytes(part));
    sums.front() = head.finish();
  }

  // Runs twice: for the checksum, which goes into the header, and for the file.
  const auto rest = [&](const auto& piece) {
    static constexpr std::array<std::byte, kAlignment> kPadding{};
    std::size_t at = sizeof(Header) + table.size() * sizeof(Section);
    piece(as_bytes(raw(table)));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      piece(Bytes(kPadding).first(table[i].offset - at));
      piece(as_bytes(columns[i].bytes));
      at = table[i].offset + table[i].length;
    }
  };
  Checksum checksum(std::as_bytes(std::span(&header, 1)));
  rest([&](Bytes bytes) { checksum.add(bytes); });
  header.checksum = checksum.finish();
  out(std::as_bytes(std::span(&header, 1)));
  rest(out);
}

/// The checksums of the blocks, behind room for that of all that comes before the rows; nothing for
/// a small index.
std::vector<std::uint64_t> ShardIndexWriter::block_sums() const {
  if (size() <= kMostWithoutSums) return {};
  const IndexRows rows = IndexColumns{.ranges = ranges_,
                                      .hashes = hashes_,
                                      .labels = labels_,
                                      .images = images_,
                                      .key_ends = key_ends_,
                                      .path_ends = path_ends_,
                                      .keys = keys_,
                                      .paths = paths_,
                                      .fields = fields_.size(),
                                      .field_ranges = field_ranges_,
                                      .field_hashes = field_hashes_,
                                      .frames = frames_}
                             .rows();
  std::vector<std::uint64_t> sums{0};
  for (std::size_t first = 0; first < size(); first += kBlockRows)
    sums.push_back(rows.sum(first, std::min(first + kBlockRows, size())));
  return sums;
}

std::string ShardIndexWriter::serialise(std::uint64_t data_bytes) const {
  std::string file;
  write(data_bytes, [&](Bytes piece) { file += as_text(piece); });
  return file;
}

}  // namespace packhorse
