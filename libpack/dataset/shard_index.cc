#include "dataset/shard_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/zstd_frame.h"
#include "dataset/index_layout.h"
#include "image/npy.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

using namespace index_layout;

namespace {

constexpr const char* kForeignLabel = "the index has a label beyond the dataset's classes";

/// Reads the file, although it is mapped: mapped pages would count as this process's memory from
/// then on.
std::uint64_t checksum_of(int fd, std::uint64_t bytes, const std::filesystem::path& path) {
  constexpr std::size_t kChunk = 256u << 10;  // stays in the processor's cache
  std::vector<std::byte> chunk(sizeof(Header));
  read_exactly(fd, 0, chunk, path);
  Checksum checksum(chunk);
  for (std::uint64_t at = chunk.size(); at < bytes; at += chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(kChunk, bytes - at));
    read_exactly(fd, at, chunk, path);
    checksum.add(chunk);
  }
  return checksum.finish();
}

[[noreturn]] void corrupt(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::kCorrupt, "damaged index: " + what, path,
              "run `inspect(verify=full)` on the dataset; restore the file from a copy, "
              "or pack again");
}

}  // namespace

/// The sections that a file has, by their number.
struct ShardIndex::Sections {
  std::filesystem::path path;
  std::array<std::optional<Bytes>, kSectionIds> found;
  bool of_later_version = false;  ///< or damaged: call refuse_later_version() when it is not

  Sections(Bytes file, const Header& header, std::filesystem::path name) : path(std::move(name)) {
    if (header.header_bytes != sizeof header ||
        header.sections > (file.size() - sizeof header) / sizeof(Section)) {
      corrupt(path, "its section table is invalid");
    }
    for (std::uint32_t i = 0; i < header.sections; ++i) {
      Section section{};
      std::memcpy(&section, file.data() + sizeof header + i * sizeof section, sizeof section);
      if (section.offset > file.size() || section.length > file.size() - section.offset ||
          section.offset % kAlignment != 0) {
        corrupt(path, "a section lies outside the file");
      }
      if (section.id > 0 && section.id < kSectionIds) {
        found[section.id] = file.subspan(section.offset, section.length);
      } else if ((section.flags & kRequired) != 0) {
        of_later_version = true;
      }
    }
  }

  void refuse_later_version() const {
    if (!of_later_version) return;
    throw Error(ErrorKind::kUnsupported, "the index has a section that this version does not know",
                path, "use a later version of packhorse");
  }

  Bytes bytes(SectionId id) const {
    if (!found[id]) corrupt(path, "a section is missing");
    return *found[id];
  }
  /// A section of `n` values.
  template <class T>
  std::span<const T> column(SectionId id, std::uint64_t n) const {
    const Bytes all = bytes(id);
    if (all.size() / sizeof(T) != n || all.size() % sizeof(T) != 0)
      corrupt(path, "a column has the wrong length");
    return {reinterpret_cast<const T*>(all.data()), n};
  }
  /// Where each text ends in `all`.
  std::span<const std::uint64_t> ends(SectionId id, std::uint64_t n, std::string_view all) const {
    const std::span<const std::uint64_t> ends = column<std::uint64_t>(id, n);
    if (!std::ranges::is_sorted(ends) || (!ends.empty() && ends.back() != all.size()))
      corrupt(path, "a text column is out of order");
    return ends;
  }
};

ShardIndex::ShardIndex(const std::filesystem::path& path)
    : ShardIndex(open_for_reading(path).get(), path) {}

