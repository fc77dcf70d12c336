#pragma once

#include <functional>
#include <vector>

#include "codecs/band_rows.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse {

/// Receives the rows of an image and its header.
using ShowRows = std::function<void(ColourRows& rows, const ImageInfo& image)>;

/// Reads a sample into `bytes`, checks its hash, and shows its pixels as they are stored, before
/// any orientation. With `least_side` > 0 it decodes at the smallest size that is quick to decode
/// and has at least that many pixels on each side, where the image has them. Any thread, with
/// `bytes` of its own. Throws Error(kCorrupt), or Error(kUnsupported) for unusual samples and for
/// images beyond `limits`, naming shard and key.
void decode_stored(const PackedDataset& dataset, std::size_t sample, std::vector<std::byte>& bytes,
                   int least_side, const ImageLimits& limits, const ShowRows& show);
/// The same of all bands.
void decode_stored_bands(const PackedDataset& dataset, std::size_t sample,
                         std::vector<std::byte>& bytes, const ImageLimits& limits,
                         const std::function<void(BandRows&)>& show);

}  // namespace packhorse
