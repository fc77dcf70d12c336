#include "dataset/dataset_kinds.h"
#include "image/pnm_image.h"
#include "packhorse/base/error.h"

/// Replaces class folders and OpenCV's codecs in packhorse::core.
namespace packhorse {

std::unique_ptr<DecodedImage> decode_image(Bytes file, const ImageInfo& info) {
  if (info.kind == ImageKind::kPnm) return open_pnm(file);
  throw Error(
      ErrorKind::kUnsupported,
      "this program is built without a decoder for " + std::string(name_of(info.kind)), {},
      "link packhorse::reader instead of packhorse::core, or pack with --image resize or raw");
}

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
