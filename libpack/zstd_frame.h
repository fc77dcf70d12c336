#pragma once

#include <memory>
#include <vector>

#include "packhorse/bytes.h"

/// Zstandard frames (RFC 8878), each with the size of its content and a checksum, so that any zstd
/// tool reads a file of them one behind the other, and each can be read alone.
namespace packhorse {

inline constexpr int kLowestZstdLevel = 1, kHighestZstdLevel = 19;

/// Compresses pieces into one frame each, on the calling thread. The same contents in the same
/// order give the same bytes, for one version of libzstd. One thread at a time.
class FrameCompressor {
 public:
  /// Throws Error(kUsage) for a level that is not within 1 and 19.
  explicit FrameCompressor(int level);
  ~FrameCompressor();
  FrameCompressor(FrameCompressor&&) noexcept;
  FrameCompressor& operator=(FrameCompressor&&) noexcept;

  /// The frame; lives until the next call.
  Bytes compress(Bytes content);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Fills `content` with the content of the one frame in `stored`. Throws Error(kCorrupt) when the
/// frame is damaged, or holds another number of bytes. Any thread; each keeps a context.
void decompress_frame(Bytes stored, std::span<std::byte> content);

/// The first bytes of the content, at most `out.size()`, of a file that starts with `head`. 0 when
/// it starts with no frame. Never throws.
std::size_t decompress_start(Bytes head, std::span<std::byte> out);

}  // namespace packhorse
