#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "bench/request.h"
#include "packhorse/base/error.h"

namespace packhorse::bench {

using reader::DetectionAugment;
using reader::ImageSize;
using reader::LoaderOptions;

namespace {

constexpr int kMaxTypedSide = 16384;

/// Mosaic with the numbers that are usual in training YOLO: scale and place vary, colours too.
void choose_mosaic(ImageSize size, double degrees, double shear, LoaderOptions& options) {
  options.augment = DetectionAugment{.size = size,
                                     .mosaic = {.probability = 1},
                                     .affine = {.degrees = {-degrees, degrees},
                                                .translate = {0.1, 0.1},
                                                .min_scale = 0.5,
                                                .max_scale = 1.5,
                                                .shear_x = {-shear, shear},
                                                .shear_y = {-shear, shear}},
                                     .flip = 0.5};
  options.pixels =
      reader::parse_pixel_steps("ColorJitter(brightness=0.4, saturation=0.7, hue=0.015)");
}

void choose_views(ImageSize size, LoaderOptions& options) {
  const auto part = [](int side) { return std::max(1, side * 3 / 7); };
  const reader::RandomResizedCrop global{.size = size, .min_scale = 0.4};
  const reader::RandomResizedCrop local{
      .size = {part(size.height), part(size.width)}, .min_scale = 0.05, .max_scale = 0.4};
  options.augment = global;
  options.more_views.assign(1, {.augment = global});
  options.more_views.insert(options.more_views.end(), 8, {.augment = local});
}

struct AugmentChoice {
  const char* name;
  const char* summary;
  int usual_side;
  void (*choose)(ImageSize, LoaderOptions&);
};

/// Everything there is to know about an augmentation: a new one is one more line here.
constexpr std::array kAugments = {
    AugmentChoice{"crop", "a random resized crop, flipped or not", 224,
                  [](ImageSize size, LoaderOptions& options) {
                    options.augment = reader::RandomResizedCrop{.size = size};
                  }},
    AugmentChoice{"views",
                  "two crops of 0.4 to 1 of the picture and eight of 0.05 to 0.4, with 3/7 of the "
                  "size, as in DINO",
                  224, choose_views},
    AugmentChoice{"letterbox", "the whole picture, with borders", 640,
                  [](ImageSize size, LoaderOptions& options) {
                    options.augment = DetectionAugment{.size = size};
                  }},
    AugmentChoice{
        "mosaic",
        "four pictures, moved by up to 0.1 and scaled by 0.5 to 1.5, flipped or not, "
        "with hue, saturation and brightness changed by up to 0.015, 0.7 and 0.4",
        640, [](ImageSize size, LoaderOptions& options) { choose_mosaic(size, 0, 0, options); }},
    AugmentChoice{
        "mosaic-turned", "the same, turned by up to 10 and sheared by up to 2 degrees", 640,
        [](ImageSize size, LoaderOptions& options) { choose_mosaic(size, 10, 2, options); }},
};

const AugmentChoice& augment_called(const std::string& name) {
  return *std::ranges::find(kAugments, name, &AugmentChoice::name);
}

int side_of(std::string_view text, const std::string& whole) {
  const int side = parse_number<int>(text).value_or(0);
  if (side < 1 || side > kMaxTypedSide) {
    throw Error(ErrorKind::kUsage, "'" + whole + "' is not a valid value for --size", {},
                "give one side from 1 to 16384, e.g. 640, or height and width, e.g. 480x640");
  }
  return side;
}

}  // namespace

std::vector<std::string> augment_names() {
  std::vector<std::string> names;
  for (const AugmentChoice& choice : kAugments) names.emplace_back(choice.name);
  return names;
}

std::string augments_text() {
  std::string text;
  for (const AugmentChoice& choice : kAugments)
    text += (text.empty() ? "" : "; ") + std::string(choice.name) + ": " + choice.summary;
  return text;
}

ImageSize size_of(const std::string& augment, const std::string& text) {
  if (text.empty()) return augment_called(augment).usual_side;
  const std::size_t cross = text.find('x');
  const int height = side_of(std::string_view(text).substr(0, cross), text);
  const int width =
      cross == std::string::npos ? height : side_of(std::string_view(text).substr(cross + 1), text);
  return {height, width};
}

void choose_augment(const std::string& augment, ImageSize size, LoaderOptions& options) {
  augment_called(augment).choose(size, options);
}

}  // namespace packhorse::bench
