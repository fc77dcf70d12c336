#pragma once

#include "common/program.h"

namespace packhorse::trainer {

std::unique_ptr<program::Command> make_measure_command();

inline constexpr program::CommandKind kMeasureCommand = {
    "measure", "Measure what packing gains: a folder against packed datasets of it",
    make_measure_command};

}  // namespace packhorse::trainer
