#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "common/program.h"
#include "inspect/request.h"

namespace packhorse::inspect {

/// Without any other part asked for: says what each dataset is.
class SummaryAction {
 public:
  explicit SummaryAction(const Request& request) : request_(request) {}
  int run(const std::vector<std::filesystem::path>& paths, const std::stop_token& stop) const;

 private:
  const Request& request_;
};

/// What `--json` prints of several: a dataset alone is its object, a directory of splits
/// {"datasets": [...]}.
program::Json one_object(const Request& request, const std::vector<std::filesystem::path>& paths,
                         const std::vector<program::Json>& objects);

}  // namespace packhorse::inspect
