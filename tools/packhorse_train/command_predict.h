#pragma once

#include "common/program.h"

namespace packhorse::trainer {

std::unique_ptr<program::Command> make_predict_command();

inline constexpr program::CommandKind kPredictCommand = {
    "predict", "Predict from a measurement how fast another machine would train",
    make_predict_command};

}  // namespace packhorse::trainer
