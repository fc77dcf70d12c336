#include "sources/arrays/array_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "archive/archive_scan.h"
#include "base/printable.h"
#include "base/text.h"
#include "image/npy.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::string_view kNpz = ".npz";
constexpr const char* kAgain =
    "get the file again, or save it again with numpy.save or numpy.savez";

bool ends_with(const std::string& name, std::string_view suffix) {
  return lower_case(name).ends_with(suffix);
}

std::string without(const std::string& name, std::string_view suffix) {
  return ends_with(name, suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

/// Bytes of all values; more than any file has when the product is too large for a number.
std::uint64_t bytes_of(const NpyHeader& header) {
  std::uint64_t bytes = value_bytes(header.type);
  for (const std::uint64_t extent : header.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return ~std::uint64_t{0};
  }
  return bytes;
}

/// The array whose file begins with `head` and has `size` bytes; its values' place is relative to
/// the file's begin.
StoredArray array_of(const std::string& name, Bytes head, std::uint64_t size,
                     const fs::path& path) {
  try {
    NpyHeader header = parse_npy_header(head);
    StoredArray array{name,
                      std::move(header.type),
                      std::move(header.shape),
                      header.fortran_order,
                      0,
                      {header.bytes, false},
                      0};
    array.bytes = bytes_of({array.type, array.fortran_order, array.shape, header.bytes});
    if (value_bytes(array.type) != 0 && array.bytes != size - header.bytes)
      throw Error(ErrorKind::kCorrupt, "damaged .npy: its size is not the one in its header");
    return array;
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path, kAgain, name);
  }
}

class Opener {
 public:
  explicit Opener(Payloads& payloads) : payloads_(payloads) {}

  /// `prefix`: put before the names in a file of several arrays.
  void open(const fs::path& path, const std::string& prefix) {
    file_ = payloads_.add_file(path);
    prefix_ = prefix;
    if (ends_with(path.native(), kNpz)) {
      open_npz(path);
    } else {
      open_npy(path);
    }
    payloads_.done_with(file_);
  }

  std::vector<StoredArray> arrays;

 private:
  void open_npy(const fs::path& path) {
    const int fd = payloads_.fd(file_);
    const std::uint64_t size = file_size(fd, path);
    std::vector<std::byte> head(std::min<std::uint64_t>(size, kNpyMostHeader));
    read_exactly(fd, 0, head, path);
    arrays.push_back(array_of(without(path.filename(), kNpy), head, size, path));
    arrays.back().file = file_;
  }

  void open_npz(const fs::path& path) {
    constexpr ExpansionLimits kLimits;
    const std::uint64_t stored = file_size(payloads_.fd(file_), path);
    std::uint64_t expanded = 0;
    ArchiveScan scan(path, payloads_.fd(file_), payloads_.spool());
    while (scan.next()) {
      const Member& member = scan.member();
      if (member.type != Member::Type::kFile || !ends_with(member.name, kNpy)) continue;
      const std::string name = prefix_ + without(member.name, kNpy);
      if (parse_array_name(name).role == ArrayName::Role::kNone) {
        arrays.push_back({name, "", {}, false, 0, {}, 0});
        continue;
      }
      expanded += member.size;
      if (expanded > kLimits.bytes && expanded / kLimits.times > stored) {
        throw Error(ErrorKind::kUnsupported,
                    fmt::format("it expands to more than {} times its size, like an archive made "
                                "to fill a disk",
                                kLimits.times),
                    path, "if its arrays are meant to be this large, extract them first: unzip");
      }
      take(scan, name, path);
    }
  }

  void take(ArchiveScan& scan, const std::string& name, const fs::path& path) try {
    StoredArray array = array_of(name, scan.head(), scan.member().size, path);
    const std::uint64_t header = array.place.offset;
    array.place = scan.keep(scan.member().size);
    array.place.offset += header;
    array.file = file_;
    arrays.push_back(std::move(array));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kRejected) throw;
    throw Error(ErrorKind::kCorrupt, error.what(), path, kAgain, name);
  }

  Payloads& payloads_;
  std::uint32_t file_ = 0;
  std::string prefix_;
};

}  // namespace

std::string StoredArray::description() const {
  return fmt::format("{} ({})", printable(type), fmt::join(shape, ", "));
}

bool has_array_name(const fs::path& path) {
  return ends_with(path.native(), kNpy) || ends_with(path.native(), kNpz);
}

std::vector<StoredArray> open_arrays(const std::vector<fs::path>& files, Payloads& payloads) {
  Opener opener(payloads);
  for (const fs::path& file : files)
    opener.open(file, files.size() > 1 ? without(file.filename(), kNpz) + '/' : "");
  payloads.seal();
  return std::move(opener.arrays);
}

std::uint64_t value_bytes(const std::string& type) {
  if (type.size() < 3 || std::string_view("<>|=").find(type[0]) == std::string_view::npos ||
      std::string_view("biufc").find(type[1]) == std::string_view::npos)
    return 0;
  const std::uint64_t bytes = parse_number<std::uint64_t>(type.substr(2)).value_or(0);
  return bytes <= 32 ? bytes : 0;
}

}  // namespace packhorse
