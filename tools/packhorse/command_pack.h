#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_pack_command();

inline constexpr program::CommandKind kPackCommand = {"pack", "Pack a folder of images into shards",
                                                      make_pack_command};

}  // namespace packhorse
