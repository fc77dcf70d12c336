#include <optional>

#include "pack_bindings.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse::python {

namespace {

using Boxes = nb::ndarray<const float, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Keypoints = nb::ndarray<const float, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;
using Corners = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

RunLengths run_lengths_of(const Mask& mask) {
  const std::size_t height = mask.shape(0), width = mask.shape(1);
  RunWriter writer;
  for (std::size_t x = 0; x < width; ++x) {
    for (std::size_t y = 0; y < height; ++y) writer.add(mask.data()[y * width + x] != 0, 1);
  }
  return std::move(writer).take();
}

std::uint32_t count(const auto& values) { return static_cast<std::uint32_t>(values.size()); }

/// Each object's mask: None, an array of pixels, or a list of polygons.
void take_masks(const nb::list& masks, GivenObjects& to) {
  Objects& all = to.objects;
  all.polygons = all.points = all.runs = {0};
  for (const nb::handle one : masks) {
    Mask mask;
    std::vector<Corners> polygons;
    if (nb::try_cast(one, mask, false)) {
      const MaskSize size = {static_cast<std::uint32_t>(mask.shape(0)),
                             static_cast<std::uint32_t>(mask.shape(1))};
      if (!all.counts.empty() && (size.height != to.masks.height || size.width != to.masks.width))
        throw nb::value_error("masks: those of one image have one size");
      to.masks = size;
      const RunLengths counts = run_lengths_of(mask);
      all.counts.insert(all.counts.end(), counts.begin(), counts.end());
    } else if (nb::try_cast(one, polygons, false)) {
      for (const Corners& corners : polygons) {
        for (std::size_t p = 0; p < corners.shape(0); ++p)
          all.outlines.push_back({corners.data()[2 * p], corners.data()[2 * p + 1]});
        all.points.push_back(count(all.outlines));
      }
    } else if (!one.is_none()) {
      throw nb::type_error("masks: an array of pixels, a list of polygons, or None");
    }
    all.polygons.push_back(count(all.points) - 1);
    all.runs.push_back(count(all.counts));
  }
}

template <class Value>
void take(const nb::dict& given, const char* name, Value& to) {
  if (given.contains(name)) to = nb::cast<Value>(given[name]);
}

}  // namespace

GivenObjects given_objects(const nb::dict& given) {
  GivenObjects made;
  Objects& all = made.objects;
  Boxes boxes;
  Keypoints keypoints;
  take(given, "boxes", boxes);
  for (std::size_t i = 0; i < boxes.shape(0); ++i) {
    const float* const box = boxes.data() + 4 * i;
    all.boxes.push_back({box[0], box[1], box[2], box[3]});
  }
  take(given, "labels", all.labels);
  take(given, "flags", all.flags);
  take(given, "areas", all.areas);
  take(given, "keypoints", keypoints);
  for (std::size_t i = 0; keypoints.is_valid() && i < keypoints.size(); i += 3) {
    const float* const point = keypoints.data() + i;
    all.keypoints.push_back({point[0], point[1], point[2]});
  }
  if (given.contains("masks")) take_masks(nb::cast<nb::list>(given["masks"]), made);
  return made;
}

}  // namespace packhorse::python
