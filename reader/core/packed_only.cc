#include "base/option.h"
#include "dataset/dataset_kinds.h"
#include "packhorse/base/error.h"

/// Replaces class folders in packhorse::core.
namespace packhorse::reader {

namespace fs = std::filesystem;

std::shared_ptr<const Dataset> open_folder(const fs::path& path, const std::string&, OddClasses) {
  std::error_code ignored;
  const fs::file_status found = fs::status(path, ignored);
  if (!fs::exists(found))
    throw Error(ErrorKind::kNotFound, "the dataset does not exist", path, "check the path");
  const std::string pack =
      "pack this first: " + call({"pack", {path.native(), "packed"}, {{"format", "wds"}}});
  if (!fs::is_directory(found)) {
    const fs::path folder = path.parent_path();
    throw Error(ErrorKind::kNotFound, "this is a file, not the folder of a packed dataset", path,
                fs::exists(folder / "dataset.json", ignored)
                    ? "give the dataset's folder: " + folder.native()
                    : "give the folder of a packed dataset, or " + pack);
  }
  if (fs::is_empty(path, ignored))
    throw Error(ErrorKind::kNotFound, "this folder is empty", path,
                "give the folder of a packed dataset");
  throw Error(ErrorKind::kNotFound,
              "this folder is not a packed dataset: there is no dataset.json in it", path, pack);
}

}  // namespace packhorse::reader
