#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/targets/pixel_map.h"

namespace packhorse {

/// Settings of the image modes; each mode looks at its own (TransformKind::uses).
struct TransformOptions {
  int restart_mcus = 4;  ///< roi, resize: MCUs between two restart markers, approximately
  int short_side = 256;  ///< resize: pixels of the shorter side; smaller images keep their size
  int quality = 90;      ///< resize: JPEG quality, 1 to 100
  enum class Chroma { kAsSource, k420 } chroma = Chroma::kAsSource;  ///< resize
  int size = 256;                                                    ///< raw: width and height
  enum class Fit { kCrop, kLetterbox } fit = Fit::kCrop;             ///< raw
  enum class Codec { kPng, kWebp } codec = Codec::kPng;  ///< lossless: what images become
  /// Throws Error(kUsage) naming the first setting that makes no sense.
  void validate() const;
  /// Parses the text that TransformKind::settings makes. Throws Error(kUnsupported) for settings
  /// this version does not know.
  static TransformOptions parse(std::string_view settings);
};

/// How settings are written.
inline constexpr std::array<std::pair<std::string_view, TransformOptions::Chroma>, 2> kChromaNames =
    {{{"source", TransformOptions::Chroma::kAsSource}, {"420", TransformOptions::Chroma::k420}}};
inline constexpr std::array<std::pair<std::string_view, TransformOptions::Fit>, 2> kFitNames = {
    {{"crop", TransformOptions::Fit::kCrop}, {"letterbox", TransformOptions::Fit::kLetterbox}}};
inline constexpr std::array<std::pair<std::string_view, TransformOptions::Codec>, 2> kCodecNames = {
    {{"png", TransformOptions::Codec::kPng}, {"webp", TransformOptions::Codec::kWebp}}};

/// What a transform made of an image.
struct Transformed {
  Bytes bytes;            ///< to store: the input itself, or a view of the buffer passed in
  std::string_view note;  ///< for the counts, e.g. "kept: not a JPEG"; a constant, or empty
  PixelMap map = {};      ///< where its pixels went
};

/// Turns an image's bytes into what the dataset stores: the modes of `--image`.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Returns what to store, and updates `info` to describe it. A pure function of its input; any
  /// thread. Throws Error(kCorrupt | kUnsupported) for an image it cannot decode; the image is then
  /// rejected with that message.
  virtual Transformed apply(Bytes input, ImageInfo& info, std::vector<std::byte>& output) const = 0;
};

struct TransformKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Transform> (*make)(const TransformOptions&);
  /// Names of the members of TransformOptions that shape the bytes; the mode ignores all others.
  std::span<const std::string_view> uses = {};
  /// The most bytes it may make of an image of `input` bytes, for the estimate of disk space.
  std::uint64_t (*estimate)(const TransformOptions&, std::uint64_t input);
  /// It changes nothing, so the images still have the mode they had before.
  bool keeps = false;
  /// It decodes image files into pixels (ImageKind::kRaw). Pixels can be kept, or made again with
  /// the same settings, which changes nothing; no mode makes anything else of them.
  bool makes_pixels = false;
  /// It stores no bytes of an image file, unless that is a JPEG: whatever file holds the pixels,
  /// the result is the same.
  bool decodes = false;

  bool uses_setting(std::string_view name) const;
  /// The settings it uses as text: "short_side=256 quality=90"; empty when there are none.
  std::string settings(const TransformOptions& options) const;
};

/// One line for each mode; feeds the help text and the manifest.
std::span<const TransformKind> all_transforms();
/// The mode that keeps every byte.
const TransformKind& keeping_transform();
/// The mode that makes pixels.
const TransformKind& pixel_transform();
/// Throws Error(kUsage) when `mode` does not use `setting`, which would then silently change
/// nothing.
void refuse_unused_setting(const TransformKind& mode, std::string_view setting);
/// Throws Error(kUsage) listing the valid names.
const TransformKind& find_transform(std::string_view name);

}  // namespace packhorse
