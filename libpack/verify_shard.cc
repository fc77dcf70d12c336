#include "verify_shard.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/format.h"
#include "packhorse/hash.h"
#include "packhorse/shard_index.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kChunk = 4u << 20;

/// XXH3 of many ranges of a file that passes by in chunks. The ranges are taken in the order they
/// lie.
class RangeHasher {
 public:
  explicit RangeHasher(const ShardIndex& index)
      : index_(index), order_(index.size()), hashes_(index.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return index.range(a).offset < index.range(b).offset;
    });
    XXH3_64bits_reset(&state_);
  }

  void pass(std::uint64_t offset, Bytes chunk) {
    while (next_ < order_.size()) {
      const ByteRange range = index_.range(order_[next_]);
      const std::uint64_t begin = std::max(range.offset, offset);
      const std::uint64_t end = std::min(range.end(), offset + chunk.size());
      if (begin < end) XXH3_64bits_update(&state_, chunk.data() + (begin - offset), end - begin);
      if (range.end() > offset + chunk.size()) return;  // goes on in the next chunk
      hashes_[order_[next_]] = XXH3_64bits_digest(&state_);
      XXH3_64bits_reset(&state_);
      ++next_;
    }
  }

  bool intact(std::size_t row) const { return hashes_[row] == index_.hash(row); }

 private:
  const ShardIndex& index_;
  std::vector<std::size_t> order_;
  std::vector<std::uint64_t> hashes_;
  XXH3_state_t state_;
  std::size_t next_ = 0;
};

class ShardVerifier {
 public:
  ShardVerifier(const fs::path& dataset, const Manifest& manifest, const ShardRecord& record,
                Progress& progress, const std::stop_token& stop)
      : dataset_(dataset), manifest_(manifest), record_(record), progress_(progress), stop_(stop) {}

  std::vector<Finding> run(VerifyLevel level) {
    const bool data_there = verify_file(dataset_, record_.file, record_.bytes, "", findings_);
    open_index();
    if (level == VerifyLevel::kFull && data_there) {
      const bool intact = check_bytes();
      if (intact && index_) check_structure();
    }
    progress_.samples += record_.samples;
    return std::move(findings_);
  }

 private:
  void add(std::string kind, std::string detail) {
    findings_.push_back({std::move(kind), record_.file, -1, {}, 0, 0, std::move(detail)});
  }

  void add_sample(std::string kind, std::size_t row, std::string detail) {
    const ByteRange range = index_->range(row);
    findings_.push_back(
        {std::move(kind), record_.file, static_cast<std::int64_t>(record_.first_sample + row),
         std::string(index_->key(row)), range.offset, range.length, std::move(detail)});
  }

  void open_index() {
    if (!verify_file(dataset_, record_.index, record_.index_bytes, record_.index_sha256, findings_))
      return;
    try {
      index_.emplace(dataset_ / record_.index);
    } catch (const Error& error) {
      add("index", error.what());
      return;
    }
    if (index_->size() != record_.samples || index_->data_bytes() != record_.bytes) {
      add("index", "the index does not fit the manifest");
      index_.reset();
    }
  }

  /// One pass over the file: its SHA-256 and the hash of every image.
  bool check_bytes() {
    const fs::path path = dataset_ / record_.file;
    const UniqueFd fd = open_for_reading(path);
    std::optional<RangeHasher> images;
    if (index_) images.emplace(*index_);
    Sha256 whole;
    std::vector<std::byte> buffer(kChunk);
    for (std::uint64_t at = 0; at < record_.bytes; at += kChunk) {
      if (stop_.stop_requested()) throw Error(ErrorKind::kInterrupted, "stopped on request");
      const std::span chunk =
          std::span(buffer).first(std::min<std::uint64_t>(kChunk, record_.bytes - at));
      read_exactly(fd.get(), at, chunk, path);
      whole.update(chunk);
      if (images) images->pass(at, chunk);
      progress_.bytes += chunk.size();
    }
    bool image_damaged = false;
    for (std::size_t row = 0; images && row < index_->size(); ++row) {
      if (images->intact(row)) continue;
      add_sample("payload", row, "the image's bytes are not the ones that were packed");
      image_damaged = true;
    }
    if (whole.finish() == record_.sha256) return !image_damaged;
    if (!image_damaged) {
      add("hash", index_ ? "SHA-256 differs; every image is intact, so the damage lies between them"
                         : "SHA-256 differs");
    }
    return false;
  }

  /// Walks the shard with the format's own library. Only done for files whose hash is right: on
  /// others those libraries may crash, and the damage is known already.
  void check_structure() {
    try {
      const std::unique_ptr<ShardReader> reader =
          find_format(manifest_.format).open_reader(dataset_ / record_.file);
      if (reader->size() != index_->size()) {
        add("structure", "the shard holds " + std::to_string(reader->size()) +
                             " samples, its index names " + std::to_string(index_->size()));
        return;
      }
      for (std::size_t row = 0; row < index_->size(); ++row) {
        const StoredSample sample = reader->read(row);
        if (sample.key != index_->key(row) || sample.label != index_->label(row) ||
            xxh3(sample.bytes) != index_->hash(row)) {
          add_sample("structure", row, "shard and index disagree about key, label or bytes");
        }
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      add("structure", error.what());
    }
  }

  const fs::path& dataset_;
  const Manifest& manifest_;
  const ShardRecord& record_;
  Progress& progress_;
  const std::stop_token& stop_;
  std::optional<ShardIndex> index_;
  std::vector<Finding> findings_;
};

}  // namespace

bool verify_file(const fs::path& dataset, const std::string& file, std::uint64_t bytes,
                 const std::string& sum, std::vector<Finding>& findings) {
  const auto add = [&](const char* kind, std::string detail) {
    findings.push_back({kind, file, -1, {}, 0, 0, std::move(detail)});
    return false;
  };
  std::error_code code;
  const std::uint64_t size = fs::file_size(dataset / file, code);
  if (code) return add("missing", "the file is not there, or cannot be read: " + code.message());
  if (size != bytes) {
    return add("size", "it has " + std::to_string(size) + " bytes, not " + std::to_string(bytes));
  }
  if (!sum.empty() && sha256_file(dataset / file) != sum) return add("hash", "SHA-256 differs");
  return true;
}

std::vector<Finding> verify_shard(const fs::path& dataset, const Manifest& manifest,
                                  const ShardRecord& record, VerifyLevel level, Progress& progress,
                                  const std::stop_token& stop) {
  return ShardVerifier(dataset, manifest, record, progress, stop).run(level);
}

}  // namespace packhorse
