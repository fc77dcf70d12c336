#include "packhorse/reader/augment.h"

#include <array>
#include <utility>

#include "bindings.h"
#include "packhorse/reader/pixel_steps.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::CenterCrop, reader::PadCrop, reader::RandomResizedCrop, reader::Resize,
    reader::ResizeCenterCrop;

namespace {

using Range = std::tuple<double, double>;
using Image = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

/// What the first step of its name draws from.
reader::SampleRandom first_stream(const reader::PixelStep& step, std::uint64_t seed,
                                  std::uint64_t epoch, std::uint64_t sample) {
  return reader::stream_of({step}, 0, reader::SampleRandom(seed, epoch, sample));
}

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
      .def_ro("size", &RandomResizedCrop::size)
      .def("__repr__", [](const RandomResizedCrop& self) {
        return nb::str("RandomResizedCrop({}, scale=({}, {}), ratio=({}, {}), flip={})")
            .format(self.size, self.min_scale, self.max_scale, self.min_ratio, self.max_ratio,
                    self.flip);
      });
  nb::class_<ResizeCenterCrop>(module, "ResizeCenterCrop",
                               "torchvision's Resize(resize) and CenterCrop(size)")
      .def(
          "__init__",
          [](ResizeCenterCrop* self, int size, int resize) {
            new (self) ResizeCenterCrop{.resize = resize, .size = size};
          },
          "size"_a = 224, "resize"_a = 256)
      .def_ro("size", &ResizeCenterCrop::size)
      .def("__repr__", [](const ResizeCenterCrop& self) {
        return nb::str("ResizeCenterCrop({}, {})").format(self.size, self.resize);
      });
  nb::class_<Resize>(
      module, "Resize",
      "torchvision's Resize((size, size)): the whole picture, without keeping its aspect ratio")
      .def(
          "__init__", [](Resize* self, int size) { new (self) Resize{size}; }, "size"_a = 224)
      .def_ro("size", &Resize::size)
      .def("__repr__", [](const Resize& self) { return nb::str("Resize({})").format(self.size); });
  nb::class_<CenterCrop>(module, "CenterCrop",
                         "torchvision's CenterCrop(size): no scaling, black where there is nothing")
      .def(
          "__init__", [](CenterCrop* self, int size) { new (self) CenterCrop{size}; },
          "size"_a = 224)
      .def_ro("size", &CenterCrop::size)
      .def("__repr__",
           [](const CenterCrop& self) { return nb::str("CenterCrop({})").format(self.size); });
  nb::class_<PadCrop>(
      module, "PadCrop",
      "Resize((size, size)), torchvision's RandomCrop(size, padding), RandomHorizontalFlip(flip)")
      .def(
          "__init__",
          [](PadCrop* self, int size, int padding, double flip) {
            new (self) PadCrop{size, padding, flip};
          },
          "size"_a = 32, "padding"_a = 4, nb::kw_only(), "flip"_a = 0.5)
      .def_ro("size", &PadCrop::size)
      .def("__repr__", [](const PadCrop& self) {
        return nb::str("PadCrop({}, {}, flip={})").format(self.size, self.padding, self.flip);
      });
  using reader::PixelStep;
  nb::class_<PixelStep>(module, "PixelStep")
      .def(
          "__init__",
          [](PixelStep* self, const std::string& name,
             const std::vector<std::tuple<std::string, PixelStep::Value>>& given) {
            std::vector<PixelStep::Argument> arguments;
            for (const auto& [parameter, value] : given) arguments.push_back({parameter, value});
            new (self) PixelStep(name, arguments);
          },
          "name"_a, "arguments"_a)
      .def("__repr__", &PixelStep::text)
      .def(
          "explain",
          [](const PixelStep& self, int height, int width, std::uint64_t seed, std::uint64_t epoch,
             std::uint64_t sample) {
            return self.explain(width, height, first_stream(self, seed, epoch, sample));
          },
          "height"_a, "width"_a, nb::kw_only(), "seed"_a = 0, "epoch"_a = 0, "sample"_a = 0)
      .def(
          "__call__",
          [](const PixelStep& self, const Image& image, std::uint64_t seed, std::uint64_t epoch,
             std::uint64_t sample) {
            std::vector<std::uint8_t> pixels(image.data(), image.data() + image.size());
            self.apply(pixels, static_cast<int>(image.shape(1)),
                       first_stream(self, seed, epoch, sample));
            return to_numpy(std::move(pixels), {image.shape(0), image.shape(1), 3});
          },
          "image"_a.noconvert(), nb::kw_only(), "seed"_a = 0, "epoch"_a = 0, "sample"_a = 0);
  module.def("parse_pixel_steps", &reader::parse_pixel_steps, "text"_a);
  module.def("pixel_step_kinds", [] {
    nb::list kinds;
    for (const reader::PixelStepKind& kind : reader::all_pixel_steps()) {
      nb::list parameters;
      for (const auto& parameter : kind.parameters)
        parameters.append(nb::make_tuple(std::string(parameter.name), parameter.usual));
      kinds.append(nb::make_tuple(std::string(kind.name), std::string(kind.summary), parameters));
    }
    return kinds;
  });
}

}  // namespace packhorse::python
