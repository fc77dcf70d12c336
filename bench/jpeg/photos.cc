#include "photos.h"

#include <algorithm>
#include <cmath>

#include "packhorse/base/file.h"
#include "packhorse/codecs/image_header.h"

namespace packhorse::bench {

namespace fs = std::filesystem;

std::vector<Jpeg> jpegs_in(const fs::path& folder, std::size_t limit) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Jpeg> jpegs;
  for (const fs::path& path : paths) {
    if (jpegs.size() == limit) break;
    File file = read_file(path);
    const ProbeResult probe = probe_image(file);
    if (!probe.info || probe.info->kind != ImageKind::kJpeg || probe.info->components == 4)
      continue;
    jpegs.push_back({std::move(file), *probe.info});
  }
  return jpegs;
}

jpeg::Window draw_crop(std::uint32_t width, std::uint32_t height, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = width * double{1} * height * (0.08 + 0.92 * unit(random));
    const double ratio = std::exp((2 * unit(random) - 1) * std::log(4.0 / 3));
    const auto w = static_cast<std::uint32_t>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<std::uint32_t>(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > width || h > height) continue;
    return {static_cast<std::uint32_t>(unit(random) * (width - w)),
            static_cast<std::uint32_t>(unit(random) * (height - h)), w, h};
  }
  return {0, 0, width, height};
}

}  // namespace packhorse::bench
