#include <charconv>

#include "formats/wds/handles.h"
#include "formats/wds/layout.h"
#include "formats/wds/open.h"
#include "formats/wds/wds.h"
#include "packhorse/file.h"

namespace packhorse::wds {

namespace {

constexpr std::size_t kBlock = 1u << 20;

/// Streams through the archive with libarchive. A sample is a run of members with one key.
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
    for (; more_ && member_.key == keys_[i]; next_member()) {
      if ("." + member_.extension == kLabelExtension) {
        read_data(text);
        sample.label = parse_label(as_text(text));
      } else if (!image_seen) {
        read_data(image_);
        image_seen = true;
      }
    }
    ++position_;
    if (!image_seen) corrupt("a sample without an image");
    sample.bytes = image_;
    return sample;
  }

 private:
  void open() {
    archive_.reset(archive_read_new());
    archive_read_support_format_tar(archive_.get());
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
      if (!name) continue;
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

  std::int64_t parse_label(std::string_view text) const {
    std::int64_t label = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), label);
    if (code != std::errc() || end != text.data() + text.size()) corrupt("a label is no number");
    return label;
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
  MemberName member_;
  std::size_t size_ = 0;
  std::size_t position_ = 0;  ///< sample the stream stands before
  bool more_ = false;
};

/// The magic of POSIX and GNU headers stands at byte 257.
bool probe(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  if (file_size(fd.get(), path) < 512) return false;
  std::byte magic[5];
  read_exactly(fd.get(), 257, magic, path);
  return as_text(magic) == "ustar";
}

}  // namespace

std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path) {
  return std::make_unique<Reader>(path);
}

const Format kFormat = {
    "wds",
    kSuffix,
    "WebDataset: plain tar files, read by webdataset, DALI, timm, tar",
    {},
    kVersion,
    false,
    2560,
    probe,
    open_writer,
    open_reader,
    [] { return std::string(archive_version_details()); },
};

}  // namespace packhorse::wds
