#include "verify/payload_check.h"

#include <algorithm>
#include <numeric>

#include "base/file.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/xxh3.h"
#include "base/zstd_frame.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kChunk = 512u
                               << 10;  // stays in the processor's cache between read and hashes

/// An image or a field, and the hash it must have.
struct Piece {
  ByteRange range;
  std::uint64_t hash;
  std::size_t row;
  std::optional<std::size_t> field;
};

void append_pieces(const ShardIndex& index, std::size_t row, std::vector<Piece>& pieces) {
  pieces.push_back({index.range(row), index.hash(row), row, {}});
  for (std::size_t field = 0; field < index.fields().size(); ++field) {
    if (index.has_field(row, field)) {
      pieces.push_back({index.field_range(row, field), index.field_hash(row, field), row, field});
    }
  }
}

DamagedPiece damaged(const ShardIndex& index, const Piece& piece) {
  const std::string what = piece.field
                               ? "the bytes of the field '" + index.fields()[*piece.field] + "'"
                               : "the image's bytes";
  return {piece.row, piece.field, index.compressed() ? index.frame(piece.row).stored : piece.range,
          what + " are not the ones that were packed"};
}

/// Takes the XXH3 of many ranges of a file that passes by in chunks.
class RangeHasher {
 public:
  explicit RangeHasher(const ShardIndex& index) : index_(index) {
    for (std::size_t row = 0; row < index.size(); ++row) append_pieces(index, row, pieces_);
    std::ranges::stable_sort(
        pieces_, [](const Piece& a, const Piece& b) { return a.range.offset < b.range.offset; });
    XXH3_64bits_reset(&state_);
  }

  void pass(std::uint64_t offset, Bytes chunk) {
    for (; next_ < pieces_.size(); ++next_) {
      const Piece& piece = pieces_[next_];
      const std::uint64_t begin = std::max(piece.range.offset, offset);
      const std::uint64_t end = std::min(piece.range.end(), offset + chunk.size());
      if (begin < end) XXH3_64bits_update(&state_, chunk.data() + (begin - offset), end - begin);
      if (piece.range.end() > offset + chunk.size()) return;  // continues in the next chunk
      if (XXH3_64bits_digest(&state_) != piece.hash) damage_.push_back(damaged(index_, piece));
      XXH3_64bits_reset(&state_);
    }
  }

  std::vector<DamagedPiece> damage() {
    std::ranges::stable_sort(damage_, {}, &DamagedPiece::row);
    return std::move(damage_);
  }

 private:
  const ShardIndex& index_;
  std::vector<Piece> pieces_;
  std::vector<DamagedPiece> damage_;
  XXH3_state_t state_;
  std::size_t next_ = 0;
};

/// Reads a file from front to back, so that its SHA-256 is known at the end.
class Pass {
 public:
  Pass(int fd, const std::filesystem::path& path, Progress& progress)
      : path_(path), fd_(fd), progress_(progress) {}

  std::uint64_t position() const { return position_; }

  void read(std::span<std::byte> out) {
    obey_stop();
    read_exactly(fd_, position_, out, path_);
    whole_.update(out);
    position_ += out.size();
    progress_.bytes += out.size();
  }

  /// Reads up to `end` in chunks, and calls show(offset, chunk) for each.
  template <class Show>
  void read_until(std::uint64_t end, const Show& show) {
    while (position_ < end) {
      buffer_.resize(std::min<std::uint64_t>(kChunk, end - position_));
      const std::uint64_t offset = position_;
      read(buffer_);
      show(offset, Bytes(buffer_));
    }
  }

  std::string sha256() { return whole_.finish(); }

 private:
  const std::filesystem::path& path_;
  int fd_;
  Progress& progress_;
  Sha256 whole_;
  std::vector<std::byte> buffer_;
  std::uint64_t position_ = 0;
};

