#include "packhorse/reader/augment.h"

#include <array>
#include <utility>

#include "bindings.h"
#include "packhorse/reader/pixel_augment.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::CenterCrop, reader::ColorJitter, reader::PadCrop, reader::PhotometricDistort,
    reader::RandomErasing, reader::RandomResizedCrop, reader::Resize, reader::ResizeCenterCrop;

namespace {

using Range = std::tuple<double, double>;

}  // namespace

void bind_augment(nb::module_& module) {
  nb::class_<RandomResizedCrop>(module, "RandomResizedCrop",
                                "torchvision's RandomResizedCrop and RandomHorizontalFlip(flip)")
      .def(
          "__init__",
          [](RandomResizedCrop* self, int size, Range scale, Range ratio, double flip) {
            new (self) RandomResizedCrop{.size = size,
                                         .min_scale = std::get<0>(scale),
                                         .max_scale = std::get<1>(scale),
                                         .min_ratio = std::get<0>(ratio),
                                         .max_ratio = std::get<1>(ratio),
                                         .flip = flip};
          },
          "size"_a = 224, nb::kw_only(), "scale"_a = Range{0.08, 1.0},
          "ratio"_a = Range{3.0 / 4.0, 4.0 / 3.0}, "flip"_a = 0.5)
      .def_ro("size", &RandomResizedCrop::size);
  nb::class_<ResizeCenterCrop>(module, "ResizeCenterCrop",
                               "torchvision's Resize(resize) and CenterCrop(size)")
      .def(
          "__init__",
          [](ResizeCenterCrop* self, int size, int resize) {
            new (self) ResizeCenterCrop{.resize = resize, .size = size};
          },
          "size"_a = 224, "resize"_a = 256)
      .def_ro("size", &ResizeCenterCrop::size);
  nb::class_<Resize>(
      module, "Resize",
      "torchvision's Resize((size, size)): the whole picture, without keeping its aspect ratio")
      .def(
          "__init__", [](Resize* self, int size) { new (self) Resize{size}; }, "size"_a = 224)
      .def_ro("size", &Resize::size);
  nb::class_<CenterCrop>(module, "CenterCrop",
                         "torchvision's CenterCrop(size): no scaling, black where there is nothing")
      .def(
          "__init__", [](CenterCrop* self, int size) { new (self) CenterCrop{size}; },
          "size"_a = 224)
      .def_ro("size", &CenterCrop::size);
  nb::class_<PadCrop>(
      module, "PadCrop",
      "Resize((size, size)), torchvision's RandomCrop(size, padding), RandomHorizontalFlip(flip)")
      .def(
          "__init__",
          [](PadCrop* self, int size, int padding, double flip) {
            new (self) PadCrop{size, padding, flip};
          },
          "size"_a = 32, "padding"_a = 4, nb::kw_only(), "flip"_a = 0.5)
      .def_ro("size", &PadCrop::size);
  nb::class_<ColorJitter>(module, "ColorJitter", "torchvision's ColorJitter, on uint8")
      .def(
          "__init__",
          [](ColorJitter* self, double brightness, double contrast, double saturation, double hue) {
            new (self) ColorJitter{brightness, contrast, saturation, hue};
          },
          "brightness"_a = 0, "contrast"_a = 0, "saturation"_a = 0, "hue"_a = 0);
  nb::class_<PhotometricDistort>(module, "PhotometricDistort",
                                 "torchvision's RandomPhotometricDistort, on uint8")
      .def(
          "__init__",
          [](PhotometricDistort* self, double p, Range brightness, Range contrast, Range saturation,
             Range hue) {
            new (self) PhotometricDistort{p,
                                          std::get<0>(brightness),
                                          std::get<1>(brightness),
                                          std::get<0>(contrast),
                                          std::get<1>(contrast),
                                          std::get<0>(saturation),
                                          std::get<1>(saturation),
                                          std::get<0>(hue),
                                          std::get<1>(hue)};
          },
          "p"_a = 0.5, nb::kw_only(), "brightness"_a = Range{0.875, 1.125},
          "contrast"_a = Range{0.5, 1.5}, "saturation"_a = Range{0.5, 1.5},
          "hue"_a = Range{-0.05, 0.05});
  nb::class_<RandomErasing>(module, "RandomErasing",
                            "torchvision's RandomErasing; value is a colour of 0 to 255, or None "
                            "for noise")
      .def(
          "__init__",
          [](RandomErasing* self, double p, Range scale, Range ratio,
             std::optional<std::tuple<int, int, int>> value) {
            RandomErasing made{.probability = p,
                               .min_scale = std::get<0>(scale),
                               .max_scale = std::get<1>(scale),
                               .min_ratio = std::get<0>(ratio),
                               .max_ratio = std::get<1>(ratio)};
            if (value) {
              const auto [red, green, blue] = *value;
              for (const int level : {red, green, blue}) {
                if (level < 0 || level > 255) throw nb::value_error("value: levels are 0 to 255");
              }
              made.value = {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
                            static_cast<std::uint8_t>(blue)};
            } else {
              made.fill = RandomErasing::Fill::kNoise;
            }
            new (self) RandomErasing(made);
          },
          "p"_a = 0.5, nb::kw_only(), "scale"_a = Range{0.02, 0.33}, "ratio"_a = Range{0.3, 3.3},
          "value"_a.none() = std::make_tuple(0, 0, 0));
}

}  // namespace packhorse::python
