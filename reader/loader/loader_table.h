#pragma once

#include <span>

#include "base/option.h"
#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// A row for each option that has a text. The command line, Python's keyword arguments and their
/// docs are made from them (scripts/options).
using LoaderOption = OptionOf<LoaderOptions>;
std::span<const LoaderOption> loader_options();

}  // namespace packhorse::reader
