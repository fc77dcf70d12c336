#include "analysis/stored_pixels.h"

#include <limits>

#include "packhorse/base/error.h"

namespace packhorse {

void decode_stored(const PackedDataset& dataset, std::size_t sample, std::vector<std::byte>& bytes,
                   int least_side, const ImageLimits& limits, const ShowRows& show) {
  constexpr int kFull = std::numeric_limits<int>::max();
  dataset.read(sample, bytes);
  const int side = least_side > 0 ? least_side : kFull;
  try {
    const ImageInfo info = described_to_decode(bytes, dataset.image(sample), limits);
    show(*open_rows(bytes, info, side, side), info);
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

}  // namespace packhorse
