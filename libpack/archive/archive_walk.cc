#include "archive/archive_walk.h"

#include <locale.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "archive/archive_input.h"
#include "archive/tar_header.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kHead = 512;
constexpr std::size_t kZipBlock = 64u << 10;

/// Sets this thread's locale to UTF-8 for a while: libarchive converts names to the locale's
/// charset.
class Utf8Locale {
 public:
  Utf8Locale() {
    // Made once and never freed: making one takes longer than reading a header.
    static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (locale != nullptr) before_ = ::uselocale(locale);
  }
  ~Utf8Locale() {
    if (before_ != nullptr) ::uselocale(before_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t before_ = nullptr;
};

/// What tar and zip have in common.
class Walk : public ArchiveWalk {
 public:
  explicit Walk(fs::path path) : path_(std::move(path)), handle_(archive_read_new()) {}

  Bytes head() override {
    while (head_.size() < kHead && pending_.empty()) {
      const Bytes block = read_block();
      if (block.empty()) break;
      const std::size_t n = std::min(block.size(), kHead - head_.size());
      head_.insert(head_.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(n));
      pending_ = block.subspan(n);
    }
    return head_;
  }

  Bytes next_data() override {
    if (!head_given_) {
      head_given_ = true;
      if (!head_.empty()) return head_;
    }
    if (!pending_.empty()) return std::exchange(pending_, {});
    return read_block();
  }

 protected:
  archive* handle() const { return handle_.get(); }
  archive_entry* entry() const { return entry_; }

  /// Reads the next header; libarchive's code is OK, WARN or EOF.
  int next_header() {
    const Utf8Locale locale;
    head_.clear();
    pending_ = {};
    head_given_ = false;
    delivered_ = 0;
    const int code = archive_read_next_header(handle(), &entry_);
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN && code != ARCHIVE_EOF) fail();
    return code;
  }

  /// Fills in what the entry says about itself, except its name.
  void describe(Member& member) {
    member = {};
    const auto type = archive_entry_filetype(entry_);
    member.type = type == AE_IFREG   ? Member::Type::kFile
                  : type == AE_IFDIR ? Member::Type::kDirectory
                                     : Member::Type::kOther;
    size_ = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry_)));
    member.size = size_;
    if (archive_entry_is_data_encrypted(entry_) == 1) member.problem = "encrypted";
    if (archive_entry_sparse_count(entry_) > 0) member.problem = "stored as a sparse file";
  }

  void done_with(const Member& member) { last_ = member.name; }

  virtual void rethrow() {}

  [[noreturn]] void fail() {
    rethrow();
    fail(wds::message_of(handle()));
  }

  [[noreturn]] void fail(const std::string& what) const {
    const std::string where =
        last_.empty() ? "at its first member" : "after '" + printable(last_) + "'";
    throw Error(ErrorKind::kCorrupt, "the archive is damaged or truncated " + where + ": " + what,
                path_, "get a fresh copy from where it came from, or repair it", last_);
  }

  const fs::path& path() const { return path_; }

 private:
  Bytes read_block() {
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    int code = ARCHIVE_OK;
    obey_stop();
    while (code == ARCHIVE_OK && size == 0) {
      code = archive_read_data_block(handle(), &data, &size, &offset);
    }
    if (code == ARCHIVE_FATAL) fail();
    if (code != ARCHIVE_OK && code != ARCHIVE_EOF) reject(wds::message_of(handle()));
    if (code == ARCHIVE_EOF) size = 0;
    if (size > 0 && static_cast<std::uint64_t>(offset) != delivered_) reject("it has holes");
    delivered_ += size;
    if (delivered_ > size_) reject("it holds more than the size in its header");
    if (size == 0 && delivered_ != size_) reject("it holds less than the size in its header");
    return {static_cast<const std::byte*>(data), size};
  }

  [[noreturn]] static void reject(const std::string& why) {
    throw Error(ErrorKind::kRejected, "damaged in the archive: " + why);
  }

  fs::path path_;
  wds::ArchiveReader handle_;
  archive_entry* entry_ = nullptr;
  std::string last_;
  std::uint64_t size_ = 0;
  std::uint64_t delivered_ = 0;
  std::vector<std::byte> head_;
  Bytes pending_;  ///< read, and not given out
  bool head_given_ = false;
};

/// Holds what must outlive libarchive's handle in Walk.
struct TarInput {
  ArchiveInput input;
};

class TarWalk final : private TarInput, public Walk {
 public:
  TarWalk(std::unique_ptr<ByteStream> stream, fs::path path)
      : TarInput{ArchiveInput(std::move(stream))}, Walk(std::move(path)) {
    archive_read_support_format_tar(handle());
    // An end mark in the middle is not the end: what follows would be lost silently.
    archive_read_set_option(handle(), "tar", "read_concatenated_archives", "1");
  }

  Bytes peek() {
    try {
      return input.peek(kTarBlock);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      pass_on(error);
    }
  }

