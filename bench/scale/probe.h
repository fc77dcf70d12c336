#pragma once

#include "common/program.h"

/// Datasets of very many samples: what they cost to open and to read, beside their number.
namespace packhorse::bench {

std::unique_ptr<program::Command> make_made();     ///< `make`
std::unique_ptr<program::Command> make_reading();  ///< `read`

}  // namespace packhorse::bench
