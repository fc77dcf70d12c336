#include "shared/request.h"

#include <algorithm>

#include "common/options.h"
#include "packhorse/dataset/packed_dataset.h"
#include "sources/source.h"

namespace packhorse {

void Request::setup_dataset(CLI::App& app) {
  app.add_option("dataset", path, "Packed dataset, or directory of its splits")->required();
}

void Request::setup_rest(CLI::App& app, const char* silences) {
  program::add_jobs(app, jobs);
  app.add_flag("--json", json, "Print one JSON object");
  program::add_quiet(app, quiet, silences);
  program::add_image_limits(app, limits, "Image limits");
  remote.setup(app);
}

std::vector<std::filesystem::path> Request::datasets(std::vector<std::string> others) const {
  limits.validate();
  others.push_back(path);
  remote.enable(others, std::ranges::any_of(others, may_name_urls));
  return find_datasets(path);
}

}  // namespace packhorse