/// Adds the damage in one frame: none, all of it, or some of its pieces.
void check_frame(const ShardIndex& index, std::size_t row, Bytes stored,
                 std::vector<std::byte>& content, std::vector<DamagedPiece>& damage) {
  const Frame frame = index.frame(row);
  try {
    decompress_frame(stored, frame.content.length, content);
  } catch (const Error& error) {
    damage.push_back({row, {}, frame.stored, error.what()});
    return;
  }
  std::vector<Piece> pieces;
  append_pieces(index, row, pieces);
  for (const Piece& piece : pieces) {
    const Bytes bytes =
        Bytes(content).subspan(piece.range.offset - frame.content.offset, piece.range.length);
    if (xxh3(bytes) != piece.hash) damage.push_back(damaged(index, piece));
  }
}

std::vector<DamagedPiece> check_frames(const ShardIndex& index, Pass& pass) {
  std::vector<DamagedPiece> damage;
  std::vector<std::byte> stored, content;
  for (std::size_t row = 0; row < index.size(); ++row) {
    const ByteRange range = index.frame(row).stored;
    if (range.offset < pass.position()) {
      throw Error(ErrorKind::kCorrupt, "the index's frames are out of order");
    }
    pass.read_until(range.offset, [](std::uint64_t, Bytes) {});
    stored.resize(range.length);
    pass.read(stored);
    check_frame(index, row, stored, content, damage);
  }
  return damage;
}

}  // namespace

ShardBytes check_bytes(int fd, const std::filesystem::path& data_file, std::uint64_t bytes,
                       const ShardIndex* index, Progress& progress) {
  Pass pass(fd, data_file, progress);
  ShardBytes result;
  if (index != nullptr && index->compressed()) {
    result.damage = check_frames(*index, pass);
    pass.read_until(bytes, [](std::uint64_t, Bytes) {});
  } else if (index != nullptr) {
    RangeHasher pieces(*index);
    pass.read_until(bytes, [&](std::uint64_t at, Bytes chunk) { pieces.pass(at, chunk); });
    result.damage = pieces.damage();
  } else {
    pass.read_until(bytes, [](std::uint64_t, Bytes) {});
  }
  result.sha256 = pass.sha256();
  return result;
}

std::vector<DamagedPiece> check_rows(int fd, const std::filesystem::path& data_file,
                                     const ShardIndex& index, std::size_t first, std::size_t rows,
                                     Progress& progress) {
  std::vector<DamagedPiece> damage;
  std::vector<std::byte> bytes, content;
  std::vector<Piece> pieces;
  const auto read = [&](ByteRange range) {
    bytes.resize(range.length);
    read_exactly(fd, range.offset, bytes, data_file);
    progress.bytes += range.length;
  };
  for (std::size_t row = first; row < first + rows; ++row) {
    obey_stop();
    if (index.compressed()) {
      read(index.frame(row).stored);
      check_frame(index, row, bytes, content, damage);
      continue;
    }
    pieces.clear();
    append_pieces(index, row, pieces);
    for (const Piece& piece : pieces) {
      read(piece.range);
      if (xxh3(bytes) != piece.hash) damage.push_back(damaged(index, piece));
    }
  }
  return damage;
}

void read_image(int fd, const std::filesystem::path& data_file, const ShardIndex& index,
                std::size_t row, std::vector<std::byte>& out) {
  const ByteRange range = index.range(row);
  if (!index.compressed()) {
    out.resize(range.length);
    read_exactly(fd, range.offset, out, data_file);
    return;
  }
  const Frame frame = index.frame(row);
  std::vector<std::byte> stored(frame.stored.length), content;
  read_exactly(fd, frame.stored.offset, stored, data_file);
  decompress_frame(stored, frame.content.length, content);
  const Bytes image = Bytes(content).subspan(range.offset - frame.content.offset, range.length);
  out.assign(image.begin(), image.end());
}

}  // namespace packhorse
