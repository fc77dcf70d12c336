#include <mutex>
#include <nlohmann/json.hpp>

#include "others_run.h"
#include "pack_bindings.h"
#include "packhorse/base/error.h"
#include "packhorse/packing/dataset_writer.h"
#include "reports/reports.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;

namespace {

using Label = std::variant<std::int64_t, std::string>;
using OptionalObjects = std::optional<nb::dict>;
using Caption = std::optional<std::string>;
using Fields = std::vector<std::pair<std::string, nb::bytes>>;
using Pixels = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

/// What a sample has besides its image, but its objects. Owns nothing: the arguments live until
/// add() returns.
NewSample sample_of(const Label& label, const Fields& fields, std::vector<Field>& views,
                    const std::string& key, const nb::bytes& path, const std::string& split) {
  NewSample sample;
  if (const auto* name = std::get_if<std::string>(&label)) {
    sample.label = std::string_view(*name);
  } else {
    sample.label = std::get<std::int64_t>(label);
  }
  for (const auto& [name, bytes] : fields) views.push_back({name, as_bytes(view(bytes))});
  sample.fields = views;
  sample.key = key;
  sample.path = view(path);
  sample.split = split;
  return sample;
}

/// A DatasetWriter that threads may share.
class Writer {
 public:
  Writer(const nb::bytes& out, const nb::dict& given, ObjectNames objects) {
    const std::filesystem::path path = path_of(out);
    PackOptions options = pack_options_of(given_options(given, OptionTaker::kWriter));
    rejects_ = options.max_rejects;
    const OthersRun others_run;
    writer_.emplace(path, std::move(options), std::move(objects));
  }

  void add(const nb::bytes& image, const Label& label, const Fields& fields, const std::string& key,
           const nb::bytes& path, const std::string& split, const OptionalObjects& objects,
           const Caption& caption) {
    std::vector<Field> views;
    NewSample sample = sample_of(label, fields, views, key, path, split);
    sample.image = as_bytes(view(image));
    append(sample, objects, caption);
  }

  void add_pixels(const Pixels& pixels, const Label& label, const Fields& fields,
                  const std::string& key, const nb::bytes& path, const std::string& split,
                  const OptionalObjects& objects, const Caption& caption) {
    std::vector<Field> views;
    NewSample sample = sample_of(label, fields, views, key, path, split);
    sample.image = std::as_bytes(std::span(pixels.data(), pixels.size()));
    sample.pixels = NewSample::PixelShape{side(pixels, 1), side(pixels, 0), channels(pixels)};
    append(sample, objects, caption);
  }

  std::uint64_t size() {
    const OthersRun others_run;
    const std::scoped_lock lock(mutex_);
    return writer_->size();
  }

  std::pair<std::string, std::uint64_t> finish(const nb::object& progress) {
    return watched_call(progress, [&](Progress& done) {
      const std::scoped_lock lock(mutex_);
      const PackReport report = writer_->finish(&done);
      return std::pair(json_text(to_json(report)), rejects_.allowed(report.accounting.seen));
    });
  }

  void abandon() {
    const OthersRun others_run;
    const std::scoped_lock lock(mutex_);
    writer_->abandon();
  }

 private:
  void append(NewSample& sample, const OptionalObjects& given, const Caption& caption) {
    GivenObjects objects;
    sample.caption = caption;
    if (given) {
      objects = given_objects(*given);
      sample.objects = &objects.objects;
      sample.masks = objects.masks;
    }
    const OthersRun others_run;
    const std::scoped_lock lock(mutex_);
    writer_->add(sample);
  }

  static std::uint32_t side(const Pixels& pixels, std::size_t axis) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(pixels.shape(axis), ~std::uint32_t{0}));
  }
  static std::uint8_t channels(const Pixels& pixels) {
    return pixels.ndim() == 2 ? 1 : static_cast<std::uint8_t>(pixels.shape(2));
  }

  std::mutex mutex_;
  std::optional<DatasetWriter> writer_;
  RejectLimit rejects_;
};

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<Writer>(module, "Writer", "Packs samples that are added one by one; any thread")
      .def(
          "__init__",
          [](Writer* self, const nb::bytes& out, const nb::dict& given,
             std::vector<std::string> object_classes, std::vector<std::string> keypoint_names) {
            new (self) Writer(out, given, {std::move(object_classes), std::move(keypoint_names)});
          },
          "out"_a, "given"_a, "object_classes"_a, "keypoint_names"_a)
      .def("add", &Writer::add, "image"_a, "label"_a, "fields"_a, "key"_a, "path"_a, "split"_a,
           "objects"_a.none(), "caption"_a.none(), "Adds a sample whose image is a file's bytes")
      .def("add_pixels", &Writer::add_pixels, "pixels"_a, "label"_a, "fields"_a, "key"_a, "path"_a,
           "split"_a, "objects"_a.none(), "caption"_a.none(),
           "Adds a sample of pixels uint8 [height, width] or [height, width, 3]")
      .def("size", &Writer::size, "Samples added so far; 0 after the end")
      .def("finish", &Writer::finish, "progress"_a.none(),
           "Packs and publishes: the report's JSON, and how many rejects were allowed")
      .def("abandon", &Writer::abandon, "Gives the dataset up; does nothing after finish()");
}

}  // namespace packhorse::python
