#pragma once

#include <string>
#include <utility>
#include <vector>

namespace packhorse {

/// The libraries that decode images and their versions, for reports: pixels depend on them.
std::vector<std::pair<std::string, std::string>> codec_versions();

}  // namespace packhorse
