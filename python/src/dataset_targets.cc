#include <algorithm>

#include "dataset.h"
#include "loader/targets_reader.h"
#include "packhorse/reader/targets.h"
#include "targets/pixel_map.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::Dataset;

namespace {

/// The columns that no object has, as a batch has them: nothing for each object, and areas of the
/// boxes.
void complete(Objects& objects) {
  const std::size_t n = objects.size();
  for (auto* offsets : {&objects.polygons, &objects.runs}) {
    if (offsets->empty()) offsets->assign(n + 1, 0);
  }
  if (objects.points.empty()) objects.points = {0};
  if (!objects.areas.empty()) return;
  for (const Box& box : objects.boxes)
    objects.areas.push_back((box.right - box.left) * (box.bottom - box.top));
}

/// The columns of the objects, and the height and width of their picture.
using ObjectsAndSize = std::tuple<nb::dict, std::uint32_t, std::uint32_t>;

ObjectsAndSize objects(const Dataset& dataset, std::int64_t index, bool turned) {
  const std::size_t sample = checked_sample(dataset, index);
  reader::BatchTargets made;
  ImageInfo info;
  std::size_t keypoints = 0;
  try {
    made.objects = call_that_may_wait(dataset.from_afar(), [&] {
      const reader::TargetsReader reader(dataset);
      if (!reader.has_objects())
        throw Error(ErrorKind::kUsage, "the dataset has no objects", {}, "pack it with targets=");
      std::vector<std::byte> scratch;
      info = thread_decoder().header(dataset.view(sample, scratch).bytes, dataset.image(sample));
      Objects objects = reader.read(sample, info, scratch).objects;
      if (turned) {
        objects = reader::upright(std::move(objects), info);
        if (info.orientation >= 5) std::swap(info.width, info.height);
      }
      dataset.check_whole(sample);
      keypoints = reader.keypoints();
      return objects;
    });
  } catch (const Error& error) {
    throw reader::error_at(dataset, sample, error);
  }
  complete(made.objects);
  made.offsets = {0, static_cast<std::uint32_t>(made.objects.size())};
  return {target_arrays(std::move(made), keypoints), info.height, info.width};
}

/// What is said of a sample beside its objects: "classes" and "scores", "caption", "mask".
nb::dict said(const Dataset& dataset, std::int64_t index, bool turned) {
  const std::size_t sample = checked_sample(dataset, index);
  reader::StoredTargets stored;
  try {
    stored = call_that_may_wait(dataset.from_afar(), [&] {
      const reader::TargetsReader reader(dataset);
      std::vector<std::byte> scratch;
      const ImageInfo info =
          thread_decoder().header(dataset.view(sample, scratch).bytes, dataset.image(sample));
      reader::StoredTargets read = reader.read(sample, info, scratch);
      if (turned && read.mask)
        read.mask = map_labels(*read.mask, upright_map(info), reader.ignored());
      dataset.check_whole(sample);
      return read;
    });
  } catch (const Error& error) {
    throw reader::error_at(dataset, sample, error);
  }
  nb::dict made;
  made["classes"] = stored.classes.labels;
  made["scores"] = stored.classes.scores;
  made["caption"] = nb::bytes(stored.caption.data(), stored.caption.size());
  if (!stored.mask) return made;
  const std::size_t height = stored.mask->height, width = stored.mask->width;
  made["mask"] = to_numpy(std::move(stored.mask->labels), {height, width});
  return made;
}

std::optional<nb::bytes> read_field(const Dataset& dataset, std::int64_t index,
                                    const std::string& name) {
  const std::size_t sample = checked_sample(dataset, index);
  const auto& fields = dataset.fields();
  const auto found = std::ranges::find(fields, name);
  if (found == fields.end()) throw nb::key_error(("no sample has a field '" + name + "'").c_str());
  std::vector<std::byte> bytes;
  const bool there = call_that_may_wait(dataset.from_afar(), [&] {
    const bool read =
        dataset.read_field(sample, static_cast<std::size_t>(found - fields.begin()), bytes);
    dataset.check_whole(sample);
    return read;
  });
  if (!there) return std::nullopt;
  return nb::bytes(bytes.data(), bytes.size());
}

nb::list targets(const Dataset& dataset) {
  nb::list made;
  for (const TargetRecord& target : dataset.targets()) {
    nb::dict one;
    one["name"] = target.name;
    one["kind"] = target.kind;
    one["text"] = target.text;
    one["classes"] = target.classes;
    one["keypoints"] = target.keypoints;
    if (target.ignore) one["ignore"] = *target.ignore;
    made.append(one);
  }
  return made;
}

}  // namespace

void bind_dataset_targets(nb::class_<Dataset>& dataset) {
  dataset.def_prop_ro("fields", &Dataset::fields)
      .def_prop_ro("targets", &targets, "What fields say of the samples, besides their labels")
      .def("read_field", &read_field, "index"_a, "name"_a,
           "A field's bytes, checked by their hash; None where the sample has none")
      .def("said", &said, "index"_a, "upright"_a,
           "What is said of a sample beside its objects: its classes, caption and mask")
      .def("objects", &objects, "index"_a, "upright"_a,
           "The columns of the objects, and their picture's height and width");
}

}  // namespace packhorse::python
