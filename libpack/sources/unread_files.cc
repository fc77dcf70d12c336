#include "sources/unread_files.h"

#include <array>
#include <string>

#include "base/ascii.h"
#include "base/directory_look.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

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

/// What lies directly in a folder, as far as it matters here.
struct Seen {
  const Unread* unread = nullptr;  ///< the kind of the first such file
  bool data = false;               ///< a folder `data`
  bool other = false;              ///< another folder, or an image
};

/// Looks until it sees another folder or an image: mostly at once.
Seen look_at(const fs::path& folder) {
  Seen seen;
  look_in(folder, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    if (naming::passed_over(name) != nullptr) return true;
    std::error_code code;
    const bool directory = entry.is_directory(code);
    seen.other = naming::has_any_image_name(name) || (directory && name != "data");
    seen.data = seen.data || directory;
    if (seen.unread == nullptr && !directory) seen.unread = unread(entry.path());
    return !seen.other;
  });
  return seen;
}

/// The kind of such files in a folder that holds neither folders nor images; null for any other.
const Unread* unread_in(const fs::path& folder) {
  const Seen seen = look_at(folder);
  return seen.data || seen.other ? nullptr : seen.unread;
}

}  // namespace

void refuse_unread_files(const fs::path& path) {
  std::error_code code;
  const Unread* kind = nullptr;
  if (fs::is_regular_file(path, code)) {
    kind = unread(path);
  } else if (fs::is_directory(path, code)) {
    const Seen seen = look_at(path);
    if (!seen.other) kind = seen.data ? unread_in(path / "data") : seen.unread;
  }
  if (kind == nullptr) return;
  throw Error(
      ErrorKind::kUnsupported,
      (fs::is_directory(path, code) ? "the folder holds " : "this is ") + std::string(kind->what),
      path, std::string(kind->advice));
}

}  // namespace packhorse
