#pragma once

#include "common/program.h"

/// The subcommands of packhorse, each in its command_*.cc. main.cc lists them.
namespace packhorse {

std::unique_ptr<program::Command> make_bench_command();
std::unique_ptr<program::Command> make_cache_command();
std::unique_ptr<program::Command> make_check_command();
std::unique_ptr<program::Command> make_copy_command();
std::unique_ptr<program::Command> make_diff_command();
std::unique_ptr<program::Command> make_duplicates_command();
std::unique_ptr<program::Command> make_export_index_command();
std::unique_ptr<program::Command> make_index_command();
std::unique_ptr<program::Command> make_inspect_command();
std::unique_ptr<program::Command> make_pack_command();
std::unique_ptr<program::Command> make_repair_command();
std::unique_ptr<program::Command> make_stats_command();
std::unique_ptr<program::Command> make_unpack_command();

}  // namespace packhorse
