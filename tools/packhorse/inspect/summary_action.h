#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "shared/request.h"

namespace packhorse::inspect {

/// Without any other part asked for: says what each dataset is.
class SummaryAction {
 public:
  explicit SummaryAction(const Request& request) : request_(request) {}
  int run(const std::vector<std::filesystem::path>& paths, const std::stop_token& stop) const;

 private:
  const Request& request_;
};

}  // namespace packhorse::inspect