ShardIndex::ShardIndex(int fd, const std::filesystem::path& path, IndexCheck check)
    : file_(fd, path), path_(path) {
  const Bytes file = file_.bytes();
  Header header{};
  if (file.size() < sizeof header) corrupt(path, "it is too short");
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    corrupt(path, "it does not start like an index");
  if (header.file_bytes != file.size())
    corrupt(path, "its length differs from the one in its header");
  samples_ = header.samples;
  data_bytes_ = header.data_bytes;
  const Sections sections(file, header, path);
  const bool as_used = check == IndexCheck::kAsUsed && sections.found[kBlockSums];
  if (as_used) {
    read_sums(sections);
  } else if (header.checksum != checksum_of(fd, file.size(), path)) {
    corrupt(path, "its checksum does not match");
  }
  // Checksums show that a writer wrote these bytes; the bounds below check that it wrote them
  // right.
  sections.refuse_later_version();
  read_columns(sections);
  read_fields(sections);
  file_.watch_end();
  if (as_used) return;
  if (!rows().in_order(0, samples_)) corrupt(path, "a text column is out of order");
  check_rows(0, samples_);
  file_.release();
}

void ShardIndex::read_columns(const Sections& sections) {
  ranges_ = sections.column<ByteRange>(kRanges, samples_);
  hashes_ = sections.column<std::uint64_t>(kHashes, samples_);
  labels_ = sections.column<std::int64_t>(kLabels, samples_);
  images_ = std::as_bytes(sections.column<ImageRow>(kImages, samples_));
  keys_ = as_text(sections.bytes(kKeys));
  key_ends_ = sections.column<std::uint64_t>(kKeyEnds, samples_);
  paths_ = as_text(sections.bytes(kPaths));
  path_ends_ = sections.column<std::uint64_t>(kPathEnds, samples_);
  compressed_ = sections.found[kFrames].has_value();
  if (compressed_) frames_ = sections.column<Frame>(kFrames, samples_);
}

void ShardIndex::read_fields(const Sections& sections) {
  if (!sections.found[kFieldEnds]) return;
  const std::string_view names = as_text(sections.bytes(kFieldNames));
  const std::uint64_t count = sections.bytes(kFieldEnds).size() / sizeof(std::uint64_t);
  const std::span<const std::uint64_t> ends = sections.ends(kFieldEnds, count, names);
  for (std::size_t field = 0; field < ends.size(); ++field)
    fields_.emplace_back(text(ends, names, field));
  // A mapped file cannot hold so many that the product overflows: its size bounds both factors.
  field_ranges_ = sections.column<ByteRange>(kFieldRanges, samples_ * count);
  field_hashes_ = sections.column<std::uint64_t>(kFieldHashes, samples_ * count);
}

/// The checksums of blocks, after that of all that is not in a block has been compared.
void ShardIndex::read_sums(const Sections& sections) {
  sums_ = sections.column<std::uint64_t>(kBlockSums, 1 + blocks_of(samples_));
  Header header{};
  const Bytes file = file_.bytes();
  std::memcpy(&header, file.data(), sizeof header);
  Checksum head(file.first(sizeof header));
  head.add(file.subspan(sizeof header, header.sections * sizeof(Section)));
  for (const SectionId id : {kFieldEnds, kFieldNames})
    if (sections.found[id]) head.add(*sections.found[id]);
  head.add(std::as_bytes(sums_.subspan(1)));
  if (head.finish() != sums_.front()) corrupt(path_, "its checksum does not match");
  sums_ = sums_.subspan(1);
  blocks_ = std::make_unique<std::atomic<bool>[]>(sums_.size());
}

