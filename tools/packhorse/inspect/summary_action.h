#pragma once

#include <filesystem>
#include <vector>

#include "shared/request.h"

namespace packhorse::inspect {

/// Describes each dataset; the default when no other action is asked for.
class SummaryAction {
 public:
  explicit SummaryAction(const Request& request) : request_(request) {}
  int run(const std::vector<std::filesystem::path>& paths) const;

 private:
  const Request& request_;
};

}  // namespace packhorse::inspect
