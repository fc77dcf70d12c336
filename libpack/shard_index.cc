#include "packhorse/shard_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "packhorse/error.h"

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
};

struct ImageRow {
  std::uint32_t width, height;
  std::uint8_t kind, components, bit_depth, orientation;
};
static_assert(sizeof(ImageRow) == 12);

template <class T>
std::string_view raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::uint64_t checksum_of(Bytes file) {
  constexpr std::size_t kField = offsetof(Header, checksum);
  constexpr std::uint64_t kZero = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, file.data(), kField);
  XXH3_64bits_update(&state, &kZero, sizeof kZero);
  XXH3_64bits_update(&state, file.data() + sizeof(Header), file.size() - sizeof(Header));
  return XXH3_64bits_digest(&state);
}

[[noreturn]] void corrupt(const std::filesystem::path& path, const std::string& what) {
  throw Error(
      ErrorKind::kCorrupt, "damaged index: " + what, path,
      "run `packhorse inspect --verify full` on the dataset; restore the file or pack again");
}

}  // namespace

ShardIndexWriter::ShardIndexWriter(std::vector<std::string> fields, bool compressed)
    : fields_(std::move(fields)), compressed_(compressed) {}

void ShardIndexWriter::add(const IndexEntry& entry) {
  ranges_.push_back(entry.range);
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
}

std::string ShardIndexWriter::serialise(std::uint64_t data_bytes) const {
  const std::pair<std::uint32_t, std::string_view> columns[] = {
      {kRanges, raw(ranges_)},      {kHashes, raw(hashes_)},    {kLabels, raw(labels_)},
      {kImages, raw(images_)},      {kKeyEnds, raw(key_ends_)}, {kKeys, keys_},
      {kPathEnds, raw(path_ends_)}, {kPaths, paths_},
  };
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.header_bytes = sizeof header;
  header.sections = static_cast<std::uint32_t>(std::size(columns));
  header.samples = ranges_.size();
  header.data_bytes = data_bytes;

  std::string file(sizeof(Header) + std::size(columns) * sizeof(Section), '\0');
  std::vector<Section> table;
  for (const auto& [id, bytes] : columns) {
    file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
    table.push_back({id, kRequired, file.size(), bytes.size()});
    file += bytes;
  }
  header.file_bytes = file.size();
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, table.data(), table.size() * sizeof(Section));
  const std::uint64_t checksum = checksum_of(as_bytes(file));
  std::memcpy(file.data() + offsetof(Header, checksum), &checksum, sizeof checksum);
  return file;
}

ShardIndex::ShardIndex(const std::filesystem::path& path) : file_(path) {
  const Bytes file = file_.bytes();
  Header header{};
  if (file.size() < sizeof header) corrupt(path, "it is too short");
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    corrupt(path, "it does not start as an index does");
  if (header.file_bytes != file.size()) corrupt(path, "its length is not the one in its header");
  if (header.checksum != checksum_of(file)) corrupt(path, "its checksum does not fit");
  // The checksum vouches for what a writer wrote; the bounds below, for the writer.
  if (header.header_bytes != sizeof header ||
      header.sections > (file.size() - sizeof header) / sizeof(Section)) {
    corrupt(path, "bad section table");
  }
  samples_ = header.samples;
  data_bytes_ = header.data_bytes;

  const auto column = [&](Bytes bytes, std::size_t width) {
    if (bytes.size() / width != samples_ || bytes.size() % width != 0)
      corrupt(path, "a column has the wrong length");
    return bytes.data();
  };
  std::uint32_t seen = 0;
  for (std::uint32_t i = 0; i < header.sections; ++i) {
    Section section{};
    std::memcpy(&section, file.data() + sizeof header + i * sizeof section, sizeof section);
    if (section.offset > file.size() || section.length > file.size() - section.offset ||
        section.offset % kAlignment != 0) {
      corrupt(path, "a section lies outside the file");
    }
    const Bytes bytes = file.subspan(section.offset, section.length);
    const auto numbers = [&] {
      return std::span(reinterpret_cast<const std::uint64_t*>(column(bytes, 8)), samples_);
    };
    switch (section.id) {
      case kRanges:
        ranges_ = {reinterpret_cast<const ByteRange*>(column(bytes, sizeof(ByteRange))), samples_};
        break;
      case kHashes:
        hashes_ = numbers();
        break;
      case kLabels:
        labels_ = {reinterpret_cast<const std::int64_t*>(column(bytes, 8)), samples_};
        break;
      case kImages:
        column(bytes, sizeof(ImageRow));
        images_ = bytes;
        break;
      case kKeyEnds:
        key_ends_ = numbers();
        break;
      case kKeys:
        keys_ = as_text(bytes);
        break;
      case kPathEnds:
        path_ends_ = numbers();
        break;
      case kPaths:
        paths_ = as_text(bytes);
        break;
      default:
        if ((section.flags & kRequired) != 0) {
          throw Error(ErrorKind::kUnsupported, "the index has a section this version does not know",
                      path, "use a later packhorse");
        }
        continue;
    }
    seen |= 1u << section.id;
  }
  if (seen != 0x1feu) corrupt(path, "a section is missing");
  const auto ordered = [&](std::span<const std::uint64_t> ends, std::size_t size) {
    return std::is_sorted(ends.begin(), ends.end()) && (ends.empty() || ends.back() == size);
  };
  if (!ordered(key_ends_, keys_.size()) || !ordered(path_ends_, paths_.size())) {
    corrupt(path, "a text column is out of order");
  }
  for (const ByteRange& range : ranges_) {
    if (range.offset > data_bytes_ || range.length > data_bytes_ - range.offset) {
      corrupt(path, "a sample lies outside the data file");
    }
  }
}

ImageInfo ShardIndex::image(std::size_t i) const {
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
