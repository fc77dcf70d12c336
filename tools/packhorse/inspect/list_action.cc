#include "inspect/list_action.h"

#include <fmt/format.h>

#include "base/stop.h"
#include "inspect/summary_text.h"
#include "packhorse/base/error.h"

namespace packhorse::inspect {

void ListAction::setup(CLI::App& app) {
  app.add_flag("--list", list_, "List the samples, one per line");
}

int ListAction::run(const std::vector<std::filesystem::path>& paths) const {
  std::vector<program::Json> objects;
  for (const std::filesystem::path& path : paths) {
    const PackedDataset dataset(path);
    program::Json samples = program::Json::array();
    for (const std::size_t sample : choice_.choose(dataset)) {
      obey_stop();
      if (request_.json) {
        samples.push_back(sample_json(dataset, sample));
      } else {
        fmt::print("{}", sample_line(dataset, sample));
      }
    }
    if (request_.json) objects.push_back({{"path", path.string()}, {"samples", samples}});
  }
  if (request_.json) fmt::print("{}", exact_json_text(one_report(request_.path, paths, objects)));
  return program::kDone;
}

}  // namespace packhorse::inspect
