#pragma once

#include "common/program.h"

namespace packhorse::program {

/// What one must know to read a figure: processor, cores this process may use, memory, kernel.
Json machine_json();

}  // namespace packhorse::program
