#include <algorithm>

#include "archive/handles.h"
#include "base/file.h"
#include "base/text.h"
#include "base/zstd_frame.h"
#include "formats/wds/layout.h"
#include "formats/wds/wds.h"

namespace packhorse::wds {

namespace {

constexpr std::size_t kBlock = 1u << 20;

/// Streams through the archive with libarchive. A sample is a run of members with one key: the
/// label, the image (the first member that is not the label) and its fields.
class Reader final : public ShardReader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {
    open();
    while (next_member()) {
      if (keys_.empty() || keys_.back() != member_.key) keys_.push_back(member_.key);
    }
    open();
    next_member();
  }

  std::size_t size() const override { return keys_.size(); }

  StoredSample read(std::size_t i) override {
    if (i < position_) {
      open();
      next_member();
    }
    while (position_ < i) skip_sample();
    StoredSample sample;
    sample.key = keys_[i];
    sample.label = -1;
    bool image_seen = false;
    std::vector<std::byte> text;
    extras_.clear();
    for (; more_ && member_.key == keys_[i]; next_member()) {
      if ("." + member_.extension == kLabelExtension) {
        read_data(text);
        sample.label = label_of(text);
      } else if (!image_seen) {
        read_data(image_);
        sample.bytes = image_;
        sample.in_npy = "." + member_.extension == extension_of(ImageKind::kNpy);
        image_seen = true;
      } else {
        Extra& extra = extras_.emplace_back();
        extra.name = member_.extension;
        read_data(extra.bytes);
      }
    }
    ++position_;
    if (!image_seen) corrupt("a sample without an image");
    std::ranges::sort(extras_, {}, &Extra::name);
    for (const Extra& extra : extras_) sample.fields.push_back({extra.name, extra.bytes});
    return sample;
  }

 private:
  struct Extra {
    std::string name;
    std::vector<std::byte> bytes;
  };

  void open() {
    archive_.reset(archive_read_new());
    archive_read_support_format_tar(archive_.get());
    archive_read_support_filter_zstd(archive_.get());
    check(archive_read_open_filename(archive_.get(), path_.c_str(), kBlock));
    position_ = 0;
  }

  /// Goes to the next member WebDataset would see.
  bool next_member() {
    archive_entry* entry = nullptr;
    while (true) {
      const int code = archive_read_next_header(archive_.get(), &entry);
      if (code == ARCHIVE_EOF) return more_ = false;
      check(code);
      if (archive_entry_filetype(entry) != AE_IFREG) continue;
      const char* path =
          archive_entry_pathname(entry);  // null for a name libarchive cannot convert
      std::optional<MemberName> name = cut_member_name(path != nullptr ? path : "");
      // Passes over hidden files in a directory, too: their key is the directory.
      if (!name || is_meta_name(path) || name->key.ends_with('/')) continue;
      member_ = std::move(*name);
      size_ = static_cast<std::size_t>(archive_entry_size(entry));
      return more_ = true;
    }
  }

  void skip_sample() {
    while (more_ && member_.key == keys_[position_]) next_member();
    ++position_;
  }

  void read_data(std::vector<std::byte>& out) {
    out.resize(size_);
    const la_ssize_t n = archive_read_data(archive_.get(), out.data(), out.size());
    if (n != static_cast<la_ssize_t>(out.size())) corrupt("a member ends early");
  }

  std::int64_t label_of(Bytes text) const {
    const std::optional<std::int64_t> label = parse_number<std::int64_t>(as_text(text));
    if (!label) corrupt("a label is no number");
    return *label;
  }

  void check(int code) const {
    if (code != ARCHIVE_OK) corrupt(message_of(archive_.get()));
  }

  [[noreturn]] void corrupt(const std::string& what) const {
    throw Error(ErrorKind::kCorrupt, "damaged tar: " + what, path_, {}, member_.key);
  }

  std::filesystem::path path_;
  ArchiveReader archive_;
  std::vector<std::string> keys_;
  std::vector<std::byte> image_;
  std::vector<Extra> extras_;
  MemberName member_;
  std::size_t size_ = 0;
  std::size_t position_ = 0;  ///< the next sample in the stream
  bool more_ = false;
};

}  // namespace

std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path) {
  return std::make_unique<Reader>(path);
}

const Format kFormat = {
    .name = "wds",
    .file_suffix = kSuffix,
    .summary = "WebDataset: plain tar files, read by webdataset, DALI, timm, tar",
    .compressed_suffix = kCompressedSuffix,
    .version = kVersion,
    .carries_fields = true,
    .sample_overhead = 2560,  // with its line in the .idx
    .field_overhead = 1280,
    .open_writer = open_writer,
    .open_reader = open_reader,
    .library_version = [] { return std::string(archive_version_details()); },
    .exported_indexes = &kExportedIndexes,
};

}  // namespace packhorse::wds
