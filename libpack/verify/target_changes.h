#pragma once

#include <string>
#include <vector>

#include "packhorse/dataset/manifest.h"
#include "packhorse/walkers/finding_kind.h"

namespace packhorse {

/// What a dataset and its source say differently of their targets: what the fields' bytes do not
/// hold, such as the names of the labels in them.
struct TargetChange {
  FindingKind kind;    ///< kRelabelled, kChanged
  std::string detail;  ///< a sentence for people
};

/// One change a field, the gravest. What COCO's file says besides images and annotations is
/// compared where both keep it.
std::vector<TargetChange> target_changes(const std::vector<TargetRecord>& dataset,
                                         const std::vector<TargetRecord>& source);

}  // namespace packhorse
