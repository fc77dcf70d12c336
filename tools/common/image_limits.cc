#include "common/image_limits.h"

#include <algorithm>
#include <array>

#include "common/program.h"

namespace packhorse::program {

namespace {

constexpr std::array kNames = {"--max-pixels", "--max-scan-pixels", "--max-decoded-bytes",
                               "--first-frame"};

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
  app.add_flag(kNames[3], limits.first_frame,
               "Take the first picture of animations and of TIFFs of several pages")
      ->group(group);
}

void add_bands(CLI::App& app, bool& bands, bool& pages, const std::string& group,
               CLI::Option* needed) {
  const auto add = [&](const char* name, bool& value, const char* help) {
    CLI::Option* option = app.add_flag(name, value, help);
    if (!group.empty()) option->group(group);
    if (needed != nullptr) option->needs(needed);
    return option;
  };
  add("--bands", bands, "Take pictures that are no colours: more bands, floating-point numbers");
  add("--pages-as-bands", pages, "The same, and the pages of a TIFF are the bands of one picture")
      ->excludes(app.get_option("--first-frame"));
}

bool has_image_limits(const CLI::App& app) {
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const char* name) { return app.get_option(name)->count() > 0; });
}

}  // namespace packhorse::program
