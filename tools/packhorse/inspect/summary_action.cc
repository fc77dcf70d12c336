#include "inspect/summary_action.h"

#include <fmt/format.h>

#include "inspect/summary_text.h"
#include "packhorse/reports/summary_report.h"

namespace packhorse::inspect {

int SummaryAction::run(const std::vector<std::filesystem::path>& paths,
                       const std::stop_token&) const {
  if (request_.json) {
    fmt::print("{}", json_text(summary_report(request_.path)));
    return program::kDone;
  }
  const program::Style style = program::stdout_style();
  for (const std::filesystem::path& path : paths) {
    const PackedDataset dataset(path);
    fmt::print("{}{}", path == paths.front() ? "" : "\n",
               summary_text(dataset, summarise(dataset), style));
  }
  return program::kDone;
}

}  // namespace packhorse::inspect
