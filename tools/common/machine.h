#pragma once

#include "common/program.h"

namespace packhorse::program {

/// What a figure must be read with: processor, cores this process may use, memory, kernel.
Json machine_json();

}  // namespace packhorse::program
