#include "sources/unread_files.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <string>

#include "archive/archive_scan.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "codecs/image_header.h"
#include "formats/foreign_shard.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/folder_look.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// A file as far as its kind shows in it.
struct Head {
  std::array<std::byte, kSniffedBytes> bytes{};
  std::size_t read = 0;
  std::uint64_t size = 0;  ///< of the file

  Bytes known() const { return Bytes(bytes).first(read); }
  bool has(std::size_t at, std::string_view text) const {
    return at + text.size() <= read && as_text(Bytes(bytes)).substr(at, text.size()) == text;
  }
  unsigned byte(std::size_t at) const { return std::to_integer<unsigned>(bytes.at(at)); }
};

template <std::size_t kBytes>
std::uint64_t little_endian(const Head& head, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kBytes; ++i) value |= std::uint64_t{head.byte(at + i)} << 8 * i;
  return value;
}

bool is_parquet(const Head& head) { return head.has(0, "PAR1"); }
bool is_arrow(const Head& head) { return head.has(0, "ARROW1"); }
bool is_hdf5(const Head& head) { return head.has(0, "\x89HDF\r\n\x1a\n"); }
bool is_matlab(const Head& head) { return head.has(0, "MATLAB 5.0"); }
bool is_record_io(const Head& head) { return head.has(0, "\x0a\x23\xd7\xce"); }
bool is_lmdb(const Head& head) { return head.has(16, "\xde\xc0\xef\xbe"); }

/// Pickles of the protocols 2 to 5, whose second opcode makes a container or begins a frame.
bool is_pickle(const Head& head) {
  return head.read > 2 && head.byte(0) == 0x80 && head.byte(1) >= 2 && head.byte(1) <= 5 &&
         std::string_view("}](c\x95").find(static_cast<char>(head.byte(2))) !=
             std::string_view::npos;
}

/// Yann LeCun's idx: two zeros, the numbers' type, how many sizes, and these sizes.
bool is_idx(const Head& head) {
  constexpr std::string_view kTypes = "\x08\x09\x0b\x0c\x0d\x0e";
  constexpr std::array<std::uint64_t, 6> kWidths = {1, 1, 2, 4, 4, 8};
  if (head.read < 8 || !head.has(0, std::string_view("\0\0", 2))) return false;
  const std::size_t type = kTypes.find(static_cast<char>(head.byte(2)));
  const unsigned sizes = head.byte(3);
  if (type == std::string_view::npos || sizes == 0 || sizes > 4 || head.read < 4 + 4 * sizes)
    return false;
  std::uint64_t bytes = kWidths.at(type);
  for (unsigned i = 0; i < sizes; ++i) {
    std::uint64_t size = 0;
    for (unsigned k = 0; k < 4; ++k) size = size << 8 | head.byte(4 + 4 * i + k);
    if (__builtin_mul_overflow(bytes, size, &bytes)) return false;
  }
  return head.size == 4 + 4 * sizes + bytes;
}

/// TFRecord begins with a length and the length's CRC-32C, rotated and shifted by a constant.
bool is_tfrecord(const Head& head) {
  if (head.read < 12 || little_endian<8>(head, 0) > head.size) return false;
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < 8; ++i) {
    crc ^= head.byte(i);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return std::rotr(~crc, 15) + 0xa282ead8u == little_endian<4>(head, 8);
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view one) { return name.ends_with(one); });
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

/// "a.tar.gz.aa", "a.zip.001", "a.tar.part3", "a.z01": what `split` and zip make.
bool is_part_of_archive(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view last = name.substr(dot + 1);
  const auto all = [](std::string_view text, std::string_view of) {
    return !text.empty() && text.find_first_not_of(of) == std::string_view::npos;
  };
  constexpr std::string_view kDigits = "0123456789", kLetters = "abcdefghijklmnopqrstuvwxyz";
  if (last.size() == 3 && last.front() == 'z' && all(last.substr(1), kDigits)) return true;
  const bool numbered =
      all(last, kDigits) || last.starts_with("part") || (last.size() == 2 && all(last, kLetters));
  return numbered && has_archive_name(name.substr(0, dot));
}

