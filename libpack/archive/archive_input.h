#pragma once

#include <archive.h>

#include <exception>
#include <memory>
#include <vector>

#include "archive/byte_stream.h"
#include "archive/handles.h"

namespace packhorse {

/// Lets libarchive read from a ByteStream, and keeps an account of what it was given. Must outlive
/// the handle. One thread.
class ArchiveInput {
 public:
  explicit ArchiveInput(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  ArchiveInput(const ArchiveInput&) = delete;
  ArchiveInput& operator=(const ArchiveInput&) = delete;

  /// The first bytes, at least `n` unless the stream has fewer. Call before attach() only.
  Bytes peek(std::size_t n);

  /// Opens `handle`, whose formats and filters must be set, on the stream. Returns libarchive's
  /// code.
  int attach(archive* handle);

  /// Throws what the stream threw, if anything: it is kept, since it cannot pass through
  /// libarchive.
  void rethrow();

  /// Starts keeping what it gives, from position `from` of the stream on.
  void record(std::uint64_t from);
  /// What was kept, up to position `to`, without leading blocks of zeros. Ends the recording.
  Bytes recorded(std::uint64_t to);

 private:
  static la_ssize_t on_read(archive* handle, void* self, const void** out);
  static la_int64_t on_skip(archive* handle, void* self, la_int64_t n);
  Bytes give();
  void keep_block();

  std::unique_ptr<ByteStream> stream_;
  std::exception_ptr failure_;
  std::vector<std::byte> first_;  ///< what peek() read
  bool peeked_ = false;
  Bytes block_;                    ///< given last
  std::uint64_t block_begin_ = 0;  ///< its position in the stream
  std::vector<std::byte> kept_;    ///< from kept_begin_ to the block's begin
  std::uint64_t kept_begin_ = 0;
  bool recording_ = false;
};

}  // namespace packhorse
