#include "measure/same_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "packhorse/base/error.h"
#include "packhorse/codecs/image_header.h"

namespace packhorse::trainer {

namespace {

constexpr std::size_t kLooks = 32;

/// Width and height, the smaller first, so that turned pictures have the same; 0 when unknown.
std::pair<std::uint32_t, std::uint32_t> sides_of(const reader::Dataset& dataset, std::size_t i) {
  std::vector<std::byte> scratch;
  ImageInfo info = dataset.image(i);
  if (info.kind == ImageKind::kUnknown) {
    const BytesLease file = dataset.view(i, scratch);
    info = probe_image(file.bytes, ImageLimits().of_packed()).info.value_or(ImageInfo{});
  }
  return std::minmax(info.width, info.height);
}

}  // namespace

void check_same_pictures(const reader::Dataset& folder, const reader::Dataset& packed,
                         const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "this does not hold the folder's images: " + what, path,
                "pack the folder given with --folder, and measure that");
  };
  std::unordered_map<std::string, std::size_t> samples;
  for (std::size_t i = 0; i < folder.size(); ++i) samples.emplace(folder.source_path(i), i);
  const std::string mode = packed.image_mode();
  const std::size_t looks = std::min(kLooks, packed.size());
  std::vector<std::byte> stored, file;
  for (std::size_t look = 0; look < looks; ++look) {
    const std::size_t i = look * packed.size() / looks;
    const std::string name = packed.source_path(i);
    if (name.empty()) continue;  // of shards that were adopted, which may say no paths
    const auto found = samples.find(name);
    if (found == samples.end() || folder.label(found->second) != packed.label(i))
      refuse(fmt::format("it has '{}', and the folder has no such image of that class", name));
    if (mode == "original") {
      packed.read(i, stored);
      folder.read(found->second, file);
      if (stored != file) refuse(fmt::format("its '{}' has other bytes", name));
    } else if (mode == "roi" || mode == "lossless") {
      if (sides_of(packed, i) != sides_of(folder, found->second))
        refuse(fmt::format("its '{}' has another size", name));
    }
  }
}

}  // namespace packhorse::trainer
