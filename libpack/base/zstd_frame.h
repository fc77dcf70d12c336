#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"

/// Zstandard frames (RFC 8878), each with the size of its content and a checksum, so that any zstd
/// tool reads a file of them one behind the other, and each can be read alone.
namespace packhorse {

inline constexpr int kLowestZstdLevel = 1, kHighestZstdLevel = 19;

/// Throws Error(kUsage) for a level that is not within 1 and 19.
void check_zstd_level(int level);

/// What a frame of `stored` bytes may hold: 64 MiB, or 256 times as much as it is, whichever is
/// more. Blank pictures fill as little as a 40,000th, and so would a few bytes of somebody who
/// wants all our memory: a larger frame that would expand more is written uncompressed, and none is
/// read.
bool frame_may_hold(std::uint64_t stored, std::uint64_t content);

/// Bytes the frame of `content` bytes takes at most.
std::size_t frame_bound(std::size_t content);

/// Makes one frame of `content` in `stored`, which has room for frame_bound(), and returns its
/// size. Content and level alone decide its bytes, for one version of libzstd. Any thread; each
/// keeps a context: of 1 MB at level 3, of 13 MB at level 9, and at level 19 of 18 MB, or 85 MB
/// once a content had 10 MB.
std::size_t compress_frame(int level, Bytes content, std::span<std::byte> stored);

/// Fills `content` with the content of the one frame in `stored`. Throws Error(kCorrupt) when the
/// frame is damaged, or holds another number of bytes. Any thread; each keeps a context.
void decompress_frame(Bytes stored, std::span<std::byte> content);
/// The same, with `content` made as large as the index says it is; but not before the frame itself
/// says so, too, and frame_may_hold() it.
void decompress_frame(Bytes stored, std::uint64_t content_bytes, std::vector<std::byte>& content);

}  // namespace packhorse
