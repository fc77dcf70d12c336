#include "packhorse/dataset/shard_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/xxh3.h"
#include "base/zstd_frame.h"
#include "dataset/index_rows.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/image/npy.h"

namespace packhorse {

static_assert(std::endian::native == std::endian::little, "the index is mapped as it is on disk");

namespace {

constexpr char kMagic[8] = {'P', 'H', 'I', 'N', 'D', 'E', 'X', '1'};
constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kRequired =
    1;  ///< section flag: a reader that does not know it must refuse

struct Header {
  char magic[8];
  std::uint32_t header_bytes;
  std::uint32_t sections;
  std::uint64_t samples;
  std::uint64_t data_bytes;
  std::uint64_t file_bytes;
  std::uint64_t reserved[2];
  std::uint64_t checksum;  ///< XXH3 of the whole file with this field zero
};
static_assert(sizeof(Header) == 64);

struct Section {
  std::uint32_t id;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(Section) == 24);

enum SectionId : std::uint32_t {
  kRanges = 1,
  kHashes = 2,
  kLabels = 3,
  kImages = 4,
  kKeyEnds = 5,
  kKeys = 6,
  kPathEnds = 7,
  kPaths = 8,
  kFieldEnds = 9,
  kFieldNames = 10,
  kFieldRanges = 11,
  kFieldHashes = 12,
  kFrames = 13,
  kBlockSums = 14,
  kSectionIds,
};

static_assert(sizeof(Frame) == 32 && sizeof(ByteRange) == 16);

struct ImageRow {
  std::uint32_t width, height;
  std::uint8_t kind, components, bit_depth, orientation;
};
static_assert(sizeof(ImageRow) == IndexColumns::kImageRowBytes);

constexpr const char* kForeignLabel = "the index has a label beyond the dataset's classes";

template <class T>
std::string_view raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Larger indexes have a checksum for each block of rows.
constexpr std::size_t kMostWithoutSums = 8 * kBlockRows;

std::uint64_t blocks_of(std::uint64_t rows) {
  return rows / kBlockRows + (rows % kBlockRows == 0 ? 0 : 1);
}

/// XXH3 of a file, or of its beginning, with the checksum in its header counted as zero.
class Checksum {
 public:
  explicit Checksum(Bytes header) {
    constexpr std::uint64_t kZero = 0;
    XXH3_64bits_reset(&state_);
    add(header.first(offsetof(Header, checksum)));
    add(std::as_bytes(std::span(&kZero, 1)));
  }
  void add(Bytes bytes) { XXH3_64bits_update(&state_, bytes.data(), bytes.size()); }
  std::uint64_t finish() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

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
    if (!std::is_sorted(ends.begin(), ends.end()) || (!ends.empty() && ends.back() != all.size()))
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
