#pragma once

#include <string>

namespace packhorse::simulation {

/// The folder that is the disk of the world. Set before there are workers.
extern std::string disk_root;

}  // namespace packhorse::simulation
