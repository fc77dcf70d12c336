#pragma once

#include <string>

namespace packhorse {

/// "0.1.0"
std::string version();

}  // namespace packhorse
