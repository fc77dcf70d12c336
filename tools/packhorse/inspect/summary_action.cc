#include "inspect/summary_action.h"

#include <fmt/format.h>

#include "inspect/summary_text.h"

namespace packhorse::inspect {

int SummaryAction::run(const std::vector<std::filesystem::path>& paths,
                       const std::stop_token&) const {
  const program::Style style = program::stdout_style();
  std::vector<program::Json> objects;
  for (const std::filesystem::path& path : paths) {
    const PackedDataset dataset(path);
    const Summary summary = summarise(dataset);
    if (request_.json) {
      objects.push_back(summary_json(dataset, summary));
    } else {
      fmt::print("{}{}", path == paths.front() ? "" : "\n", summary_text(dataset, summary, style));
    }
  }
  if (request_.json) fmt::print("{}", program::to_text(one_object(request_, paths, objects)));
  return program::kDone;
}

}  // namespace packhorse::inspect
