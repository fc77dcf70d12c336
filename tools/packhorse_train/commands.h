#pragma once

#include "common/program.h"

/// The subcommands of packhorse-train, each in its command_*.cc. main.cc lists them.
namespace packhorse::trainer {

std::unique_ptr<program::Command> make_detect_command();
std::unique_ptr<program::Command> make_eval_command();
std::unique_ptr<program::Command> make_export_command();
std::unique_ptr<program::Command> make_fit_command();
std::unique_ptr<program::Command> make_measure_command();
std::unique_ptr<program::Command> make_predict_command();
std::unique_ptr<program::Command> make_sweep_command();

}  // namespace packhorse::trainer
