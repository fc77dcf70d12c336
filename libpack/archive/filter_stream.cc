#include "archive/archive_input.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// zstd and xz through libarchive: one filter, no archive format.
class FilterStream final : public ByteStream {
 public:
  FilterStream(std::unique_ptr<ByteStream> stored, Compression compression,
               std::filesystem::path path)
      : input_(std::move(stored)), path_(std::move(path)), handle_(archive_read_new()) {
    // ARCHIVE_WARN says that libarchive would run an external program.
    const int code = compression == Compression::kZstd
                         ? archive_read_support_filter_zstd(handle_.get())
                         : archive_read_support_filter_xz(handle_.get());
    if (code != ARCHIVE_OK) {
      throw Error(ErrorKind::kUnsupported, "this build of libarchive cannot decompress it", path_,
                  "decompress it first");
    }
    check(archive_read_support_format_raw(handle_.get()));
    check(archive_read_support_format_empty(handle_.get()));
  }

  Bytes next() override {
    if (!begun_) begin();
    while (!ended_) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(handle_.get(), &data, &size, &offset);
      ended_ = code == ARCHIVE_EOF;
      if (!ended_) check(code);
      if (size > 0) return {static_cast<const std::byte*>(data), size};
    }
    return {};
  }

 private:
  void begin() {
    begun_ = true;
    check(input_.attach(handle_.get()));
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(handle_.get(), &entry);
    ended_ = code == ARCHIVE_EOF;
    if (!ended_) check(code);
  }

  void check(int code) {
    if (code == ARCHIVE_OK) return;
    input_.rethrow();
    throw Error(ErrorKind::kCorrupt, wds::message_of(handle_.get()), path_);
  }

  ArchiveInput input_;
  std::filesystem::path path_;
  wds::ArchiveReader handle_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_filter(std::unique_ptr<ByteStream> stored, Compression compression,
                                        const std::filesystem::path& path) {
  return std::make_unique<FilterStream>(std::move(stored), compression, path);
}

}  // namespace packhorse
