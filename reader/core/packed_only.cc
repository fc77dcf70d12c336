#include "dataset/dataset_kinds.h"
#include "packhorse/base/error.h"

/// Replaces class folders in packhorse::core.
namespace packhorse {

namespace reader {

std::shared_ptr<const Dataset> open_folder(const std::filesystem::path& path, const std::string&,
                                           OddClasses) {
  if (std::error_code ignored; !std::filesystem::exists(path, ignored))
    throw Error(ErrorKind::kNotFound, "the dataset does not exist", path, "check the path");
  throw Error(
      ErrorKind::kUnsupported,
      "there is no packed dataset, and this program is built without support for class folders",
      path, "link packhorse::reader instead of packhorse::core, or pack the folder first");
}

}  // namespace reader

}  // namespace packhorse