constexpr std::string_view kArraysAdvice =
    "save images and labels as .npy files, and pack their folder: docs/containers.md, Arrays";
constexpr std::string_view kHdf5Advice =
    "where an image's bytes lie together, adopt the file: packhorse index; else save its arrays as "
    ".npy files: docs/containers.md, Arrays, has the lines";
constexpr std::string_view kParquetAdvice =
    "pack it from Python, packhorse.from_parquet(FILE, OUT): docs/containers.md has the lines";
constexpr std::string_view kArrowAdvice =
    "pack it from Python, packhorse.from_datasets(datasets.load_from_disk(FOLDER), OUT)";
constexpr std::string_view kAdoptAdvice =
    "adopt it: `packhorse index` with its folder makes it a dataset without rewriting it";
constexpr std::string_view kFoldersAdvice = "write its images to class folders, and pack those";

/// A kind of file. `named`: by its name in lower case; `begins`: by its first bytes.
struct Unread {
  std::string_view what, advice;
  bool (*named)(std::string_view name);
  bool (*begins)(const Head& head);
  bool adoptable = false;
};

bool never(const Head&) { return false; }

constexpr std::array kUnread = {
    Unread{"Parquet, which packhorse does not read", kParquetAdvice,
           [](std::string_view name) { return name.ends_with(".parquet"); }, is_parquet},
    Unread{"Arrow, which packhorse does not read", kArrowAdvice,
           [](std::string_view name) { return name.ends_with(".arrow"); }, is_arrow},
    Unread{"HDF5, which is no source", kHdf5Advice,
           [](std::string_view name) {
             return ends_with_any(name, {".h5", ".hdf5"});
           },
           is_hdf5},
    Unread{"MATLAB's format, which packhorse does not read", kArraysAdvice,
           [](std::string_view name) { return name.ends_with(".mat"); }, is_matlab},
    Unread{"CIFAR's binary batches, which packhorse does not read", kArraysAdvice,
           [](std::string_view name) {
             return name.ends_with(".bin") &&
                    (contains(name, "data_batch") || name == "test_batch.bin");
           },
           never},
    Unread{"pickles, which packhorse never opens: opening one runs code", kArraysAdvice,
           [](std::string_view name) {
             return ends_with_any(name, {".pkl", ".pickle"}) || name.starts_with("data_batch_") ||
                    name == "test_batch";
           },
           is_pickle},
    Unread{"MNIST's idx format, which packhorse does not read", kArraysAdvice,
           [](std::string_view name) {
             return contains(name, "-ubyte") && (contains(name, "idx1") || contains(name, "idx2") ||
                                                 contains(name, "idx3") || contains(name, "idx4"));
           },
           is_idx},
    Unread{"TFRecord, which packhorse does not read", kFoldersAdvice,
           [](std::string_view name) { return contains(name, ".tfrecord"); }, is_tfrecord},
    Unread{"MXNet's RecordIO, which packhorse does not read", kFoldersAdvice,
           [](std::string_view name) { return name.ends_with(".rec"); }, is_record_io},
    Unread{"FFCV's format, which packhorse does not read", kFoldersAdvice,
           [](std::string_view name) { return name.ends_with(".beton"); }, never},
    Unread{"LMDB, which is adopted and not packed", kAdoptAdvice,
           [](std::string_view name) { return name.ends_with(".mdb"); }, is_lmdb, true},
    Unread{"parts of an archive", "join them with `cat` (zip: `zip -s 0`), and pack the archive",
           is_part_of_archive, never},
    Unread{"an archive that packhorse does not read", "unpack it, and pack the folder",
           [](std::string_view name) {
             return ends_with_any(name, {".7z", ".rar"});
           },
           never},
};

Head head_of(const fs::path& file) {
  Head head;
  const UniqueFd fd = open_for_reading(file);
  head.size = file_size(fd.get(), file);
  head.read = std::min<std::uint64_t>(head.bytes.size(), head.size);
  read_exactly(fd.get(), 0, std::span(head.bytes).first(head.read), file);
  return head;
}

/// What a file is.
struct Verdict {
  const Unread* unread = nullptr;
  bool source = false;  ///< an image, or an archive
};

