#include "packhorse/reader/detection_augment.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

// Random streams: one for each purpose.
constexpr std::uint64_t kMosaicDraw = 0x6d6f73, kZoomDraw = 0x7a6f6f, kCropDraw = 0x696f75,
                        kPerspectiveDraw = 0x706572, kAffineDraw = 0x616666, kFlipDraw = 0x666c69;

constexpr int kMaxSide = 16384;
constexpr int kOthersAround = 9;

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(ErrorKind::kUsage, what);
}

bool is_probability(double p) { return p >= 0 && p <= 1; }
bool is_range(double low, double high) { return low > 0 && low <= high && std::isfinite(high); }

bool happens(double probability, SampleRandom& random) {
  return random.uniform(0, 1) < probability;
}

bool is_mosaic(const DetectionAugment& augment, SampleRandom& random) {
  return happens(augment.mosaic.probability, random);
}

/// The canvas on which pictures are put, before `warp` takes it to the output.
struct Board {
  double width, height;
};

Board board_of(const DetectionAugment& augment, bool mosaic) {
  const double sides = mosaic ? 2 : 1;
  return {sides * augment.size.width, sides * augment.size.height};
}

/// From the canvas, whose middle becomes the output's.
Matrix affine_of(const DetectionAugment& augment, const Board& board, const SampleRandom& random) {
  return matrix_of(draw_affine(augment, random), {board.width / 2, board.height / 2},
                   {augment.size.width / 2.0, augment.size.height / 2.0});
}

Matrix perspective_of(const DetectionAugment& augment, const Board& board,
                      const SampleRandom& random) {
  const auto corners = draw_perspective(augment, random);
  if (!corners) return {};
  const double right = board.width - 1, bottom = board.height - 1;
  return Matrix::from_corners({{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}}, *corners);
}

Matrix draw_flips(const DetectionAugment& augment, SampleRandom random) {
  const bool x = happens(augment.flip, random), y = happens(augment.vertical_flip, random);
  return Matrix::affine(x ? -1 : 1, 0, x ? augment.size.width : 0, 0, y ? -1 : 1,
                        y ? augment.size.height : 0);
}

Matrix draw_warp(const DetectionAugment& augment, const Board& board, const SampleRandom& random) {
  return draw_flips(augment, random.stream(kFlipDraw)) * affine_of(augment, board, random) *
         perspective_of(augment, board, random);
}

/// Scales a picture, or a part of one, to whole pixels of a cell of the output's size.
struct Fitted {
  double width, height;
};

Fitted fit(const DetectionAugment& augment, double width, double height) {
  const auto [cell_height, cell_width] = augment.size;
  if (augment.fit == DetectionAugment::Fit::kStretch) {
    return {static_cast<double>(cell_width), static_cast<double>(cell_height)};
  }
  const double scale = std::min(cell_width / width, cell_height / height);
  const auto side = [&](double length, int most) {
    return std::clamp(std::nearbyint(length * scale), 1.0, static_cast<double>(most));
  };
  return {side(width, cell_width), side(height, cell_height)};
}

/// Puts `shown` of the picture, fitted, at (left, top) of the canvas.
Placement put(const Rect& shown, const Fitted& fitted, double left, double top) {
  Placement made{.shown = shown};
  made.scale_x = fitted.width / shown.width();
  made.scale_y = fitted.height / shown.height();
  made.move_x = left - shown.left * made.scale_x;
  made.move_y = top - shown.top * made.scale_y;
  return made;
}

double half_of(double rest) { return std::floor(rest / 2); }

/// RandomZoomOut.make_params: the background, in the picture's pixels.
Rect draw_zoom(const RandomZoomOut& zoom, int width, int height, SampleRandom random) {
  if (!happens(zoom.probability, random)) {
    return {0, 0, static_cast<double>(width), static_cast<double>(height)};
  }
  const double sides = random.uniform(zoom.min_side, zoom.max_side);
  const double canvas_width = std::floor(width * sides), canvas_height = std::floor(height * sides);
  const double left = std::floor((canvas_width - width) * random.uniform(0, 1));
  const double top = std::floor((canvas_height - height) * random.uniform(0, 1));
  return {-left, -top, canvas_width - left, canvas_height - top};
}

bool holds_centre(const Rect& part, const Rect& box) {
  const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  return part.left < x && x < part.right && part.top < y && y < part.bottom;
}

double overlap_over_union(const Rect& a, const Rect& b) {
  const Rect both = overlap(a, b);
  if (both.empty()) return 0;
  const double shared = both.width() * both.height();
  return shared / (a.width() * a.height() + b.width() * b.height() - shared);
}

