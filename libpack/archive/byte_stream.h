#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "packhorse/base/bytes.h"

/// Reads bytes one after the other, from a part of a file or from a decompressor on top of one.
///
///     auto stream = decompress(read_range(fd, {0, size}, path), compression_of(head), path);
///     for (Bytes some = stream->next(); !some.empty(); some = stream->next()) ...
namespace packhorse {

/// One thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// The bytes that come next, as many as are at hand; empty at the end. The view lives until the
  /// next call. Throws Error(kCorrupt) when what is compressed is damaged or cut, Error(kIo).
  virtual Bytes next() = 0;
  /// Passes over at most `n` bytes without reading them. Returns how many; 0: they must be read.
  virtual std::uint64_t skip(std::uint64_t /*n*/) { return 0; }
};

enum class Compression { kNone, kGzip, kZstd, kXz };

/// Looks at the first six bytes.
Compression compression_of(Bytes head);

/// The bytes of a range of an open file, which ends early when the file does.
std::unique_ptr<ByteStream> read_range(int fd, ByteRange range, const std::filesystem::path& path);

/// How far compressed bytes may expand: freely up to `bytes`, beyond that to at most `times` their
/// number. Images hardly shrink; zeros shrink a thousandfold in gzip, more in zstd and xz.
struct ExpansionLimits {
  std::uint64_t bytes = std::uint64_t{512} << 20;
  std::uint64_t times = 200;
};

/// Decompresses `stored` to its very end and checks all its checksums; returns `stored` itself for
/// kNone. Only libraries in this process do it, never another program. The result's next() throws
/// Error(kUnsupported) beyond `limits`.
std::unique_ptr<ByteStream> decompress(std::unique_ptr<ByteStream> stored, Compression compression,
                                       const std::filesystem::path& path,
                                       ExpansionLimits limits = {});

/// The two decompressors behind decompress().
std::unique_ptr<ByteStream> open_gzip(std::unique_ptr<ByteStream> stored,
                                      const std::filesystem::path& path);
std::unique_ptr<ByteStream> open_filter(std::unique_ptr<ByteStream> stored, Compression compression,
                                        const std::filesystem::path& path);

}  // namespace packhorse
