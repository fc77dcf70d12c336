#include "packhorse/transform.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "packhorse/error.h"
#include "transforms/transforms.h"

namespace packhorse {

namespace {

class Original final : public Transform {
 public:
  Transformed apply(Bytes input, ImageInfo&, std::vector<std::byte>&) const override {
    return {input, {}};
  }
};

void check(bool sense, std::string_view setting, int value, std::string_view range) {
  if (sense) return;
  throw Error(ErrorKind::kUsage, std::string(setting) + " cannot be " + std::to_string(value), {},
              "give a number " + std::string(range));
}

std::string restart_setting(const TransformOptions& options) {
  return "restart_mcus=" + std::to_string(options.restart_mcus);
}

std::string resize_settings(const TransformOptions& options) {
  return "short_side=" + std::to_string(options.short_side) +
         " quality=" + std::to_string(options.quality) +
         " chroma=" + (options.chroma == TransformOptions::Chroma::k420 ? "420" : "source") + " " +
         restart_setting(options);
}

std::string raw_settings(const TransformOptions& options) {
  return "size=" + std::to_string(options.size) +
         " fit=" + (options.fit == TransformOptions::Fit::kCrop ? "crop" : "letterbox");
}

/// Restart markers and the table: a few percent of a photo, more of a small or a flat picture, and
/// a header besides.
std::uint64_t roi_estimate(const TransformOptions& options, std::uint64_t input) {
  return input + input / (options.restart_mcus < 4 ? 4 : 8) + 1024;
}

/// Pictures no larger than asked for stay as large as they are; the others have about 4/3 of the
/// square's pixels, and four bytes a pixel is more than quality 100 takes.
std::uint64_t resize_estimate(const TransformOptions& options, std::uint64_t input) {
  const auto side = static_cast<std::uint64_t>(options.short_side);
  return std::min(roi_estimate(options, input),
                  side * side * (options.quality > 95 ? 4 : 2) + 1024);
}

std::uint64_t raw_estimate(const TransformOptions& options, std::uint64_t) {
  const auto side = static_cast<std::uint64_t>(options.size);
  return side * side * 3;
}

constexpr std::array kTransforms = {
    TransformKind{.name = "original",
                  .summary = "every byte as it was in the source",
                  .make = [](const TransformOptions&) -> std::unique_ptr<Transform> {
                    return std::make_unique<Original>();
                  },
                  .settings = [](const TransformOptions&) { return std::string(); },
                  .estimate = [](const TransformOptions&, std::uint64_t input) { return input; },
                  .keeps = true},
    TransformKind{.name = "roi",
                  .summary = "the same pixels; crops of JPEGs can be decoded without the rest",
                  .make = transforms::make_roi,
                  .settings = restart_setting,
                  .estimate = roi_estimate},
    TransformKind{.name = "resize",
                  .summary = "JPEGs with a short side of a given length, upright, ready as roi",
                  .make = transforms::make_resize,
                  .settings = resize_settings,
                  .estimate = resize_estimate},
    TransformKind{.name = "raw",
                  .summary = "decoded pixels of one size, upright: no file format, no decoding",
                  .make = transforms::make_raw,
                  .settings = raw_settings,
                  .estimate = raw_estimate,
                  .makes_pixels = true},
};

}  // namespace

void TransformOptions::validate() const {
  check(restart_mcus >= 1 && restart_mcus <= 8192, "restart_mcus", restart_mcus, "from 1 to 8192");
  check(short_side >= 1 && short_side <= 65535, "short_side", short_side, "from 1 to 65535");
  check(quality >= 1 && quality <= 100, "quality", quality, "from 1 to 100");
  check(size >= 1 && size <= 16384, "size", size, "from 1 to 16384");
}

TransformOptions TransformOptions::parse(std::string_view settings) {
  TransformOptions options;
  std::istringstream words{std::string(settings)};
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    const auto number = [&](int& out) {
      const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), out);
      return code == std::errc() && end == value.data() + value.size();
    };
    const auto choice = [&](auto& out, auto first, const char* name_of_first, auto second,
                            const char* name_of_second) {
      out = value == name_of_first ? first : second;
      return value == name_of_first || value == name_of_second;
    };
    const bool known =
        name == "restart_mcus" ? number(options.restart_mcus)
        : name == "short_side" ? number(options.short_side)
        : name == "quality"    ? number(options.quality)
        : name == "size"       ? number(options.size)
        : name == "chroma"
            ? choice(options.chroma, Chroma::kAsSource, "source", Chroma::k420, "420")
        : name == "fit" ? choice(options.fit, Fit::kCrop, "crop", Fit::kLetterbox, "letterbox")
                        : false;
    if (known) continue;
    throw Error(ErrorKind::kUnsupported, "the image setting '" + word + "' is unknown", {},
                "use the version of packhorse that packed it");
  }
  return options;
}

std::span<const TransformKind> all_transforms() { return kTransforms; }

const TransformKind& keeping_transform() {
  return *std::ranges::find_if(kTransforms, &TransformKind::keeps);
}

const TransformKind& pixel_transform() {
  return *std::ranges::find_if(kTransforms, &TransformKind::makes_pixels);
}

const TransformKind& find_transform(std::string_view name) {
  std::string names;
  for (const TransformKind& kind : all_transforms()) {
    if (kind.name == name) return kind;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(ErrorKind::kUsage, "there is no image mode '" + std::string(name) + "'", {},
              "choose one of: " + names);
}

}  // namespace packhorse