/// RandomIoUCrop.make_params with `canvas` as the picture.
std::optional<Rect> draw_crop(const RandomIouCrop& crop, const Rect& canvas,
                              std::span<const Rect> boxes, SampleRandom random) {
  static constexpr std::array kOverlaps = {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
  if (boxes.empty() || !happens(crop.probability, random)) return std::nullopt;
  // Each round draws another overlap; torchvision goes on for ever.
  for (int round = 0; round < 1000; ++round) {
    const double least = kOverlaps[static_cast<std::size_t>(random.integer(kOverlaps.size()))];
    if (least >= 1) return std::nullopt;
    for (int attempt = 0; attempt < crop.tries; ++attempt) {
      const double share_x = random.uniform(crop.min_scale, crop.max_scale);
      const double share_y = random.uniform(crop.min_scale, crop.max_scale);
      const double width = std::floor(canvas.width() * share_x);
      const double height = std::floor(canvas.height() * share_y);
      const double ratio = width / height;
      if (!(ratio >= crop.min_ratio && ratio <= crop.max_ratio) || width < 1 || height < 1)
        continue;
      const double left = canvas.left + std::floor((canvas.width() - width) * random.uniform(0, 1));
      const double top = canvas.top + std::floor((canvas.height() - height) * random.uniform(0, 1));
      const Rect part{left, top, left + width, top + height};
      double best = -1;
      for (const Rect& box : boxes) {
        if (holds_centre(part, box)) best = std::max(best, overlap_over_union(part, box));
      }
      if (best >= least) return part;
    }
  }
  return std::nullopt;
}

PicturePlan plan_single(const DetectionAugment& augment, const SampleRandom& random, int width,
                        int height, std::span<const Rect> boxes) {
  const Rect picture{0, 0, static_cast<double>(width), static_cast<double>(height)};
  const Rect canvas = draw_zoom(augment.zoom_out, width, height, random.stream(kZoomDraw));
  const std::optional<Rect> part = draw_crop(augment.crop, canvas, boxes, random.stream(kCropDraw));
  const Rect used = part.value_or(canvas);
  const Fitted fitted = fit(augment, used.width(), used.height());
  PicturePlan plan{.placement = put(used, fitted, half_of(augment.size.width - fitted.width),
                                    half_of(augment.size.height - fitted.height)),
                   .by_centre = part.has_value()};
  plan.placement.shown = overlap(used, picture);
  return plan;
}

struct Corner {
  double x, y;
};

/// Where the four pictures meet: in the middle half of the canvas.
Corner draw_meeting_point(const DetectionAugment& augment, SampleRandom& random) {
  const auto draw = [&](int side) {
    const std::int64_t at = side / 2 + random.integer(side);
    return static_cast<double>(at);
  };
  const double x = draw(augment.size.width);
  return {x, draw(augment.size.height)};
}

/// The top left corner of picture `number` of four.
Corner corner_of_four(std::size_t number, const Fitted& fitted, const Corner& meeting) {
  const bool right = number % 2 == 1, below = number / 2 == 1;
  return {right ? meeting.x : meeting.x - fitted.width,
          below ? meeting.y : meeting.y - fitted.height};
}

/// The top left corner of picture `number` of nine: cells row by row, the sample itself in the
/// middle one, the others as near to it as their cells let them.
Corner corner_of_nine(const DetectionAugment& augment, std::size_t number, const Fitted& fitted,
                      SampleRandom& random) {
  static constexpr std::array<int, kOthersAround> kCells = {4, 0, 1, 2, 3, 5, 6, 7, 8};
  const double width = augment.size.width, height = augment.size.height;
  const auto window_x = static_cast<double>(random.integer(augment.size.width + 1));
  const auto window_y = static_cast<double>(random.integer(augment.size.height + 1));
  const int column = kCells[number] % 3, row = kCells[number] / 3;
  const auto within = [](int cell, double rest) {
    return cell == 0 ? rest : cell == 1 ? half_of(rest) : 0;
  };
  return {column * width + within(column, width - fitted.width) - window_x,
          row * height + within(row, height - fitted.height) - window_y};
}

PicturePlan plan_tile(const DetectionAugment& augment, SampleRandom random, std::size_t number,
                      int width, int height, const Board& board) {
  const Rect picture{0, 0, static_cast<double>(width), static_cast<double>(height)};
  const Fitted fitted = fit(augment, width, height);
  const Corner corner = augment.mosaic.pictures == 4
                            ? corner_of_four(number, fitted, draw_meeting_point(augment, random))
                            : corner_of_nine(augment, number, fitted, random);
  PicturePlan plan{.placement = put(picture, fitted, corner.x, corner.y), .is_tile = true};
  const Rect whole_board =
      around(plan.placement.to_canvas().inverse(), {0, 0, board.width, board.height});
  plan.placement.shown = overlap(picture, whole_board);
  return plan;
}

}  // namespace

