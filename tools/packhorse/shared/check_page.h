#pragma once

#include <string>

#include "packhorse/checking/check.h"

namespace packhorse {

/// An HTML page that needs nothing else, no network and no scripts: the counts, and each finding
/// with what it means and pictures of its examples.
std::string check_page(const std::string& source, const CheckReport& report);

}  // namespace packhorse
