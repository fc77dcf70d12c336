#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_export_index_command();

inline constexpr program::CommandKind kExportIndexCommand = {
    "export-index", "Write the indexes other people's readers want beside tar shards",
    make_export_index_command};

}  // namespace packhorse
