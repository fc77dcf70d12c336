#include "dataset.h"

#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "codecs/band_rows.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"
#include "packhorse/reader/pixel_format.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
using reader::Dataset;

std::size_t checked_sample(const Dataset& dataset, std::int64_t index) {
  MappedFile::arm();
  const auto size = static_cast<std::int64_t>(dataset.size());
  if (index < -size || index >= size)
    throw nb::index_error(
        ("sample " + std::to_string(index) + " of " + std::to_string(size)).c_str());
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

reader::Decoder& thread_decoder() {
  constexpr std::size_t kMostKept = 64u << 20;
  thread_local reader::Decoder kept;
  if (kept.kept_bytes() > kMostKept) kept = reader::Decoder();
  return kept;
}

namespace {

nb::bytes read(const Dataset& dataset, std::int64_t index) {
  const std::size_t sample = checked_sample(dataset, index);
  const std::vector<std::byte> bytes = call_that_may_wait(dataset.from_afar(), [&] {
    std::vector<std::byte> read;
    dataset.read(sample, read);
    return read;
  });
  return nb::bytes(bytes.data(), bytes.size());
}

/// Height and width of what `augment` makes, if it makes sense.
std::pair<int, int> size_of(const reader::Augment& augment) {
  reader::validate(augment);
  const reader::ImageSize size = reader::output_size(augment);
  return {size.height, size.width};
}

BytesLease view(const Dataset& dataset, std::size_t sample, std::vector<std::byte>& scratch) {
  return call_that_may_wait(dataset.from_afar(), [&] { return dataset.view(sample, scratch); });
}

nb::ndarray<nb::numpy, std::uint8_t> decode(const Dataset& dataset, std::int64_t index,
                                            const std::optional<reader::Augment>& augment,
                                            std::uint64_t seed, std::uint64_t epoch) {
  const std::size_t sample = checked_sample(dataset, index);
  std::vector<std::uint8_t> pixels;
  int width = 0, height = 0;
  try {
    std::vector<std::byte> scratch;
    const BytesLease lease = view(dataset, sample, scratch);
    const OthersRun others_run;
    const Bytes bytes = lease.bytes;
    if (augment) {
      std::tie(height, width) = size_of(*augment);
      pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
      thread_decoder().decode(bytes, *augment, reader::SampleRandom(seed, epoch, sample), pixels,
                              dataset.image(sample));
    } else {
      thread_decoder().decode_full(bytes, pixels, width, height, dataset.image(sample));
    }
    dataset.check_whole(sample);
  } catch (const Error& error) {
    throw reader::error_at(dataset, sample, error);
  }
  return to_numpy(std::move(pixels),
                  {static_cast<std::size_t>(height), static_cast<std::size_t>(width), 3});
}

/// An array of the numbers that `bits` are stored as.
nb::ndarray<nb::numpy> as_stored(std::vector<float> values, const BandLayout& layout,
                                 const std::vector<std::size_t>& shape) {
  if (layout.is_float()) return nb::ndarray<nb::numpy>(to_numpy(std::move(values), shape));
  const bool wide = layout.bits == 16;
  std::vector<std::uint8_t> numbers(values.size() * (wide ? 2 : 1));
  reader::write_bands(values, shape.back(),
                      {.type = wide ? reader::PixelType::kUint16 : reader::PixelType::kUint8},
                      numbers);
  if (!wide) return nb::ndarray<nb::numpy>(to_numpy(std::move(numbers), shape));
  std::vector<std::uint16_t> samples(values.size());
  std::memcpy(samples.data(), numbers.data(), numbers.size());
  return nb::ndarray<nb::numpy>(to_numpy(std::move(samples), shape));
}

/// The bands with these numbers, or all of them.
nb::ndarray<nb::numpy> decode_bands(const Dataset& dataset, std::int64_t index,
                                    const std::optional<reader::Augment>& augment,
                                    std::uint64_t seed, std::uint64_t epoch,
                                    const std::vector<int>& bands) {
  const std::size_t sample = checked_sample(dataset, index);
  std::vector<std::uint8_t> pixels;
  BandLayout layout;
  std::size_t count = 0;
  int width = 0, height = 0;
  try {
    std::vector<std::byte> scratch;
    const BytesLease lease = view(dataset, sample, scratch);
    const OthersRun others_run;
    const Bytes bytes = lease.bytes;
    const ImageInfo known = dataset.image(sample);
    layout = band_layout(bytes, reader::Decoder().header(bytes, known));
    reader::DecodeOptions options;
    options.bands = {.numbers = bands.empty() ? all_bands(layout) : bands, .bits = layout.bits};
    count = options.bands.numbers.size();
    reader::Decoder decoder(options);
    if (augment) {
      std::tie(height, width) = size_of(*augment);
      pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                    decoder.bytes_of_pixel());
      decoder.decode(bytes, *augment, reader::SampleRandom(seed, epoch, sample), pixels, known);
    } else {
      decoder.decode_full(bytes, pixels, width, height, known);
    }
    dataset.check_whole(sample);
  } catch (const Error& error) {
    throw reader::error_at(dataset, sample, error);
  }
  std::vector<float> values(pixels.size() / sizeof(float));
  std::memcpy(values.data(), pixels.data(), pixels.size());
  return as_stored(std::move(values), layout,
                   {static_cast<std::size_t>(height), static_cast<std::size_t>(width), count});
}

std::int64_t label(const Dataset& dataset, std::int64_t index) {
  const std::size_t sample = checked_sample(dataset, index);
  return call_that_may_wait(dataset.from_afar(), [&] {  // a shard may have to be opened
    const std::int64_t label = dataset.label(sample);
    dataset.check_whole(sample);
    return label;
  });
}

nb::ndarray<nb::numpy, std::int64_t> labels(const Dataset& dataset) {
  MappedFile::arm();
  auto all = call_that_may_wait(true, [&] {
    std::vector<std::int64_t> each(dataset.size());
    for (std::size_t i = 0; i < each.size(); ++i) {
      each[i] = dataset.label(i);
      dataset.check_whole(i);
      obey_stop();
    }
    return each;
  });
  const std::size_t size = all.size();
  return to_numpy(std::move(all), {size});
}

}  // namespace

