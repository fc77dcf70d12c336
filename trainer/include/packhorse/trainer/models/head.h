#pragma once

namespace packhorse::trainer {

/// Whether weights from a file must have the model's last layer, the one that gives the classes'
/// scores: Model::head().
enum class Head {
  kMustFit,
  kMayDiffer,  ///< if it is missing or has another shape, the model's stays
};

}  // namespace packhorse::trainer
