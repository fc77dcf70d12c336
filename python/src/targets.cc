#include "packhorse/reader/targets.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "bindings.h"
#include "others_run.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse::python {

using namespace nb::literals;

namespace {

/// Arrays over the columns of objects. Offsets and counts are int32, which torch can work with: all
/// of them are below 2^31, since there is memory for what they count.
class ColumnArrays {
 public:
  explicit ColumnArrays(reader::BatchTargets targets)
      : targets_(new reader::BatchTargets(std::move(targets))),
        owner_(targets_, [](void* p) noexcept { delete static_cast<reader::BatchTargets*>(p); }) {}

  reader::BatchTargets& targets() { return *targets_; }

  template <class Number, class Value>
  void add(const char* name, std::vector<Value>& values, std::vector<std::size_t> shape) {
    static Number none = 0;  // an array needs an address
    import_numpy();
    auto* const data = values.empty() ? &none : reinterpret_cast<Number*>(values.data());
    made_[name] =
        nb::cast(nb::ndarray<nb::numpy, Number>(data, shape.size(), shape.data(), owner_));
  }
  template <class Value>
  void add_integers(const char* name, std::vector<Value>& values) {
    static_assert(sizeof(Value) == sizeof(std::int32_t));
    add<std::int32_t>(name, values, {values.size()});
  }
  void add_bytes(const char* name, const std::string& bytes) {
    made_[name] = nb::bytes(bytes.data(), bytes.size());
  }
  nb::dict take() { return std::move(made_); }

 private:
  reader::BatchTargets* targets_;
  nb::capsule owner_;
  nb::dict made_;
};

using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

/// The part of `values` that is owner i's. The arrays are the caller's, who may have changed them.
template <class Value>
std::span<const Value> part_of(const Integers& offsets, std::size_t i, const Value* values,
                               std::size_t size) {
  if (i + 1 >= offsets.size()) throw nb::value_error("targets: offsets are too few");
  const std::int32_t begin = offsets.data()[i], end = offsets.data()[i + 1];
  if (begin < 0 || begin > end || static_cast<std::size_t>(end) > size)
    throw nb::value_error("targets: an offset is beyond what it points into");
  return {values + begin, static_cast<std::size_t>(end - begin)};
}

/// What masks are drawn from.
struct Outlines {
  Integers polygons, points;
  Points outlines;
  Integers runs, counts;

  std::size_t objects() const { return runs.size() == 0 ? 0 : runs.size() - 1; }
  /// The run lengths of object i; none where it has neither polygons nor a mask.
  RunLengths mask(std::size_t i, MaskSize size) const {
    const auto own = part_of(runs, i, counts.data(), counts.size());
    if (!own.empty()) {
      const RunLengths made(own.begin(), own.end());
      check_run_lengths(made, size);
      return made;
    }
    std::vector<RunLengths> parts;
    for (const std::size_t p : owned_polygons(i)) {
      const auto corners =
          part_of(points, p, reinterpret_cast<const Point*>(outlines.data()), outlines.shape(0));
      parts.push_back(fill_polygon(corners, size));
    }
    return merge_masks(std::move(parts));
  }

 private:
  std::vector<std::size_t> owned_polygons(std::size_t i) const {
    const auto numbers = part_of(polygons, i, polygons.data(), points.size());
    std::vector<std::size_t> made(numbers.size());
    for (std::size_t p = 0; p < made.size(); ++p)
      made[p] = static_cast<std::size_t>(polygons.data()[i]) + p;
    return made;
  }
};

nb::ndarray<nb::numpy, std::uint8_t> draw_masks(Integers polygons, Integers points, Points outlines,
                                                Integers runs, Integers counts, std::size_t first,
                                                std::size_t last, std::uint32_t height,
                                                std::uint32_t width) {
  const Outlines from{std::move(polygons), std::move(points), std::move(outlines), std::move(runs),
                      std::move(counts)};
  const MaskSize size{height, width};
  if (first > last) throw nb::value_error("masks: the first is behind the last");
  if (last > from.objects()) throw nb::index_error("masks: there are not so many objects");
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(last - first, size.pixels(), &bytes) || bytes > PTRDIFF_MAX)
    throw nb::value_error("masks: they are too large");
  std::vector<std::uint8_t> pixels(bytes);
  {
    const OthersRun others_run;
    for (std::size_t i = first; i < last; ++i) {
      const RunLengths mask = from.mask(i, size);
      if (!mask.empty())
        draw_mask(mask, size,
                  std::span(pixels).subspan((i - first) * size.pixels(), size.pixels()));
    }
  }
  return to_numpy(std::move(pixels), {last - first, height, width});
}

}  // namespace

nb::dict target_arrays(reader::BatchTargets targets, std::size_t each) {
  ColumnArrays made(std::move(targets));
  Objects& all = made.targets().objects;
  const std::size_t n = all.size();
  if (!all.keypoints_each.empty()) each = all.keypoints_each.front();
  all.keypoints.resize(n * each);
  made.add<float>("boxes", all.boxes, {n, 4});
  made.add_integers("labels", all.labels);
  made.add<std::uint8_t>("flags", all.flags, {n});
  made.add<float>("areas", all.areas, {n});
  made.add_integers("offsets", made.targets().offsets);
  made.add_integers("polygons", all.polygons);
  made.add_integers("points", all.points);
  made.add<double>("outlines", all.outlines, {all.outlines.size(), 2});
  made.add_integers("runs", all.runs);
  made.add_integers("counts", all.counts);
  if (each > 0) made.add<float>("keypoints", all.keypoints, {n, each, 3});
  reader::BatchTargets& others = made.targets();
  made.add_integers("class_offsets", others.class_offsets);
  made.add_integers("class_labels", others.classes.labels);
  made.add<float>("class_scores", others.classes.scores, {others.classes.scores.size()});
  made.add_integers("caption_offsets", others.caption_offsets);
  made.add_bytes("captions", others.captions);
  made.add<std::uint8_t>("masks", others.masks, {others.masks.size()});
  return made.take();
}

void bind_targets(nb::module_& module) {
  module.def("draw_masks", &draw_masks, "polygons"_a, "points"_a, "outlines"_a, "runs"_a,
             "counts"_a, "first"_a, "last"_a, "height"_a, "width"_a,
             "The masks of the objects [first, last), uint8 [n, height, width] of 0 and 1");
}

}  // namespace packhorse::python
