
#include <algorithm>
#include <utility>

#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

std::vector<fs::path> find_images(const fs::path& folder) {
  std::vector<fs::path> images, arrays;  // NumPy files are images where there are no others
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  for (const fs::recursive_directory_iterator end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename();
    if (naming::passed_over(name) != nullptr) {
      entry.disable_recursion_pending();
    } else if (naming::has_any_image_name(name) && entry->is_regular_file()) {
      images.push_back(entry->path());
    } else if (naming::has_npy_name(name) && entry->is_regular_file()) {
      arrays.push_back(entry->path());
    }
  }
  if (code)
    throw Error(ErrorKind::kIo, "cannot list the folder: " + code.message(), folder,
                "check that it exists and may be read");
  if (images.empty()) images = std::move(arrays);
  if (images.empty())
    throw Error(ErrorKind::kNotFound, "there are no images in the folder", folder,
                "give a folder with files whose names are those of images, such as photo.jpg");
  std::ranges::sort(images);
  return images;
}

}  // namespace packhorse