  bool next(Member& member) override {
    if (!open_) open();
    if (inside_ && archive_read_data_skip(handle()) < ARCHIVE_WARN) fail();
    inside_ = true;
    const auto before = static_cast<std::uint64_t>(archive_filter_bytes(handle(), 0));
    input.record(before);
    const int code = next_header();
    input.rethrow();
    data_offset_ = static_cast<std::uint64_t>(archive_filter_bytes(handle(), 0));
    if (code == ARCHIVE_EOF) {
      if (data_offset_ == before) fail("there is no end mark");
      return false;
    }
    describe(member);
    const TarHeader header = headers();
    member.name = header.name;
    member.link = header.link;
    if (header.type == '1' && member.size == 0) member.type = Member::Type::kHardLink;
    if (member.type == Member::Type::kFile && member.name.ends_with('/'))
      member.type = Member::Type::kDirectory;
    if (header.sparse) member.problem = "stored as a sparse file";
    if (header.type == 'M') member.problem = "a piece of a file from another volume";
    done_with(member);
    return true;
  }

  std::uint64_t data_offset() const override { return data_offset_; }

 protected:
  void rethrow() override {
    try {
      input.rethrow();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      pass_on(error);
    }
  }

 private:
  /// Reports damage of what is below as damage of this archive.
  [[noreturn]] void pass_on(const Error& error) const {
    if (error.kind() == ErrorKind::kCorrupt || error.kind() == ErrorKind::kRejected)
      fail(error.what());
    throw error;
  }

  void open() {
    open_ = true;
    if (!is_tar_header(peek()) && !peek().empty() && peek()[0] != std::byte{0})
      fail("no tar header, or a damaged one");
    if (input.attach(handle()) != ARCHIVE_OK) fail();
  }

  TarHeader headers() {
    try {
      return parse_tar_headers(input.recorded(data_offset_));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      fail(error.what());
    }
  }

  std::uint64_t data_offset_ = 0;
  bool open_ = false;
  bool inside_ = false;  ///< a member, whose data may have to be passed over
};

class ZipWalk final : public Walk {
 public:
  ZipWalk(int fd, fs::path path) : Walk(std::move(path)), fd_(fd) {
    // Reads by the central directory alone: without it, a cut file would look like a shorter one.
    archive_read_support_format_zip_seekable(handle());
    if (archive_read_open_fd(handle(), fd, kZipBlock) != ARCHIVE_OK) fail();
  }

  bool next(Member& member) override {
    const int code = next_header();
    if (code == ARCHIVE_EOF) return false;
    describe(member);
    const std::string warning = code == ARCHIVE_WARN ? wds::message_of(handle()) : "";
    if (!warning.empty() && !warning.starts_with("Pathname")) member.problem = warning;
    member.name = name();
    done_with(member);
    return true;
  }

  std::uint64_t data_offset() const override { return 0; }

 private:
  /// Reads names marked as UTF-8 again: libarchive puts them into another normal form.
  std::string name() const {
    const auto end = static_cast<std::uint64_t>(archive_filter_bytes(handle(), 0));
    if (std::optional<std::string> raw = zip_name_before(fd_, end, path())) return *raw;
    const Utf8Locale locale;
    const char* name = archive_entry_pathname(entry());
    return name != nullptr ? name : "";
  }

  const int fd_;
};

}  // namespace

std::unique_ptr<ArchiveWalk> walk_tar(std::unique_ptr<ByteStream> stream, const fs::path& path,
                                      bool insist) {
  auto walk = std::make_unique<TarWalk>(std::move(stream), path);
  if (!insist && !is_tar_header(walk->peek())) return nullptr;
  return walk;
}

std::unique_ptr<ArchiveWalk> walk_zip(int fd, const fs::path& path) {
  return std::make_unique<ZipWalk>(fd, path);
}

bool is_zip(Bytes head) {
  return as_text(head).starts_with("PK\3\4") || as_text(head).starts_with("PK\5\6");
}

namespace {

constexpr std::size_t kFixed = 30;
constexpr std::size_t kFlags = 6, kNameLength = 26, kExtraLength = 28;
constexpr unsigned kUtf8 = 1u << 11;
// Names and extra fields are usually short; the format's own limit is tried second.
constexpr std::size_t kUsual = 512, kLongest = kFixed + std::size_t{2} * 65535;

unsigned number(std::string_view text, std::size_t at) {
  return static_cast<unsigned>(static_cast<unsigned char>(text[at])) |
         static_cast<unsigned>(static_cast<unsigned char>(text[at + 1])) << 8u;
}

/// The header that ends with `text`.
std::optional<std::string_view> find_header(std::string_view text) {
  for (std::size_t before = text.size(); before > 0;) {
    const void* const found = ::memrchr(text.data(), 'P', before);
    if (found == nullptr) break;
    before = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    const std::string_view header = text.substr(before);
    if (header.size() >= kFixed && header.starts_with("PK\3\4") &&
        kFixed + number(header, kNameLength) + number(header, kExtraLength) == header.size())
      return header;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> zip_name_before(int fd, std::uint64_t end,
                                           const std::filesystem::path& path) {
  for (const std::size_t most : {kUsual, kLongest}) {
    std::vector<std::byte> bytes(std::min<std::uint64_t>(most, end));
    read_exactly(fd, end - bytes.size(), bytes, path);
    const std::optional<std::string_view> header = find_header(as_text(bytes));
    if (!header) continue;
    if ((number(*header, kFlags) & kUtf8) == 0) return std::nullopt;
    return std::string(header->substr(kFixed, number(*header, kNameLength)));
  }
  return std::nullopt;
}

}  // namespace packhorse
