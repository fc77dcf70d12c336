#include "transforms/transform.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/choices.h"
#include "base/option.h"
#include "base/text.h"
#include "packhorse/base/error.h"

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

/// Writes a setting as text and reads it back.
struct Setting {
  std::string_view name;
  std::string (*text)(const TransformOptions&);
  bool (*parse)(TransformOptions&, std::string_view);  ///< false when the text is not a value of it
};

template <int TransformOptions::*kMember>
std::string number_text(const TransformOptions& options) {
  return std::to_string(options.*kMember);
}

template <int TransformOptions::*kMember>
bool read_number(TransformOptions& options, std::string_view text) {
  const auto number = parse_number<int>(text);
  if (number) options.*kMember = *number;
  return number.has_value();
}

template <int TransformOptions::*kMember>
constexpr Setting number(std::string_view name) {
  return {name, number_text<kMember>, read_number<kMember>};
}

/// One of `names`, pairs of a name and a value.
template <auto kMember, const auto& names>
constexpr Setting choice(std::string_view setting) {
  return {setting,
          [](const TransformOptions& options) {
            const auto* found = std::ranges::find(names, options.*kMember,
                                                  [](const auto& one) { return one.second; });
            return std::string(found->first);
          },
          [](TransformOptions& options, std::string_view text) {
            const auto* found =
                std::ranges::find(names, text, [](const auto& one) { return one.first; });
            if (found == names.end()) return false;
            options.*kMember = found->second;
            return true;
          }};
}

constexpr std::array kSettings = {
    number<&TransformOptions::restart_mcus>("restart_mcus"),
    number<&TransformOptions::short_side>("short_side"),
    number<&TransformOptions::quality>("quality"),
    choice<&TransformOptions::chroma, kChromaNames>("chroma"),
    number<&TransformOptions::size>("size"),
    choice<&TransformOptions::fit, kFitNames>("fit"),
    choice<&TransformOptions::codec, kCodecNames>("codec"),
};

constexpr std::array<std::string_view, 1> kRoiUses = {"restart_mcus"};
constexpr std::array<std::string_view, 4> kResizeUses = {"short_side", "quality", "chroma",
                                                         "restart_mcus"};
constexpr std::array<std::string_view, 1> kLosslessUses = {"codec"};
constexpr std::array<std::string_view, 2> kRawUses = {"size", "fit"};

const Setting* find_setting(std::string_view name) {
  const auto* found = std::ranges::find(kSettings, name, &Setting::name);
  return found != kSettings.end() ? found : nullptr;
}

/// Restart markers and the table take a few percent of a photo, more of a small or flat picture;
/// headers come on top.
std::uint64_t roi_estimate(const TransformOptions& options, std::uint64_t input) {
  return input + input / (options.restart_mcus < 4 ? 4 : 8) + 1024;
}

/// Pictures no larger than asked for keep their size. The others have about 4/3 of the square's
/// pixels, and quality 100 takes less than four bytes a pixel.
std::uint64_t resize_estimate(const TransformOptions& options, std::uint64_t input) {
  const auto side = static_cast<std::uint64_t>(options.short_side);
  return std::min(roi_estimate(options, input),
                  side * side * (options.quality > 95 ? 4 : 2) + 1024);
}

/// Compressed files become larger, all others smaller.
std::uint64_t lossless_estimate(const TransformOptions&, std::uint64_t input) {
  return 3 * input + 1024;
}

std::uint64_t raw_estimate(const TransformOptions& options, std::uint64_t) {
  const auto side = static_cast<std::uint64_t>(options.size);
  return side * side * 3;
}

constexpr std::array kTransforms = {
    TransformKind{.name = "original",
                  .summary = "the source's bytes, unchanged",
                  .make = [](const TransformOptions&) -> std::unique_ptr<Transform> {
                    return std::make_unique<Original>();
                  },
                  .estimate = [](const TransformOptions&, std::uint64_t input) { return input; },
                  .keeps = true},
    TransformKind{
        .name = "roi",
        .summary = "the same pixels, stored so that a crop of a JPEG can be decoded alone",
        .make = transforms::make_roi,
        .uses = kRoiUses,
        .estimate = roi_estimate},
    TransformKind{.name = "resize",
                  .summary = "upright JPEGs with a given short side, stored as with roi",
                  .make = transforms::make_resize,
                  .uses = kResizeUses,
                  .estimate = resize_estimate,
                  .decodes = true},
    TransformKind{
        .name = "lossless",
        .summary = "JPEGs unchanged, all other images as PNG or WebP with the same pixels",
        .make = transforms::make_lossless,
        .uses = kLosslessUses,
        .estimate = lossless_estimate},
    TransformKind{.name = "raw",
                  .summary = "upright decoded pixels of one size: nothing to decode when reading",
                  .make = transforms::make_raw,
                  .uses = kRawUses,
                  .estimate = raw_estimate,
                  .makes_pixels = true,
                  .decodes = true},
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
    const Setting* setting = find_setting(name);
    if (setting != nullptr && setting->parse(options, value)) continue;
    throw Error(ErrorKind::kUnsupported, "the image setting '" + word + "' is unknown", {},
                "use the version of packhorse that packed it");
  }
  return options;
}

bool TransformKind::uses_setting(std::string_view setting) const {
  return std::ranges::find(uses, setting) != uses.end();
}

std::string TransformKind::settings(const TransformOptions& options) const {
  std::string text;
  for (const std::string_view setting : uses) {
    text += (text.empty() ? "" : " ") + std::string(setting) + '=' +
            find_setting(setting)->text(options);
  }
  return text;
}

std::span<const TransformKind> all_transforms() { return kTransforms; }

const TransformKind& keeping_transform() {
  return *std::ranges::find_if(kTransforms, &TransformKind::keeps);
}

const TransformKind& pixel_transform() {
  return *std::ranges::find_if(kTransforms, &TransformKind::makes_pixels);
}

void refuse_unused_setting(const TransformKind& mode, std::string_view setting) {
  if (mode.uses_setting(setting)) return;
  std::string users;
  for (const TransformKind& kind : all_transforms()) {
    if (kind.uses_setting(setting))
      users += (users.empty() ? "" : " or ") + opt("image", kind.name);
  }
  throw Error(ErrorKind::kUsage, opt(setting) + " has no effect with " + opt("image", mode.name),
              {}, "leave it out, or give " + users);
}

const TransformKind& find_transform(std::string_view name) {
  std::vector<std::string> names;
  for (const TransformKind& kind : all_transforms()) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  throw Error(ErrorKind::kUsage, "there is no image mode '" + std::string(name) + "'", {},
              choice_advice(name, names));
}

}  // namespace packhorse
