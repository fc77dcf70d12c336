#include "packhorse/reader/dataset_views.h"

#include <nanobind/stl/map.h>

#include "dataset.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/sampling.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::Dataset;

namespace {

/// nanobind has no pointers to what is const; nothing bound changes a dataset.
std::shared_ptr<Dataset> bound(std::shared_ptr<const Dataset> dataset) {
  return std::const_pointer_cast<Dataset>(std::move(dataset));
}

using Numbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<Dataset> subset(std::shared_ptr<Dataset> dataset, const Numbers& samples) {
  return bound(
      reader::subset(std::move(dataset), {samples.data(), samples.data() + samples.size()}));
}

std::shared_ptr<Dataset> concat(const std::vector<std::shared_ptr<Dataset>>& members,
                                bool join_classes) {
  using reader::ClassNames;
  return bound(reader::concat({members.begin(), members.end()},
                              join_classes ? ClassNames::kJoined : ClassNames::kApart));
}

/// Parts, part, held out, stratified.
using FoldOf = std::tuple<std::uint64_t, std::uint64_t, bool, bool>;

nb::ndarray<nb::numpy, std::uint64_t> choose(const Dataset& dataset,
                                             std::vector<std::string> classes, std::string keys,
                                             std::string paths, std::uint32_t min_side,
                                             const std::optional<FoldOf>& fold) {
  reader::Choice choice{.classes = std::move(classes),
                        .keys = std::move(keys),
                        .paths = std::move(paths),
                        .min_side = min_side};
  if (fold) {
    const auto [parts, part, held_out, stratified] = *fold;
    choice.fold = reader::Fold{parts, part, held_out, stratified};
  }
  MappedFile::arm();
  std::vector<std::uint64_t> chosen =
      call_that_may_wait(true, [&] { return reader::choose(dataset, choice); });
  const std::size_t size = chosen.size();
  return to_numpy(std::move(chosen), {size});
}

/// What of(i) is for all samples.
template <class Of>
auto column(const Dataset& dataset, const Of& of) {
  MappedFile::arm();
  return call_that_may_wait(true, [&] {
    std::vector<std::decay_t<decltype(of(std::size_t{}))>> values(dataset.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = of(i);
      dataset.check_whole(i);
      obey_stop();
    }
    return values;
  });
}

nb::object numbers(const Dataset& dataset, const std::string& name) {
  const auto array = [&](const auto& of) {
    auto values = column(dataset, of);
    const std::size_t size = values.size();
    return nb::cast(to_numpy(std::move(values), {size}));
  };
  if (name == "label") return array([&](std::size_t i) { return dataset.label(i); });
  if (name == "bytes") return array([&](std::size_t i) { return dataset.bytes(i); });
  if (name == "width")
    return array([&](std::size_t i) { return std::int64_t{dataset.image(i).width}; });
  if (name == "height")
    return array([&](std::size_t i) { return std::int64_t{dataset.image(i).height}; });
  if (name == "member")
    return array([&](std::size_t i) {
      return static_cast<std::int64_t>(reader::member_sample(dataset, i).member);
    });
  if (name == "key")
    return nb::cast(column(dataset, [&](std::size_t i) { return dataset.name(i); }));
  return nb::cast(column(dataset, [&](std::size_t i) { return dataset.source_path(i); }));
}

}  // namespace

void bind_dataset_views(nb::class_<Dataset>& dataset) {
  dataset.def_static("subset", &subset, "dataset"_a, "samples"_a, "The samples with these numbers")
      .def_static("concat", &concat, "members"_a, "join_classes"_a, "All as one")
      .def("choose", &choose, "classes"_a, "keys"_a, "paths"_a, "min_side"_a, "fold"_a.none(),
           "The numbers of the samples for which all of that holds")
      .def("column", &numbers, "name"_a,
           "Of all samples: label, bytes, width, height, member, key or path")
      .def("is_raw",
           [](const Dataset& self, std::int64_t i) {
             return self.image(checked_sample(self, i)).kind == ImageKind::kRaw;
           })
      .def("class_weights", [](const Dataset& self, const std::map<std::string, double>& by_name) {
        std::vector<double> weights = *reader::class_weights(self, by_name);
        const std::size_t size = weights.size();
        return to_numpy(std::move(weights), {size});
      });
}

}  // namespace packhorse::python
