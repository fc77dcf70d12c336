#pragma once

#include "bindings.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/decode.h"

namespace packhorse::python {

/// Sample numbers as Python's: negative ones count from the end. Throws IndexError. Python's other
/// libraries may have displaced our handler of bus errors since the last sample: puts it back.
std::size_t checked_sample(const reader::Dataset& dataset, std::int64_t index);
/// One for each thread: it keeps its buffers, up to a limit.
reader::Decoder& thread_decoder();
void bind_dataset_targets(nb::class_<reader::Dataset>& dataset);
void bind_dataset_views(nb::class_<reader::Dataset>& dataset);

}  // namespace packhorse::python
