#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/packed_dataset.h"

/// What `packhorse inspect` says, as JSON for programs and as text for people.
namespace packhorse {

program::Json summary_json(const PackedDataset& dataset);
std::string summary_text(const PackedDataset& dataset);

program::Json sample_json(const PackedDataset& dataset, std::size_t sample);
/// "number  key  label  class  bytes  WxH  kind  path", separated by tabs.
std::string sample_line(const PackedDataset& dataset, std::size_t sample);

}  // namespace packhorse
