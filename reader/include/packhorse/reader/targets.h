#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/reader/detection_augment.h"
#include "packhorse/reader/geometry.h"
#include "packhorse/targets/class_set.h"
#include "packhorse/targets/label_image.h"
#include "packhorse/targets/objects.h"

/// The targets of an image, moved with its pixels.
namespace packhorse::reader {

/// Which objects of a sample stay, and how.
struct TargetRules {
  enum class Masks : std::uint8_t {
    kAsStored,    ///< polygons with their corners moved, run lengths as kRunLengths
    kRunLengths,  ///< every mask in output pixels: each is inside where the stored pixel nearest to
                  ///< its centre is, as torchvision's nearest-exact
  };
  /// Boxes are cut at the visible edge. A box is dropped if less than this is left: pixels of
  /// either side, and share of the box's area.
  double min_side = 1, min_visible = 0;
  Masks masks = Masks::kAsStored;
  /// Throws Error(kUsage).
  void validate() const;
};

/// What a sample has besides its label, as it is stored.
struct StoredTargets {
  Objects objects;
  ClassSet classes;
  std::string caption;
  std::optional<LabelImage> mask;
};

/// The targets of a sample of one image or several, in pixels of the output. A sample of several
/// images has the classes of all, with the highest score of each, and their captions, a line each.
struct PlacedTargets {
  Objects objects;
  ClassSet classes;
  std::string caption;
  std::span<std::uint8_t> mask = {};  ///< a byte a pixel; empty: there are no masks
};

/// What the samples of a batch have, one sample after the other, in pixels of the output: sample i
/// has the objects [offsets[i], offsets[i + 1]), and so on. What the dataset has no target for is
/// empty.
struct BatchTargets {
  Objects objects;
  std::vector<std::uint32_t> offsets = {0};
  ClassSet classes;
  std::vector<std::uint32_t> class_offsets = {0};
  std::string captions;
  std::vector<std::uint32_t> caption_offsets = {0};
  std::vector<std::uint8_t> masks = {};  ///< [size, height, width]: labels of the pixels
};

/// Boxes of a stored picture, in pixels of the upright one: what plan_picture() wants.
std::vector<Rect> upright_boxes(const Objects& objects, const ImageInfo& info);

/// The objects of a stored picture, all of them and uncut, in pixels of the upright one. Throws
/// Error(kCorrupt) for run lengths of another picture.
Objects upright(Objects objects, const ImageInfo& info);

/// Adds the objects of a stored picture to those of a sample, where `plan` puts them. Boxes become
/// those around their four corners. Areas are multiplied by the part of the box that is seen and by
/// what its pixels are scaled by. Polygons are cut at the edge of Placement::shown. Keypoints that
/// are not visible get visibility 0. Mirroring does not exchange left and right keypoints: the
/// caller must do that. `info` is Decoder::header() of the picture. Throws Error(kCorrupt) for run
/// lengths of another picture, Error(kUnsupported) for polygons far outside it.
void add_objects(const Objects& objects, const ImageInfo& info, const PicturePlan& plan,
                 ImageSize output, const TargetRules& rules, Objects& to);
/// Adds all of them, as they are: objects that add_objects() made.
void append(const Objects& objects, Objects& to);
/// Takes away the pixels that other objects now cover: `cover`, a mask of the output. Masks are run
/// lengths; their boxes become those around what is left, and objects of which nothing is left go.
void cover_objects(Objects& objects, std::span<const std::uint32_t> cover, ImageSize output);
/// Adds what a stored picture has, its objects as above, to a sample.
void add_targets(const StoredTargets& stored, const ImageInfo& info, const PicturePlan& plan,
                 ImageSize output, const TargetRules& rules, PlacedTargets& to);
/// Adds classes and caption of another sample.
void add_words(const ClassSet& classes, const std::string& caption, PlacedTargets& to);
/// Removes everything, and sets masks to the label `ignored`; keeps the memory.
void clear(Objects& objects);
void clear(PlacedTargets& targets, std::uint8_t ignored);

}  // namespace packhorse::reader
