#include "bindings.h"
#include "packhorse/reader/detection_augment.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::DetectionAugment;

namespace {

using Range = std::tuple<double, double>;
using Pair = std::array<double, 2>;

DetectionAugment::Fit fit_of(const std::string& name) {
  if (name == "letterbox") return DetectionAugment::Fit::kLetterbox;
  if (name == "stretch") return DetectionAugment::Fit::kStretch;
  throw nb::value_error("fit: letterbox or stretch");
}

std::array<std::uint8_t, 3> color_of(const std::array<int, 3>& levels) {
  std::array<std::uint8_t, 3> made = {};
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (levels[i] < 0 || levels[i] > 255) throw nb::value_error("background: levels are 0 to 255");
    made[i] = static_cast<std::uint8_t>(levels[i]);
  }
  return made;
}

}  // namespace

/// The tuples have the fields of the structs in their order; packhorse.DetectionAugment names them.
void bind_detection(nb::module_& module) {
  nb::class_<DetectionAugment>(module, "DetectionAugment", "See packhorse.DetectionAugment")
      .def(
          "__init__",
          [](DetectionAugment* self, std::tuple<int, int> size, std::tuple<double, int> mosaic,
             std::tuple<double, Range> zoom_out, std::tuple<double, Range, Range, int> iou_crop,
             const std::string& fit, Range perspective,
             std::tuple<Pair, Pair, Pair, Pair, Pair> affine, double flip, double vertical_flip,
             double copy_paste, Range mixup, const std::array<int, 3>& background) {
            DetectionAugment made;
            made.size = {std::get<0>(size), std::get<1>(size)};
            made.mosaic = {std::get<0>(mosaic), std::get<1>(mosaic)};
            const Range sides = std::get<1>(zoom_out);
            made.zoom_out = {std::get<0>(zoom_out), std::get<0>(sides), std::get<1>(sides)};
            const auto& [crop_p, crop_scale, crop_ratio, tries] = iou_crop;
            made.crop = {crop_p,
                         std::get<0>(crop_scale),
                         std::get<1>(crop_scale),
                         std::get<0>(crop_ratio),
                         std::get<1>(crop_ratio),
                         tries};
            made.fit = fit_of(fit);
            made.perspective = {std::get<0>(perspective), std::get<1>(perspective)};
            const auto& [degrees, translate, scale, shear_x, shear_y] = affine;
            made.affine = {degrees, translate, scale[0], scale[1], shear_x, shear_y};
            made.flip = flip;
            made.vertical_flip = vertical_flip;
            made.copy_paste = {copy_paste};
            made.mixup = {std::get<0>(mixup), std::get<1>(mixup)};
            made.background = color_of(background);
            made.validate();
            new (self) DetectionAugment(made);
          },
          nb::kw_only(), "size"_a, "mosaic"_a, "zoom_out"_a, "iou_crop"_a, "fit"_a, "perspective"_a,
          "affine"_a, "flip"_a, "vertical_flip"_a, "copy_paste"_a, "mixup"_a, "background"_a);
}

}  // namespace packhorse::python
