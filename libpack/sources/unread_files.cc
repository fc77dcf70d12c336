#include "sources/unread_files.h"

#include <array>
#include <string>

#include "base/ascii.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

struct Unread {
  std::string_view suffix, what, advice;
};

constexpr std::string_view kPickle = "pickles, which packhorse never opens: opening one runs code";
constexpr std::string_view kPickleAdvice =
    "save images and labels as .npy files, and pack their folder: docs/sources.md, Arrays";
constexpr std::string_view kHdf5 = "HDF5, which is no source";
constexpr std::string_view kHdf5Advice =
    "where an image's bytes lie together, adopt the file: packhorse index; else save its arrays as "
    ".npy files: docs/sources.md, Arrays, has the lines";
constexpr std::string_view kArrow = "Arrow, which packhorse does not read";
constexpr std::string_view kParquetAdvice =
    "write its images to class folders, and pack those: docs/sources.md, Parquet, has the lines";

constexpr std::array kUnread = {
    Unread{".parquet", "Parquet, which packhorse does not read", kParquetAdvice},
    Unread{".arrow", kArrow, kParquetAdvice},
    Unread{".h5", kHdf5, kHdf5Advice},
    Unread{".hdf5", kHdf5, kHdf5Advice},
    Unread{".pkl", kPickle, kPickleAdvice},
    Unread{".pickle", kPickle, kPickleAdvice},
    Unread{".mat", "MATLAB's format, which packhorse does not read", kPickleAdvice},
    Unread{".tfrecord", "TFRecord, which packhorse does not read",
           "write its images to class folders, and pack those"},
};

const Unread* unread(const fs::path& file) {
  const std::string name = lower_case(file.filename().native());
  for (const Unread& kind : kUnread) {
    if (name.ends_with(kind.suffix)) return &kind;
  }
  return nullptr;
}

/// The kind of the first such file; null when there is none, or folders or images beside it.
const Unread* unread_in(const fs::path& folder) {
  const Unread* found = nullptr;
  for (const fs::directory_entry& entry : entries_in(folder)) {
    const std::string name = entry.path().filename();
    if (naming::passed_over(name) != nullptr) continue;
    std::error_code code;
    if (entry.is_directory(code) || naming::has_any_image_name(name)) return nullptr;
    if (found == nullptr) found = unread(entry.path());
  }
  return found;
}

/// A folder that holds nothing but a folder `data`, and files: as data sets lie on the Hub.
bool holds_only_data(const fs::path& folder) {
  bool data = false;
  for (const fs::directory_entry& entry : entries_in(folder)) {
    const std::string name = entry.path().filename();
    if (naming::passed_over(name) != nullptr) continue;
    if (naming::has_any_image_name(name)) return false;
    std::error_code code;
    if (!entry.is_directory(code)) continue;
    if (name != "data") return false;
    data = true;
  }
  return data;
}

}  // namespace

void refuse_unread_files(const fs::path& path) {
  std::error_code code;
  const Unread* kind = nullptr;
  if (fs::is_regular_file(path, code)) {
    kind = unread(path);
  } else if (fs::is_directory(path, code)) {
    kind = unread_in(path);
    if (kind == nullptr && holds_only_data(path)) kind = unread_in(path / "data");
  }
  if (kind == nullptr) return;
  throw Error(
      ErrorKind::kUnsupported,
      (fs::is_directory(path, code) ? "the folder holds " : "this is ") + std::string(kind->what),
      path, std::string(kind->advice));
}

}  // namespace packhorse
