#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/transforms/transform_options.h"
#include "targets/pixel_map.h"

namespace packhorse {

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

/// Those that libpack/transforms/transform.cc lists.
namespace packhorse::transforms {

std::unique_ptr<Transform> make_roi(const TransformOptions& options);
std::unique_ptr<Transform> make_resize(const TransformOptions& options);
std::unique_ptr<Transform> make_lossless(const TransformOptions& options);
std::unique_ptr<Transform> make_raw(const TransformOptions& options);

/// Throws Error(kUnsupported) when the image is decoded pixels: there is no file to work on.
void refuse_pixels(const ImageInfo& info, std::string_view mode);

}  // namespace packhorse::transforms