void bind_dataset(nb::module_& module) {
  nb::class_<Dataset> made(module, "Dataset", "A packed dataset, open for reading; any thread");
  bind_dataset_targets(made);
  bind_dataset_views(made);
  made.def_static(
          "open",
          [](const nb::bytes& path, const std::string& split) {
            const std::string named(path.c_str(), path.size());
            return std::const_pointer_cast<Dataset>(
                call_that_may_wait(true, [&] { return Dataset::open(named, split); }));
          },
          "path"_a, "split"_a = "")
      .def("__len__", &Dataset::size)
      .def_prop_ro("id", &Dataset::id)
      .def_prop_ro("classes", &Dataset::classes)
      .def_prop_ro("format", &Dataset::format)
      .def_prop_ro("image_mode", &Dataset::image_mode)
      .def("label", &label)
      .def("labels", &labels, "The labels of all samples, int64")
      .def("describe", [](const Dataset& self,
                          std::int64_t i) { return self.describe(checked_sample(self, i)); })
      .def("read", &read, "The image's bytes, checked by their hash")
      .def("decode", &decode, "index"_a, "augment"_a = nb::none(), "seed"_a = 0, "epoch"_a = 0,
           "The image's pixels, uint8 [height, width, 3], upright")
      .def("decode_bands", &decode_bands, "index"_a, "augment"_a.none(), "seed"_a, "epoch"_a,
           "bands"_a, "Its samples as they are stored, [height, width, bands], upright");
}

}  // namespace packhorse::python
