#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::inspect {

/// The field that may hold captions: "caption" or "txt", unless that holds the text of objects. Its
/// place among the dataset's fields.
std::optional<std::size_t> caption_field(const PackedDataset& dataset);

/// The beginning of a sample's caption, as it is, on one line: each space is a single one. Empty
/// when the sample has none, or no text in its field. `bytes` is a buffer. Throws Error(kCorrupt |
/// kIo).
std::string read_caption(const PackedDataset& dataset, std::size_t field, std::size_t sample,
                         std::vector<std::byte>& bytes);

}  // namespace packhorse::inspect
