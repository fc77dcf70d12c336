#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packhorse/reader/geometry.h"
#include "packhorse/reader/sample_random.h"

/// Augmentation of images with objects: whole images instead of crops, in rectangles of any size.
/// torchvision's definitions (transforms.v2), as pure functions of (seed, epoch, sample).
namespace packhorse::reader {

/// torchvision's RandomIoUCrop: a part of the picture that holds the centre of an object, and
/// overlaps one at least as much as one of seven values (IoU), drawn evenly: 0, .1, .3, .5, .7, .9,
/// or 1, which takes the whole picture. Objects whose centre is outside are dropped.
struct RandomIouCrop {
  double probability = 0;
  double min_scale = 0.3, max_scale = 1;  ///< of either side
  double min_ratio = 0.5, max_ratio = 2;  ///< width / height of the part's share of the picture
  int tries = 40;
};

/// torchvision's RandomZoomOut: the picture somewhere on a larger background of its shape.
struct RandomZoomOut {
  double probability = 0;
  double min_side = 1, max_side = 4;  ///< of the background, in sides of the picture
};

/// torchvision's RandomAffine, around the centre.
struct RandomAffine {
  using Range = std::array<double, 2>;
  Range degrees = {};  ///< turned clockwise, from the first to the second
  /// Moved by up to these shares of the output's width and height, either way, in whole pixels.
  std::array<double, 2> translate = {};
  double min_scale = 1, max_scale = 1;
  Range shear_x = {}, shear_y = {};  ///< degrees
};

/// torchvision's RandomPerspective.
struct RandomPerspective {
  double probability = 0;
  double distortion = 0.5;  ///< corners move inwards by up to this share of half a side
};

/// Several pictures at once (Bochkovskiy et al. 2020, arXiv:2004.10934), the others drawn from the
/// whole dataset. Each is fitted into a cell of the output's size.
///
/// 4: on a canvas of twice the output's sides they meet in a point that is drawn from its middle
/// half; what goes beyond the canvas is cut. 9: three by three cells, the sample itself in the
/// middle and the others against it, of which a window of twice the output's sides is drawn. The
/// canvas's middle becomes the output's.
struct Mosaic {
  double probability = 0;
  int pictures = 4;  ///< or 9
};

/// Copies objects of another sample, whole pictures of both augmented each by itself, onto this one
/// (Ghiasi et al. 2021, arXiv:2012.07177): each object with a mask with a probability of one half.
/// What they cover is taken from the masks below, whose boxes become those around the rest; objects
/// of which nothing is left are dropped. Objects without masks stay as they are.
struct CopyPaste {
  double probability = 0;
};

/// Adds another sample, augmented by itself, to this one: lambda x this + (1 - lambda) x the other,
/// lambda drawn from Beta(alpha, alpha). The objects of both stay (Zhang et al. 2019,
/// arXiv:1902.04103).
struct ObjectMixup {
  double probability = 0;
  double alpha = 32;
};

/// The steps in their order. By default: a letterbox.
struct DetectionAugment {
  enum class Fit : std::uint8_t {
    kLetterbox,  ///< the largest of its shape, in the middle
    kStretch,    ///< torchvision's Resize((height, width))
  };
  ImageSize size = {640, 640};  ///< of the output
  Mosaic mosaic = {};
  RandomZoomOut zoom_out = {};  ///< not in a mosaic
  RandomIouCrop crop = {};      ///< not in a mosaic
  Fit fit = Fit::kLetterbox;
  RandomPerspective perspective = {};
  RandomAffine affine = {};
  double flip = 0, vertical_flip = 0;  ///< probabilities
  CopyPaste copy_paste = {};
  ObjectMixup mixup = {};
  std::array<std::uint8_t, 3> background = {114, 114, 114};  ///< where there is no picture
  /// Throws Error(kUsage).
  void validate() const;
};

/// What RandomAffine drew: degrees, pixels.
struct AffineDraw {
  double angle = 0;  ///< clockwise
  double x = 0, y = 0;
  double scale = 1;
  double shear_x = 0, shear_y = 0;
};
AffineDraw draw_affine(const DetectionAugment& augment, SampleRandom random);
/// torchvision's matrix of it, around `centre`, which goes to `to`.
Matrix matrix_of(const AffineDraw& draw, Point centre, Point to);

/// Where RandomPerspective takes the centres of the corner pixels of a canvas, clockwise from the
/// top left; nothing where it does nothing.
std::optional<std::array<Point, 4>> draw_perspective(const DetectionAugment& augment,
                                                     SampleRandom random);

/// How many pictures become the sample: 1, or Mosaic::pictures.
std::size_t pictures_of(const DetectionAugment& augment, SampleRandom random);

/// Where picture `number` of the sample goes: 0 is the sample itself. `width` and `height` are
/// those of the upright picture, `boxes` its objects' in its pixels, for RandomIouCrop.
struct PicturePlan {
  Placement placement;
  bool is_tile = false;    ///< others lie beside it: pixels belong to the one on their centre
  bool by_centre = false;  ///< only objects whose centre is in Placement::shown stay
};
PicturePlan plan_picture(const DetectionAugment& augment, SampleRandom random, std::size_t number,
                         int width, int height, std::span<const Rect> boxes);

/// Gives all pixels one colour.
void fill(std::span<std::uint8_t> pixels, const std::array<std::uint8_t, 3>& color);

}  // namespace packhorse::reader
