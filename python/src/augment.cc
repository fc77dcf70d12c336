#include "packhorse/reader/augment.h"

#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "packhorse/reader/pixel_steps.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::CenterCrop, reader::ImageSize, reader::Interpolation, reader::PadCrop,
    reader::RandomResizedCrop, reader::Resize, reader::ResizeCenterCrop;

namespace {

using Range = std::tuple<double, double>;
using Image = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

/// What the first step of its name draws from.
reader::SampleRandom first_stream(const reader::PixelStep& step, std::uint64_t seed,
                                  std::uint64_t epoch, std::uint64_t sample) {
  return reader::stream_of({step}, 0, reader::SampleRandom(seed, epoch, sample));
}

constexpr std::pair<std::string_view, Interpolation> kInterpolations[] = {
    {"bilinear", Interpolation::kBilinear},
    {"bicubic", Interpolation::kBicubic},
    {"random", Interpolation::kRandom}};

/// A keyword's value; throws TypeError that names the keyword.
template <class Value>
Value value_of(const nb::object& given, const char* name, const char* wanted) {
  Value value{};
  if (nb::try_cast(given, value)) return value;
  throw nb::type_error(nb::str("{}={!r}: give {}").format(name, given, wanted).c_str());
}

int pixels_of(const nb::object& given, const char* name) {
  return value_of<int>(given, name, "a whole number of pixels");
}

Range range_of(const nb::object& given, const char* name) {
  return value_of<Range>(given, name, "two numbers");
}

double share_of(const nb::object& given, const char* name) {
  return value_of<double>(given, name, "a number from 0 to 1");
}

/// Of both sides of the output, or of (height, width).
ImageSize size_of(const nb::object& given) {
  if (int side = 0; nb::try_cast(given, side)) return side;
  const auto [height, width] =
      value_of<std::tuple<int, int>>(given, "size", "a whole number of pixels, or (height, width)");
  return {height, width};
}

nb::object object_of(const ImageSize& size) {
  if (size.height == size.width) return nb::int_(size.height);
  return nb::make_tuple(size.height, size.width);
}

/// Of its name, or of torchvision's InterpolationMode.
Interpolation interpolation_of(const nb::object& given) {
  const nb::str words(nb::hasattr(given, "value") ? nb::object(given.attr("value")) : given);
  for (const auto& [name, interpolation] : kInterpolations)
    if (name == words.c_str()) return interpolation;
  throw nb::value_error(nb::str("interpolation={!r}: give \"bilinear\", \"bicubic\" or \"random\"")
                            .format(given)
                            .c_str());
}

std::string with_interpolation(const nb::object& text, Interpolation interpolation) {
  const std::string made = nb::cast<std::string>(text);
  if (interpolation == Interpolation::kBilinear) return made + ")";
  const auto name = kInterpolations[static_cast<std::size_t>(interpolation)].first;
  return made + ", interpolation='" + std::string(name) + "')";
}

nb::list repeated(const nb::object& crop, int times) {
  nb::list made;
  for (int i = 0; i < times; ++i) made.append(crop);
  return made;
}

/// A crop that is the same wherever one is used: `crop * 2` is a list of two, for `views=`.
template <class Crop, class Text>
nb::class_<Crop> bind_crop(nb::module_& module, const char* name, const char* doc,
                           const Text& text) {
  return nb::class_<Crop>(module, name, doc)
      .def_prop_ro("size", [](const Crop& self) { return object_of(self.size); })
      .def("__mul__", &repeated)
      .def("__rmul__", &repeated)
      .def("__repr__", [text](const Crop& self) {
        if constexpr (requires { self.interpolation; })
          return with_interpolation(text(self), self.interpolation);
        else
          return nb::cast<std::string>(text(self)) + ")";
      });
}

void bind_crops(nb::module_& module) {
  bind_crop<RandomResizedCrop>(
      module, "RandomResizedCrop",
      "torchvision's RandomResizedCrop and RandomHorizontalFlip(flip); size: of both sides, or "
      "(height, width)",
      [](const RandomResizedCrop& self) {
        return nb::str("RandomResizedCrop({}, scale=({}, {}), ratio=({}, {}), flip={}")
            .format(object_of(self.size), self.min_scale, self.max_scale, self.min_ratio,
                    self.max_ratio, self.flip);
      })
      .def(
          "__init__",
          [](RandomResizedCrop* self, const nb::object& size, const nb::object& scale,
             const nb::object& ratio, const nb::object& flip, const nb::object& interpolation) {
            const auto [min_scale, max_scale] = range_of(scale, "scale");
            const auto [min_ratio, max_ratio] = range_of(ratio, "ratio");
            new (self) RandomResizedCrop{.size = size_of(size),
                                         .min_scale = min_scale,
                                         .max_scale = max_scale,
                                         .min_ratio = min_ratio,
                                         .max_ratio = max_ratio,
                                         .flip = share_of(flip, "flip"),
                                         .interpolation = interpolation_of(interpolation)};
          },
          "size"_a = 224, "scale"_a = Range{0.08, 1.0}, "ratio"_a = Range{3.0 / 4.0, 4.0 / 3.0},
          nb::kw_only(), "flip"_a = 0.5, "interpolation"_a = "bilinear",
          nb::sig("def __init__(self, size: int | tuple[int, int] = 224, "
                  "scale: tuple[float, float] = (0.08, 1.0), "
                  "ratio: tuple[float, float] = (0.75, 1.3333333333333333), *, "
                  "flip: float = 0.5, interpolation: object = 'bilinear') -> None"));
  bind_crop<ResizeCenterCrop>(
      module, "ResizeCenterCrop", "torchvision's Resize(resize) and CenterCrop(size)",
      [](const ResizeCenterCrop& self) {
        return nb::str("ResizeCenterCrop({}, {}").format(object_of(self.size), self.resize);
      })
      .def(
          "__init__",
          [](ResizeCenterCrop* self, const nb::object& size, const nb::object& resize,
             const nb::object& interpolation) {
            new (self) ResizeCenterCrop{.resize = pixels_of(resize, "resize"),
                                        .size = size_of(size),
                                        .interpolation = interpolation_of(interpolation)};
          },
          "size"_a = 224, "resize"_a = 256, nb::kw_only(), "interpolation"_a = "bilinear",
          nb::sig("def __init__(self, size: int | tuple[int, int] = 224, resize: int = 256, *, "
                  "interpolation: object = 'bilinear') -> None"));
  bind_crop<Resize>(
      module, "Resize",
      "torchvision's Resize((height, width)): the whole picture, without keeping its aspect ratio",
      [](const Resize& self) { return nb::str("Resize({}").format(object_of(self.size)); })
      .def(
          "__init__",
          [](Resize* self, const nb::object& size, const nb::object& interpolation) {
            new (self) Resize{size_of(size), interpolation_of(interpolation)};
          },
          "size"_a = 224, nb::kw_only(), "interpolation"_a = "bilinear",
          nb::sig("def __init__(self, size: int | tuple[int, int] = 224, *, "
                  "interpolation: object = 'bilinear') -> None"));
  bind_crop<CenterCrop>(
      module, "CenterCrop",
      "torchvision's CenterCrop(size): no scaling, black where there is nothing",
      [](const CenterCrop& self) { return nb::str("CenterCrop({}").format(object_of(self.size)); })
      .def(
          "__init__",
          [](CenterCrop* self, const nb::object& size) { new (self) CenterCrop{size_of(size)}; },
          "size"_a = 224, nb::sig("def __init__(self, size: int | tuple[int, int] = 224) -> None"));
  bind_crop<PadCrop>(module, "PadCrop",
                     "Resize((height, width)), torchvision's RandomCrop(size, padding), "
                     "RandomHorizontalFlip(flip)",
                     [](const PadCrop& self) {
                       return nb::str("PadCrop({}, {}, flip={}")
                           .format(object_of(self.size), self.padding, self.flip);
                     })
      .def(
          "__init__",
          [](PadCrop* self, const nb::object& size, const nb::object& padding,
             const nb::object& flip, const nb::object& interpolation) {
            new (self) PadCrop{size_of(size), pixels_of(padding, "padding"), share_of(flip, "flip"),
                               interpolation_of(interpolation)};
          },
          "size"_a = 32, "padding"_a = 4, nb::kw_only(), "flip"_a = 0.5,
          "interpolation"_a = "bilinear",
          nb::sig("def __init__(self, size: int | tuple[int, int] = 32, padding: int = 4, *, "
                  "flip: float = 0.5, interpolation: object = 'bilinear') -> None"));
}

}  // namespace

void bind_augment(nb::module_& module) {
  bind_crops(module);
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
