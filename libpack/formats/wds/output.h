#pragma once

#include <string>
#include <vector>

#include "base/stream_file.h"
#include "formats/format.h"

namespace packhorse::wds {

/// Takes an archive's blocks and writes them straight into the file, or into zstd frames. Frames
/// wait until kWaiting bytes of them have come together; then idle threads of the caller's TBB
/// arena help to compress them, and they are written in order. Memory besides the file's: none or,
/// when compressed, twice kWaiting and twice the largest sample. One thread.
class Output {
 public:
  /// `zstd_level` 0: not compressed; else memory for `frames` is taken once. Throws Error(kUsage)
  /// for an invalid level.
  Output(const std::filesystem::path& path, int zstd_level, std::size_t frames);

  void write(Bytes blocks);
  /// Bytes of the archive so far, before compression.
  std::uint64_t position() const {
    return zstd_level_ != 0 ? content_begin_ + waiting_.size() : file_.position();
  }
  /// Makes a frame of what was written since the last call. Does nothing when not compressed. Also
  /// throws errors from writing earlier frames.
  void end_frame();
  /// Publishes the file. Returns its SHA-256.
  std::string commit();
  /// All frames, after commit().
  std::vector<Frame> take_frames() { return std::move(frames_); }

 private:
  static constexpr std::size_t kWaiting = 4u << 20;
  void compress_waiting();

  StreamFile file_;
  int zstd_level_;
  std::vector<std::byte> waiting_;   ///< the contents of the next frames
  std::vector<std::byte> stored_;    ///< the frames made of them, with gaps between
  std::vector<Frame> frames_;        ///< those in waiting_ do not know yet where they are stored
  std::size_t written_ = 0;          ///< frames in the file
  std::uint64_t content_begin_ = 0;  ///< where waiting_ begins
  std::uint64_t frame_begin_ = 0;    ///< where the growing frame begins
};

}  // namespace packhorse::wds
