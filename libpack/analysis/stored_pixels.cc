#include "analysis/stored_pixels.h"

#include "codecs/image_header.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

template <class Show>
void with_stored(const PackedDataset& dataset, std::size_t sample, std::vector<std::byte>& bytes,
                 const ImageLimits& limits, const Show& show) {
  dataset.read(sample, bytes);
  try {
    show(described_to_decode(bytes, dataset.image(sample), limits));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kUnsupported) throw;
    const PackedDataset::Place at = dataset.place(sample);
    const std::string of_image =
        "its bytes are as they were packed: fix or remove the source image, then pack again";
    throw Error(error.kind(), std::string("an image cannot be decoded: ") + error.what(),
                dataset.data_path(at.shard), error.advice().empty() ? of_image : error.advice(),
                dataset.name_at(at));
  }
}

}  // namespace

void decode_stored(const PackedDataset& dataset, std::size_t sample, std::vector<std::byte>& bytes,
                   int least_side, const ImageLimits& limits, const ShowRows& show) {
  with_stored(dataset, sample, bytes, limits, [&](const ImageInfo& info) {
    const int eighths = least_side > 0 ? decode_eighths(info, least_side, least_side) : 8;
    show(*open_colours(bytes, info, {.eighths = eighths}), info);
  });
}

void decode_stored_bands(const PackedDataset& dataset, std::size_t sample,
                         std::vector<std::byte>& bytes, const ImageLimits& limits,
                         const std::function<void(BandRows&)>& show) {
  with_stored(dataset, sample, bytes, limits, [&](const ImageInfo& info) {
    const std::vector<int> bands = all_bands(band_layout(bytes, info));
    show(*open_bands(bytes, info, {}, bands));
  });
}

}  // namespace packhorse
