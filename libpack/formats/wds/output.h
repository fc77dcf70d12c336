#pragma once

#include <optional>
#include <string>
#include <vector>

#include "packhorse/format.h"
#include "stream_file.h"
#include "zstd_frame.h"

namespace packhorse::wds {

/// Where an archive's blocks go: straight into the file, or into zstd frames. One thread.
class Output {
 public:
  /// `zstd_level` 0: not compressed. Throws Error(kUsage) for a level there is not.
  Output(const std::filesystem::path& path, int zstd_level);

  void write(Bytes blocks);
  /// Bytes of the archive so far, before compression.
  std::uint64_t position() const {
    return compressor_ ? content_begin_ + pending_.size() : file_.position();
  }
  /// Makes a frame of what was written since the last call. Nothing when not compressed.
  std::optional<Frame> end_frame();
  /// Publishes the file. Returns its SHA-256.
  std::string commit() { return file_.commit(); }

 private:
  StreamFile file_;
  std::optional<FrameCompressor> compressor_;
  std::vector<std::byte> pending_;  ///< the content of the next frame
  std::uint64_t content_begin_ = 0;
};

}  // namespace packhorse::wds
