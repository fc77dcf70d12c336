#include "archive/byte_stream.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

// After a jump, most likely only a header is wanted; after reading on from there, everything.
constexpr std::size_t kAfterJump = 4u << 10;
constexpr std::size_t kOnward = 256u << 10;

class RangeStream final : public ByteStream {
 public:
  RangeStream(int fd, ByteRange range, std::filesystem::path path)
      : fd_(fd), at_(range.offset), end_(range.end()), path_(std::move(path)) {}

  Bytes next() override {
    const std::size_t wanted = jumped_ ? kAfterJump : kOnward;
    jumped_ = false;
    const std::size_t length =
        static_cast<std::size_t>(std::min<std::uint64_t>(wanted, end_ - at_));
    if (length == 0) return {};
    if (buffer_.size() < length) buffer_.resize(length);
    const ssize_t n = uninterrupted(
        [&] { return ::pread(fd_, buffer_.data(), length, static_cast<off_t>(at_)); });
    if (n < 0) throw_errno("read from", path_);
    at_ += static_cast<std::uint64_t>(n);
    return Bytes(buffer_).first(static_cast<std::size_t>(n));
  }

  std::uint64_t skip(std::uint64_t n) override {
    n = std::min(n, end_ - at_);
    at_ += n;
    jumped_ = true;
    return n;
  }

 private:
  int fd_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::filesystem::path path_;
  std::vector<std::byte> buffer_;
  bool jumped_ = true;
};

/// Counts the bytes taken out of a stream, in a number that it shares.
class CountedStream final : public ByteStream {
 public:
  CountedStream(std::unique_ptr<ByteStream> stream, std::shared_ptr<std::uint64_t> taken)
      : stream_(std::move(stream)), taken_(std::move(taken)) {}

  Bytes next() override {
    const Bytes some = stream_->next();
    *taken_ += some.size();
    return some;
  }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<std::uint64_t> taken_;
};

class BoundedStream final : public ByteStream {
 public:
  BoundedStream(std::unique_ptr<ByteStream> stream, std::shared_ptr<const std::uint64_t> stored,
                ExpansionLimits limits, std::filesystem::path path)
      : stream_(std::move(stream)),
        stored_(std::move(stored)),
        limits_(limits),
        path_(std::move(path)) {}

  Bytes next() override {
    const Bytes some = stream_->next();
    given_ += some.size();
    if (given_ > limits_.bytes && given_ / limits_.times > *stored_) {
      throw Error(ErrorKind::kUnsupported,
                  "it expands to more than " + std::to_string(limits_.times) +
                      " times its size, like an archive made to fill a disk",
                  path_, "if its content is meant to be this large, decompress it first");
    }
    return some;
  }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<const std::uint64_t> stored_;
  ExpansionLimits limits_;
  std::filesystem::path path_;
  std::uint64_t given_ = 0;
};

}  // namespace

Compression compression_of(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (text.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  // A skippable frame, as pzstd and seekable zstd files begin with: RFC 8878, 3.1.2.
  if (text.size() >= 4 && (text[0] & 0xf0) == 0x50 && text.substr(1, 3) == "\x2a\x4d\x18")
    return Compression::kZstd;
  if (text.starts_with(std::string_view("\xfd"
                                        "7zXZ\0",
                                        6)))
    return Compression::kXz;
  return Compression::kNone;
}

std::unique_ptr<ByteStream> read_range(int fd, ByteRange range, const std::filesystem::path& path) {
  return std::make_unique<RangeStream>(fd, range, path);
}

std::unique_ptr<ByteStream> decompress(std::unique_ptr<ByteStream> stored, Compression compression,
                                       const std::filesystem::path& path, ExpansionLimits limits) {
  if (compression == Compression::kNone) return stored;
  const auto taken = std::make_shared<std::uint64_t>(0);
  stored = std::make_unique<CountedStream>(std::move(stored), taken);
  auto expanded = compression == Compression::kGzip
                      ? open_gzip(std::move(stored), path)
                      : open_filter(std::move(stored), compression, path);
  return std::make_unique<BoundedStream>(std::move(expanded), taken, limits, path);
}

}  // namespace packhorse
