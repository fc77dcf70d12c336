#include "stored_pixels.h"

#include <limits>

#include "packhorse/error.h"

namespace packhorse {

void decode_stored(const PackedDataset& dataset, std::size_t sample, std::vector<std::byte>& bytes,
                   int least_side, const std::function<void(transforms::RowSource&)>& show) {
  constexpr int kFull = std::numeric_limits<int>::max();
  dataset.read(sample, bytes);
  const int side = least_side > 0 ? least_side : kFull;
  try {
    show(*transforms::open_rows(bytes, dataset.image(sample), side, side));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kUnsupported) throw;
    const PackedDataset::Place at = dataset.place(sample);
    throw Error(
        error.kind(), std::string("an image cannot be decoded: ") + error.what(),
        dataset.data_path(at.shard),
        "its bytes are those that were packed: mend or remove the source image and pack again",
        dataset.name_at(at));
  }
}

}  // namespace packhorse
