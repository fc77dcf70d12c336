#include <exception>

#include "archive/handles.h"
#include "formats/sample_checks.h"
#include "formats/wds/layout.h"
#include "formats/wds/output.h"
#include "formats/wds/wds.h"
#include "image/npy.h"

namespace packhorse::wds {

namespace {

class Writer final : public ShardWriter {
 public:
  Writer(const std::filesystem::path& path, const ShardSpec& spec)
      : checks_(spec, path),
        output_(path, spec.zstd_level, spec.samples + 1),  // the archive's end is one, too
        archive_(archive_write_new()),
        entry_(archive_entry_new()) {
    layout_.images.reserve(spec.samples);
    layout_.fields.reserve(spec.samples * spec.fields.size());
    for (const std::string& name : spec.fields) {
      if ("." + name == kLabelExtension) {
        throw Error(ErrorKind::kUsage, "a field cannot be named 'cls': that name is for the label",
                    path, "give the field's files another extension, or leave it out");
      }
    }
    archive_write_set_format_ustar(archive_.get());
    // Turns off libarchive's own blocking, so that Output's position is the archive's.
    archive_write_set_bytes_per_block(archive_.get(), 0);
    archive_write_set_bytes_in_last_block(archive_.get(), 1);
    check(archive_write_open(archive_.get(), this, nullptr, &Writer::write_piece, nullptr));
  }

  ~Writer() override {
    // Freeing the archive closes it, which writes an end mark; write_piece() drops it. (Failing the
    // archive first would avoid that, but libarchive then never frees its buffer.)
    abandoned_ = true;
  }

  void add(const Sample& sample) override {
    checks_.check(sample);
    const std::string key(sample.key);
    const std::string extension(extension_of(sample.image.kind));
    for (const Field& field : sample.fields) {
      if ("." + std::string(field.name) == extension) {
        checks_.refuse(
            "the field '" + std::string(field.name) + "' has the same extension as the image",
            sample.key);
      }
    }
    const bool raw = sample.image.kind == ImageKind::kRaw;
    const std::string head = raw ? npy_header(sample.image) : std::string();
    layout_.images.push_back(member(key + extension, as_bytes(head), sample.bytes));
    member(key + std::string(kLabelExtension), {}, as_bytes(std::to_string(sample.label)));
    for (const Field* field : checks_.fields()) {
      layout_.fields.push_back(
          field == nullptr ? kAbsent
                           : member(key + "." + std::string(field->name), {}, field->bytes));
    }
    output_.end_frame();
  }

  ShardLayout close() override {
    check(archive_write_close(archive_.get()));
    archive_.reset();
    output_.end_frame();
    layout_.sha256 = output_.commit();
    layout_.frames = output_.take_frames();
    if (!layout_.frames.empty()) layout_.frames.pop_back();  // the archive's end
    return std::move(layout_);
  }

 private:
  /// Writes a member of two pieces. Returns where the second lies.
  ByteRange member(const std::string& name, Bytes head, Bytes payload) {
    if (name.size() > kLongestName) {
      checks_.refuse("a member's name is too long for a tar header", name);
    }
    archive_entry_clear(entry_.get());
    archive_entry_set_pathname(entry_.get(), name.c_str());
    archive_entry_set_size(entry_.get(), static_cast<la_int64_t>(head.size() + payload.size()));
    archive_entry_set_filetype(entry_.get(), AE_IFREG);
    archive_entry_set_perm(entry_.get(), 0644);
    archive_entry_set_mtime(entry_.get(), 0, 0);
    check(archive_write_header(archive_.get(), entry_.get()));
    write_data(head);
    const ByteRange range{output_.position(), payload.size()};
    write_data(payload);
    check(archive_write_finish_entry(archive_.get()));
    return range;
  }

  void write_data(Bytes bytes) {
    const la_ssize_t written = archive_write_data(archive_.get(), bytes.data(), bytes.size());
    check(written < 0 ? static_cast<int>(written) : ARCHIVE_OK);
  }

  void check(int code) {
    if (failure_) std::rethrow_exception(failure_);
    if (code != ARCHIVE_OK) {
      throw Error(ErrorKind::kIo, "cannot write the archive: " + message_of(archive_.get()),
                  checks_.shard());
    }
  }

  /// Called by libarchive, which must not see an exception or a failure: check() throws it.
  static la_ssize_t write_piece(archive*, void* self, const void* data, std::size_t size) {
    auto* writer = static_cast<Writer*>(self);
    try {
      if (!writer->abandoned_ && !writer->failure_)
        writer->output_.write({static_cast<const std::byte*>(data), size});
    } catch (...) {
      writer->failure_ = std::current_exception();
    }
    return static_cast<la_ssize_t>(size);
  }

  SampleChecks checks_;
  Output output_;
  std::exception_ptr failure_;
  bool abandoned_ = false;
  ArchiveWriter archive_;
  Entry entry_;
  ShardLayout layout_;
};

}  // namespace

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec) {
  return std::make_unique<Writer>(path, spec);
}

}  // namespace packhorse::wds