IndexRows ShardIndex::rows() const {
  return IndexColumns{.ranges = ranges_,
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
}

void ShardIndex::check_block_of(std::size_t row) const {
  const std::size_t block = row / kBlockRows;
  if (blocks_[block].load(std::memory_order_acquire)) [[likely]]
    return;
  const std::size_t first = block * kBlockRows, behind = std::min(first + kBlockRows, samples_);
  const IndexRows all = rows();
  const bool right = all.in_order(first, behind) && all.sum(first, behind) == sums_[block];
  if (file_.truncated()) refuse_cut();
  if (!right) corrupt(path_, "the checksum of some rows does not match");
  check_rows(first, behind);
  blocks_[block].store(true, std::memory_order_release);
}

void ShardIndex::refuse_row(std::size_t i) const {
  throw Error(ErrorKind::kUsage,
              "there is no row " + std::to_string(i) + " of " + std::to_string(samples_), path_);
}

void ShardIndex::refuse_cut() const {
  throw Error(ErrorKind::kIo, "the index was truncated while it was open, or its disk is failing",
              path_, "restore the file from a copy, or pack again");
}

void ShardIndex::check_rows(std::size_t first, std::size_t behind) const {
  check_ranges(first, behind);
  check_images(first, behind);
  check_labels(first, behind);
}

/// Checks that every range lies where it should: a frame in the data file, a sample's bytes in its
/// frame.
void ShardIndex::check_ranges(std::size_t first, std::size_t behind) const {
  const auto inside = [](const ByteRange& inner, const ByteRange& outer) {
    return inner.offset >= outer.offset && inner.length <= outer.length &&
           inner.offset - outer.offset <= outer.length - inner.length;
  };
  const ByteRange file{0, data_bytes_};
  for (std::size_t i = first; i < behind; ++i) {
    const ByteRange within = compressed_ ? frames_[i].content : file;
    if (compressed_) {
      const auto& [stored, content] = frames_[i];
      if (!inside(stored, file) || content.offset > ~content.length ||
          !frame_may_hold(stored.length, content.length)) {
        corrupt(path_, "a frame lies outside the data file, or is larger than a frame can be");
      }
    }
    bool fits = inside(ranges_[i], within);
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      const ByteRange range = field_ranges_[i * fields_.size() + field];
      fits = fits && (range == kAbsent || inside(range, within));
    }
    if (!fits) corrupt(path_, "a sample lies outside the data file");
  }
}

/// Checks what the bytes of an image do not tell, or tell only when they are decoded.
void ShardIndex::check_images(std::size_t first, std::size_t behind) const {
  constexpr std::uint32_t kLongestSide = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = first; i < behind; ++i) {
    const ImageInfo info = stored_image(i);
    if (info.kind < ImageKind::kJpeg || info.kind > kLastImageKind)
      corrupt(path_, "an image has an unknown kind");
    if (info.width == 0 || info.height == 0 || info.width > kLongestSide ||
        info.height > kLongestSide) {
      corrupt(path_, "an image has an impossible size");
    }
    if (info.kind == ImageKind::kRaw && (pixel_bytes(info) != ranges_[i].length ||
                                         (info.components != 1 && info.components != 3))) {
      corrupt(path_, "the number of raw pixels does not match their size");
    }
  }
}

void ShardIndex::check_labels(std::size_t first, std::size_t behind) const {
  std::int64_t lowest = 0, highest = -1;
  for (const std::int64_t label : labels_.subspan(first, behind - first)) {
    lowest = std::min(lowest, label);
    highest = std::max(highest, label);
  }
  if (lowest < 0) corrupt(path_, "a label is negative");
  if (highest >= label_limit_) corrupt(path_, kForeignLabel);
}

std::optional<std::string> ShardIndex::why_not_of(const ShardRecord& record,
                                                  const Manifest& manifest) const {
  if (size() != record.samples || data_bytes() != record.bytes || fields() != manifest.fields ||
      compressed() == manifest.compress.empty()) {
    return "the index does not match the manifest";
  }
  const auto classes = static_cast<std::int64_t>(manifest.class_samples.size());
  if (!blocks_ && !labels_.empty() && *std::ranges::max_element(labels_) >= classes)
    return kForeignLabel;
  return std::nullopt;
}

ImageInfo ShardIndex::stored_image(std::size_t i) const {
  ImageRow row{};
  std::memcpy(&row, images_.data() + i * sizeof row, sizeof row);
  return {static_cast<ImageKind>(row.kind),
          row.components,
          row.bit_depth,
          row.orientation,
          row.width,
          row.height};
}

}  // namespace packhorse
