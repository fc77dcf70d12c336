#include <exception>

#include "formats/key_order.h"
#include "formats/wds/handles.h"
#include "formats/wds/layout.h"
#include "formats/wds/open.h"
#include "packhorse/file.h"

namespace packhorse::wds {

namespace {

class Writer final : public ShardWriter {
 public:
  explicit Writer(const std::filesystem::path& path)
      : path_(path), file_(path), archive_(archive_write_new()), entry_(archive_entry_new()) {
    archive_write_set_format_ustar(archive_.get());
    // No blocking of libarchive's own: AtomicFile buffers, and its position is then the archive's.
    archive_write_set_bytes_per_block(archive_.get(), 0);
    archive_write_set_bytes_in_last_block(archive_.get(), 1);
    check(archive_write_open(archive_.get(), this, nullptr, &Writer::write_piece, nullptr));
  }

  ~Writer() override {
    // Freeing the archive closes it, which writes an end: to nowhere, as the file goes away.
    // (Failing it first would avoid that, but libarchive then never frees its buffer.)
    abandoned_ = true;
  }

  void add(const Sample& sample) override {
    order_.check(sample.key, path_);
    const std::string key(sample.key);
    ranges_.push_back(member(key + std::string(extension_of(sample.image.kind)), sample.bytes));
    member(key + std::string(kLabelExtension), as_bytes(std::to_string(sample.label)));
  }

  ShardLayout close() override {
    check(archive_write_close(archive_.get()));
    archive_.reset();
    file_.commit();
    return {std::move(ranges_), {}, {}, {}};
  }

 private:
  ByteRange member(const std::string& name, Bytes bytes) {
    if (name.size() > kLongestName) {
      throw Error(ErrorKind::kUsage, "a key is too long for a tar header", path_, {}, name);
    }
    archive_entry_clear(entry_.get());
    archive_entry_set_pathname(entry_.get(), name.c_str());
    archive_entry_set_size(entry_.get(), static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry_.get(), AE_IFREG);
    archive_entry_set_perm(entry_.get(), 0644);
    archive_entry_set_mtime(entry_.get(), 0, 0);
    check(archive_write_header(archive_.get(), entry_.get()));
    const ByteRange range{file_.position(), bytes.size()};
    const la_ssize_t written = archive_write_data(archive_.get(), bytes.data(), bytes.size());
    check(written < 0 ? static_cast<int>(written) : ARCHIVE_OK);
    check(archive_write_finish_entry(archive_.get()));
    return range;
  }

  void check(int code) {
    if (failure_) std::rethrow_exception(failure_);
    if (code != ARCHIVE_OK) {
      throw Error(ErrorKind::kIo, "cannot write the archive: " + message_of(archive_.get()), path_);
    }
  }

  /// Called by libarchive, which must not see an exception, nor a failure: check() throws it.
  static la_ssize_t write_piece(archive*, void* self, const void* data, std::size_t size) {
    auto* writer = static_cast<Writer*>(self);
    try {
      if (!writer->abandoned_ && !writer->failure_)
        writer->file_.write({static_cast<const std::byte*>(data), size});
    } catch (...) {
      writer->failure_ = std::current_exception();
    }
    return static_cast<la_ssize_t>(size);
  }

  std::filesystem::path path_;
  AtomicFile file_;
  std::exception_ptr failure_;
  bool abandoned_ = false;
  ArchiveWriter archive_;
  Entry entry_;
  KeyOrder order_;
  std::vector<ByteRange> ranges_;
};

}  // namespace

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec&) {
  return std::make_unique<Writer>(path);
}

}  // namespace packhorse::wds