Verdict judge(const fs::path& file) {
  const std::string name = lower_case(file.filename().native());
  if (naming::has_any_image_name(name)) return {nullptr, true};
  const auto named =
      std::ranges::find_if(kUnread, [&](const Unread& kind) { return kind.named(name); });
  if (named != kUnread.end()) return {&*named, false};
  if (has_archive_name(name)) return {nullptr, true};
  const Head head = head_of(file);
  if (sniff_image(head.known()) != ImageKind::kUnknown || !unsupported_kind(head.known()).empty())
    return {nullptr, true};
  const auto begun =
      std::ranges::find_if(kUnread, [&](const Unread& kind) { return kind.begins(head); });
  return {begun != kUnread.end() ? &*begun : nullptr, false};
}

struct Found {
  const Unread* kind = nullptr;
  fs::path file;
};

/// Looks through a folder and those in it for its first such file. Nothing where an image or an
/// archive turns up, or more than can be looked at quickly: a folder of class folders ends it at
/// the first image.
class UnreadLook {
 public:
  explicit UnreadLook(FolderLook& look) : look_(look) {}

  Found through(const fs::path& root) {
    folders_.push_back({root, 0});
    while (!folders_.empty() && !ended_) {
      const auto [folder, depth] = std::move(folders_.front());
      folders_.pop_front();
      look_.look_in(folder, [&, depth = depth](const fs::directory_entry& entry) {
        take(entry, depth);
        return !ended_;
      });
    }
    return ended_ ? Found{} : found_;
  }

 private:
  static constexpr int kDeepest = 2;
  static constexpr std::size_t kMostEntries = 10'000;

  void take(const fs::directory_entry& entry, int depth) {
    if (naming::passed_over(entry.path().filename().native()) != nullptr) return;
    std::error_code code;
    if (++entries_ > kMostEntries) {
      ended_ = true;
    } else if (entry.is_directory(code)) {
      ended_ = depth == kDeepest;
      folders_.push_back({entry.path(), depth + 1});
    } else if (entry.is_regular_file(code)) {
      const Verdict verdict = judge(entry.path());
      ended_ = verdict.source;
      if (found_.kind == nullptr) found_ = {verdict.unread, entry.path()};
    }
  }

  FolderLook& look_;
  std::deque<std::pair<fs::path, int>> folders_;
  std::size_t entries_ = 0;
  bool ended_ = false;
  Found found_;
};

Found find_unread(const fs::path& path, FolderLook& look) {
  try {
    if (is_file(path)) return {judge(path).unread, path};
    if (is_folder(path)) return UnreadLook(look).through(path);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): who reads the folder says so
  }
  return {};
}

}  // namespace

void refuse_unread_files(const fs::path& path, FolderLook& look) {
  const Found found = find_unread(path, look);
  if (found.kind == nullptr) return;
  const bool folder = found.file != path;
  const std::string advice =
      found.kind->adoptable ? advice_to_adopt(folder ? found.file.parent_path() : path) : "";
  throw Error(ErrorKind::kUnsupported,
              (folder ? "the folder holds no images, but " : "this is ") +
                  std::string(found.kind->what) +
                  (folder ? " (" + printable(found.file.lexically_relative(path).native()) + ")"
                          : std::string()),
              path, advice.empty() ? std::string(found.kind->advice) : advice);
}

namespace fs = std::filesystem;

namespace {

bool is_foreign_shard(const fs::path& path) {
  const auto formats = foreign_formats();
  return std::ranges::any_of(
      formats, [&](const ForeignFormat* format) { return format->find(path).has_value(); });
}

}  // namespace

std::string advice_to_adopt(const fs::path& path) {
  bool found = is_foreign_shard(path);
  if (!found && is_folder(path)) {
    const auto entries = entries_in(path);
    found = std::ranges::any_of(
        entries, [](const fs::directory_entry& entry) { return is_foreign_shard(entry.path()); });
  }
  if (!found) return {};
  return "it holds shards of another writer: `packhorse index " + printable(path.native()) +
         "` makes them a dataset without rewriting them, which can then be packed";
}

}  // namespace packhorse
