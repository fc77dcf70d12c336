#include <array>

#include "base/file.h"
#include "concat/concat.h"
#include "concat/layout.h"
#include "formats/format.h"
#include "packhorse/base/error.h"

namespace packhorse::concat {

namespace {

/// Goes through all headers when it opens a shard. Memory: the keys, and 24 bytes a sample.
class Reader final : public ShardReader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : path_(path), fd_(open_for_reading(path)), end_(file_size(fd_.get(), path)) {
    for (std::uint64_t at = 0; at < end_;) at = scan(at);
  }

  std::size_t size() const override { return records_.size(); }

  StoredSample read(std::size_t i) override {
    const Record& record = records_[i];
    image_.resize(record.image.length);
    read_exactly(fd_.get(), record.image.offset, image_, path_);
    return {record.key, record.label, image_};
  }

 private:
  struct Record {
    std::string key;
    std::int64_t label;
    ByteRange image;
  };

  /// Takes the sample at `at`. Returns where the next one begins.
  std::uint64_t scan(std::uint64_t at) {
    Record record;
    const std::uint64_t key_bytes = number(at, 4);
    if (key_bytes > kLongestKey) corrupt("a key is too long");
    if (end_ - at < kNumberBytes + key_bytes) corrupt("it ends inside a sample");
    record.key.resize(key_bytes);
    read_exactly(fd_.get(), at + 4, std::as_writable_bytes(std::span(record.key)), path_);
    if (!records_.empty() && record.key <= records_.back().key) corrupt("keys are not increasing");
    record.label = static_cast<std::int64_t>(number(at + 4 + key_bytes, 8));
    if (record.label < 0) corrupt("a label is negative", record.key);
    record.image = {at + kNumberBytes + key_bytes, number(at + 4 + key_bytes + 8, 8)};
    if (record.image.length > end_ - record.image.offset) corrupt("an image is cut", record.key);
    at = record.image.end();
    records_.push_back(std::move(record));
    return at;
  }

  std::uint64_t number(std::uint64_t at, std::size_t bytes) const {
    std::array<std::byte, 8> text{};
    read_exactly(fd_.get(), at, std::span(text).first(bytes), path_);
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<unsigned>(text[i]);
    return value;
  }

  [[noreturn]] void corrupt(const std::string& what, const std::string& key = {}) const {
    throw Error(ErrorKind::kCorrupt, "damaged concatenated shard: " + what, path_, {}, key);
  }

  std::filesystem::path path_;
  UniqueFd fd_;
  std::uint64_t end_;
  std::vector<Record> records_;
  std::vector<std::byte> image_;
};

}  // namespace

std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path) {
  return std::make_unique<Reader>(path);
}

const Format kFormat = {
    .name = "concat",
    .file_suffix = kSuffix,
    .summary = "samples one behind the other: key, label, image; for experiments",
    .compressed_suffix = {},
    .version = kVersion,
    .carries_fields = false,
    .sample_overhead = kNumberBytes + kLongestKey,
    .field_overhead = 0,
    .open_writer = open_writer,
    .open_reader = open_reader,
    .library_version = [] { return std::to_string(kVersion); },
};

}  // namespace packhorse::concat
