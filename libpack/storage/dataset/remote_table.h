#pragma once

#include <span>

#include "base/option.h"
#include "packhorse/storage/remote.h"

namespace packhorse {

/// A row for each option of storage that programs offer their users: the command line, Python's
/// keywords and docs/remote.md are made from them (scripts/options).
using RemoteOption = OptionOf<RemoteOptions>;
std::span<const RemoteOption> remote_options();

}  // namespace packhorse
