#include <zlib.h>

#include <limits>
#include <vector>

#include "archive/byte_stream.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kBuffer = 64u << 10;
constexpr int kGzipOnly = MAX_WBITS + 16;  // zlib.h: inflateInit2

/// Uses zlib itself, since libarchive's gzip filter does not check the CRC (not even in version
/// 3.7).
class GzipStream final : public ByteStream {
 public:
  GzipStream(std::unique_ptr<ByteStream> stored, std::filesystem::path path)
      : stored_(std::move(stored)), path_(std::move(path)), buffer_(kBuffer) {
    if (inflateInit2(&z_, kGzipOnly) != Z_OK)
      throw Error(ErrorKind::kIo, "zlib cannot be initialised");
  }
  ~GzipStream() override { inflateEnd(&z_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  Bytes next() override {
    while (!ended_) {
      if (z_.avail_in == 0 && !refill()) {
        if (inside_) corrupt("the gzip data is truncated");
        break;
      }
      if (!inside_ && !start_member()) break;
      z_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      z_.avail_out = static_cast<uInt>(buffer_.size());
      const int code = inflate(&z_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        inside_ = false;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        corrupt(std::string("gzip: ") + (z_.msg != nullptr ? z_.msg : "damaged data"));
      }
      if (const std::size_t n = buffer_.size() - z_.avail_out; n > 0)
        return Bytes(buffer_).first(n);
    }
    ended_ = true;
    return {};
  }

 private:
  bool refill() {
    // No copy is needed: the view lives until the next call of next().
    const Bytes some = stored_->next();
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(some.data()));
    z_.avail_in = static_cast<uInt>(some.size());
    return !some.empty();
  }

  /// A gzip file is a series of members (RFC 1952, 2.2); zeros may pad it to a tape's block.
  bool start_member() {
    while (*z_.next_in == 0) {
      ++z_.next_in;
      if (--z_.avail_in == 0 && !refill()) return false;
    }
    if (inflateReset2(&z_, kGzipOnly) != Z_OK) corrupt("zlib cannot be reset");
    return inside_ = true;
  }

  [[noreturn]] void corrupt(const std::string& what) const {
    throw Error(ErrorKind::kCorrupt, what, path_);
  }

  std::unique_ptr<ByteStream> stored_;
  std::filesystem::path path_;
  std::vector<std::byte> buffer_;
  z_stream z_{};
  bool inside_ = false;  ///< a member
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_gzip(std::unique_ptr<ByteStream> stored,
                                      const std::filesystem::path& path) {
  return std::make_unique<GzipStream>(std::move(stored), path);
}

}  // namespace packhorse
