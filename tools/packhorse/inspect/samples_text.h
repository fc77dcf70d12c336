#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/dataset/packed_dataset.h"

/// One sample, as --list and --show print it.
namespace packhorse::inspect {

program::Json sample_json(const PackedDataset& dataset, std::size_t sample);
/// "number  key  label  class  bytes  WxH  kind  path", separated by tabs.
std::string sample_line(const PackedDataset& dataset, std::size_t sample);
/// "?" for a label that has no name.
std::string class_name(const PackedDataset& dataset, std::int64_t label);

}  // namespace packhorse::inspect
