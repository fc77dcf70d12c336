#include "adopting/scan_shard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "adopting/describe.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/stop.h"
#include "codecs/image_header.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kChunk = 4u << 20;

using Stamp = std::array<std::int64_t, 4>;

Stamp stamp_of(int fd, const fs::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_errno("inspect", path);
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
          static_cast<std::int64_t>(status.st_ino)};
}

/// An image or a field.
struct Piece {
  ByteRange range;
  std::size_t row;
  std::size_t field;  ///< kImage: the image
};
constexpr std::size_t kImage = ~std::size_t{0};

/// Reads a file from start to end, for its SHA-256. Ranges already passed can be read again at
/// random, while they are still in memory.
class Passage {
 public:
  Passage(const fs::path& path, int fd, std::uint64_t bytes, Progress& progress)
      : path_(path), fd_(fd), bytes_(bytes), progress_(progress), buffer_(kChunk) {
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  void pass(std::uint64_t end) {
    while (position_ < end) {
      obey_stop();
      const std::span<std::byte> chunk =
          std::span(buffer_).first(std::min<std::uint64_t>(kChunk, bytes_ - position_));
      read_exactly(fd_, position_, chunk, path_);
      whole_.update(chunk);
      position_ += chunk.size();
      progress_.bytes += chunk.size();
    }
  }

  Bytes read(ByteRange range) {
    pass(range.end());
    const std::uint64_t chunk_begin = (position_ - 1) / kChunk * kChunk;
    if (range.length > 0 && range.offset >= chunk_begin)
      return Bytes(buffer_).subspan(range.offset - chunk_begin, range.length);
    piece_.resize(range.length);
    read_exactly(fd_, range.offset, piece_, path_);
    return piece_;
  }

  std::string finish() {
    pass(bytes_);
    return whole_.finish();
  }

 private:
  const fs::path& path_;
  int fd_;
  std::uint64_t bytes_;
  Progress& progress_;
  std::vector<std::byte> buffer_;  ///< the chunk that ends at position_
  std::vector<std::byte> piece_;
  std::uint64_t position_ = 0;
  Sha256 whole_;
};

class Scanner final : ShardVisitor {
 public:
  Scanner(const fs::path& path, const std::string& name, const AdoptOptions& options,
          Progress& progress)
      : path_(path),
        name_(name),
        options_(options),
        progress_(progress),
        fd_(open_for_reading(path)),
        stamp_(stamp_of(fd_.get(), path)) {
    result_.bytes = file_size(fd_.get(), path);
  }

  ScannedShard run(const ForeignFormat& format) {
    describe_shard(format, path_, options_.shards, options_.walkers, *this);
    keys_.clear();
    read_pieces();
    drop_rejects();
    // Checks the name, too: the library opened the file by its name, which may lead to another file
    // now.
    if (stamp_of(fd_.get(), path_) != stamp_ ||
        stamp_of(open_for_reading(path_).get(), path_) != stamp_) {
      throw Error(ErrorKind::kIo, "the shard changed while it was being read", path_,
                  "adopt it again once nothing is writing to it");
    }
    return std::move(result_);
  }

 private:
  void begin(ShardFacts facts) override {
    result_.layout = std::move(facts.layout);
    result_.fields = std::move(facts.fields);
    result_.rejects = std::move(facts.rejects);
    result_.skips = std::move(facts.skips);
    progress_.total_samples += facts.samples;
  }

  void add(FoundSample sample) override {
    if (!keys_.insert(sample.key).second && sample.problem.empty())
      sample.problem = Reason::kRepeated;
    const std::size_t row = result_.rows.size();
    result_.keys += sample.key;
    result_.rows.push_back({sample.image, 0, sample.pixels, label_number(sample.label),
                            result_.keys.size(), std::move(sample.problem)});
    const std::size_t fields = result_.fields.size();
    result_.field_ranges.resize((row + 1) * fields, kAbsent);
    result_.field_hashes.resize((row + 1) * fields, 0);
    if (!lies_inside(sample.image)) fail(row, Reason::kBadPlace);
    for (const FoundSample::FoundField& field : sample.fields) {
      result_.field_ranges[row * fields + field.field] = field.range;
      if (!lies_inside(field.range))
        fail(row, {Reason::kBadPlace,
                   "its field '" + result_.fields[field.field] + "' lies outside the file"});
    }
    if (sample.image.length > naming::kLargestImage) fail(row, Reason::kFileTooLarge);
    if (!result_.rows[row].problem.empty()) return;
    pieces_.push_back({sample.image, row, kImage});
    for (const FoundSample::FoundField& field : sample.fields)
      pieces_.push_back({field.range, row, field.field});
  }