void DetectionAugment::validate() const {
  require(size.width >= 1 && size.width <= kMaxSide && size.height >= 1 && size.height <= kMaxSide,
          "the output's height and width must be within 1 and 16384");
  require(is_probability(mosaic.probability) && is_probability(zoom_out.probability) &&
              is_probability(crop.probability) && is_probability(perspective.probability) &&
              is_probability(copy_paste.probability) && is_probability(mixup.probability) &&
              is_probability(flip) && is_probability(vertical_flip),
          "probabilities must be within 0 and 1");
  require(mixup.alpha > 0 && std::isfinite(mixup.alpha), "Mixup's alpha must be above 0");
  require(mosaic.pictures == 4 || mosaic.pictures == 9, "a mosaic has 4 or 9 pictures");
  require(zoom_out.min_side >= 1 && is_range(zoom_out.min_side, zoom_out.max_side),
          "the background's sides must be within 1 <= min <= max");
  require(is_range(crop.min_scale, crop.max_scale) && crop.max_scale <= 1,
          "the part's scale must be within 0 < min <= max <= 1");
  require(is_range(crop.min_ratio, crop.max_ratio) && crop.tries >= 1,
          "the part's ratio must be within 0 < min <= max, and tries 1 or more");
  require(perspective.distortion >= 0 && perspective.distortion <= 1,
          "the perspective's distortion must be within 0 and 1");
  const auto is_within = [](const RandomAffine::Range& range, double most) {
    return -most <= range[0] && range[0] <= range[1] && range[1] <= most;
  };
  require(is_within(affine.degrees, 360) && is_within(affine.shear_x, 89) &&
              is_within(affine.shear_y, 89),
          "the affine's degrees must be within 360, its shears within 89, either way");
  require(is_probability(affine.translate[0]) && is_probability(affine.translate[1]) &&
              is_range(affine.min_scale, affine.max_scale),
          "the affine's translation must be within 0 and 1, its scale within 0 < min <= max");
}

AffineDraw draw_affine(const DetectionAugment& augment, SampleRandom random) {
  const RandomAffine& affine = augment.affine;
  const ImageSize& output = augment.size;
  random = random.stream(kAffineDraw);
  AffineDraw draw;
  const auto within = [&](const RandomAffine::Range& range) {
    return random.uniform(range[0], range[1]);
  };
  draw.angle = within(affine.degrees);
  const double most_x = affine.translate[0] * output.width;
  const double most_y = affine.translate[1] * output.height;
  draw.x = std::nearbyint(random.uniform(-most_x, most_x));
  draw.y = std::nearbyint(random.uniform(-most_y, most_y));
  draw.scale = random.uniform(affine.min_scale, affine.max_scale);
  draw.shear_x = within(affine.shear_x);
  draw.shear_y = within(affine.shear_y);
  return draw;
}

Matrix matrix_of(const AffineDraw& draw, Point centre, Point to) {
  return Matrix::translation(to.x + draw.x, to.y + draw.y) *
         Matrix::turned(draw.angle, draw.scale, draw.shear_x, draw.shear_y) *
         Matrix::translation(-centre.x, -centre.y);
}

/// RandomPerspective.get_params.
std::optional<std::array<Point, 4>> draw_perspective(const DetectionAugment& augment,
                                                     SampleRandom random) {
  const RandomPerspective& perspective = augment.perspective;
  SampleRandom mosaic = random.stream(kMosaicDraw);
  random = random.stream(kPerspectiveDraw);
  if (!happens(perspective.probability, random)) return std::nullopt;
  const Board board = board_of(augment, is_mosaic(augment, mosaic));
  const auto width = static_cast<int>(board.width), height = static_cast<int>(board.height);
  const int half_width = width / 2, half_height = height / 2;
  const int inwards_x = static_cast<int>(perspective.distortion * half_width) + 1;
  const int inwards_y = static_cast<int>(perspective.distortion * half_height) + 1;
  const auto draw = [&](bool far, int side, int inwards) {
    const std::int64_t from = far ? side - inwards : 0;
    return static_cast<double>(from + random.integer(inwards));
  };
  std::array<Point, 4> to;
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].x = draw(i == 1 || i == 2, width, inwards_x);
    to[i].y = draw(i >= 2, height, inwards_y);
  }
  return to;
}

std::size_t pictures_of(const DetectionAugment& augment, SampleRandom random) {
  SampleRandom draws = random.stream(kMosaicDraw);
  return is_mosaic(augment, draws) ? static_cast<std::size_t>(augment.mosaic.pictures) : 1;
}

PicturePlan plan_picture(const DetectionAugment& augment, SampleRandom random, std::size_t number,
                         int width, int height, std::span<const Rect> boxes) {
  SampleRandom draws = random.stream(kMosaicDraw);
  const bool mosaic = is_mosaic(augment, draws);
  const Board board = board_of(augment, mosaic);
  PicturePlan plan = mosaic ? plan_tile(augment, draws, number, width, height, board)
                            : plan_single(augment, random, width, height, boxes);
  plan.placement.warp = draw_warp(augment, board, random);
  return plan;
}

void fill(std::span<std::uint8_t> pixels, const std::array<std::uint8_t, 3>& color) {
  if (color[0] == color[1] && color[1] == color[2]) {
    std::ranges::fill(pixels, color[0]);  // a memset
    return;
  }
  std::array<std::uint8_t, 192> pattern;  // whole pixels, and whole cache lines
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = color[i % color.size()];
  for (std::size_t at = 0; at < pixels.size(); at += pattern.size()) {
    std::copy_n(pattern.begin(), std::min(pattern.size(), pixels.size() - at),
                pixels.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace packhorse::reader
