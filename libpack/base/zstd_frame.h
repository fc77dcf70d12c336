#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"

/// Zstandard frames (RFC 8878). Each has its content size and a checksum: any zstd tool reads a
/// file of consecutive frames, and each frame can be read alone.
namespace packhorse {

inline constexpr int kLowestZstdLevel = 1, kHighestZstdLevel = 19;

/// Throws Error(kUsage) for a level outside 1 to 19.
void check_zstd_level(int level);

/// Whether a frame of `stored` bytes may hold `content` bytes: at most 64 MiB, or 256 times its own
/// size if that is more. Blank pictures shrink to a 40,000th, and so would a hostile frame of a few
/// bytes that wants all our memory. A frame beyond the limit is written uncompressed, and refused
/// when read.
bool frame_may_hold(std::uint64_t stored, std::uint64_t content);

/// The most bytes that a frame of `content` bytes can take.
std::size_t frame_bound(std::size_t content);

/// Compresses `content` into one frame in `stored`, which has room for frame_bound() bytes, and
/// returns the frame's size. For one version of libzstd, content and level alone decide its bytes.
/// Any thread; each keeps a context of 1 MB at level 3, 13 MB at level 9 and 18 MB at level 19,
/// which becomes 85 MB after content of 10 MB.
std::size_t compress_frame(int level, Bytes content, std::span<std::byte> stored);

/// Fills `content` with the content of the one frame in `stored`. Throws Error(kCorrupt) when the
/// frame is damaged or holds another number of bytes. Any thread; each keeps a context.
void decompress_frame(Bytes stored, std::span<std::byte> content);
/// The same, and resizes `content` to `content_bytes`, the size in the index; but only after the
/// frame itself names that size and frame_may_hold() allows it.
void decompress_frame(Bytes stored, std::uint64_t content_bytes, std::vector<std::byte>& content);

}  // namespace packhorse