  bool lies_inside(ByteRange range) const {
    return range.offset <= result_.bytes && range.length <= result_.bytes - range.offset;
  }

  void fail(std::size_t row, Problem problem) {
    if (result_.rows[row].problem.empty()) result_.rows[row].problem = std::move(problem);
  }

  std::int32_t label_number(const std::string& text) {
    if (text.empty()) return -1;
    const auto [at, fresh] =
        label_numbers_.emplace(text, static_cast<std::int32_t>(result_.labels.size()));
    if (fresh) result_.labels.push_back(text);
    return at->second;
  }

  void read_pieces() {
    std::ranges::stable_sort(
        pieces_, [](const Piece& a, const Piece& b) { return a.range.offset < b.range.offset; });
    Passage passage(path_, fd_.get(), result_.bytes, progress_);
    std::uint64_t end = 0;
    for (const Piece& piece : pieces_) {
      ScannedShard::Row& row = result_.rows[piece.row];
      if (piece.field == kImage) ++progress_.samples;
      // Otherwise hostile offsets could have one stretch of the file read any number of times.
      if (piece.range.length > 0 && piece.range.offset < end) {
        fail(piece.row, {Reason::kBadPlace, "its bytes lie over those of another sample"});
        continue;
      }
      end = std::max(end, piece.range.end());
      const Bytes bytes = passage.read(piece.range);
      if (piece.field == kImage) {
        look_at(row, bytes);
      } else {
        result_.field_hashes[piece.row * result_.fields.size() + piece.field] = xxh3(bytes);
      }
    }
    result_.sha256 = passage.finish();
  }

  void look_at(ScannedShard::Row& row, Bytes bytes) const {
    row.hash = xxh3(bytes);
    const ProbeResult probe = check_image(bytes, row.image, options_.limits);
    if (probe.info) {
      row.image = *probe.info;
    } else if (row.problem.empty()) {
      row.problem = probe.problem();
    }
  }

  void drop_rejects() {
    const std::size_t fields = result_.fields.size();
    std::string keys;
    std::size_t kept = 0;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      ScannedShard::Row row = std::move(result_.rows[i]);
      const std::string_view key =
          std::string_view(result_.keys).substr(begin, row.key_end - begin);
      begin = row.key_end;
      if (!row.problem.empty()) {
        result_.rejects.push_back({name_ + '/' + printable(key), std::move(row.problem)});
        ++progress_.rejected;
        continue;
      }
      keys += key;
      row.key_end = keys.size();
      for (std::size_t f = 0; f < fields; ++f) {
        result_.field_ranges[kept * fields + f] = result_.field_ranges[i * fields + f];
        result_.field_hashes[kept * fields + f] = result_.field_hashes[i * fields + f];
      }
      result_.rows[kept++] = std::move(row);
    }
    result_.rows.resize(kept);
    result_.keys = std::move(keys);
    result_.field_ranges.resize(kept * fields);
    result_.field_hashes.resize(kept * fields);
  }

  const fs::path& path_;
  const std::string& name_;
  const AdoptOptions& options_;
  Progress& progress_;
  UniqueFd fd_;
  Stamp stamp_;
  ScannedShard result_;
  std::vector<Piece> pieces_;
  std::unordered_set<std::string> keys_;  ///< keys seen so far, while samples are described
  std::unordered_map<std::string, std::int32_t> label_numbers_;
};

}  // namespace

ScannedShard scan_shard(const ForeignFormat& format, const fs::path& data_file,
                        const std::string& name, const AdoptOptions& options, Progress& progress) {
  return Scanner(data_file, name, options, progress).run(format);
}

}  // namespace packhorse
