#include "common/image_limits.h"

#include <algorithm>
#include <array>

#include "common/program.h"

namespace packhorse::program {

namespace {

constexpr std::array kNames = {"--max-pixels", "--max-scan-pixels", "--max-decoded-bytes"};

}  // namespace

void add_image_limits(CLI::App& app, ImageLimits& limits, const std::string& group) {
  app.add_option(kNames[0], limits.pixels, "Refuse images with more pixels")
      ->capture_default_str()
      ->group(group);
  app.add_option(kNames[1], limits.scan_pixels,
                 "Refuse JPEGs with more pixels times scans, which take too long to decode")
      ->capture_default_str()
      ->group(group);
  add_size(app, kNames[2], limits.decoded_bytes,
           "Refuse images that need more memory to decode, e.g. 2GiB")
      ->group(group);
}

bool has_image_limits(const CLI::App& app) {
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const char* name) { return app.get_option(name)->count() > 0; });
}

}  // namespace packhorse::program
