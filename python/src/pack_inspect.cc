#include <nlohmann/json.hpp>

#include "given.h"
#include "others_run.h"
#include "pack_bindings.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/labels/class_file.h"
#include "packhorse/reports/summary_report.h"
#include "packhorse/reports/verify_report.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
namespace fs = std::filesystem;

namespace {

/// The report's JSON, what is wrong, and what to do next; the last two are empty if all is well.
using Verified = std::tuple<std::string, std::string, std::string>;

VerifyOptions verify_options(const std::string& level, const Given& given,
                             const PackOptions& packed, const nb::bytes& program) {
  VerifyOptions options;
  if (level != "quick" && level != "full")
    throw Error(ErrorKind::kUsage, "level cannot be '" + level + "'", {}, "choose quick or full");
  options.level = level == "quick" ? VerifyLevel::kQuick : VerifyLevel::kFull;
  options.jobs = packed.jobs;
  options.decode = packed.decode && options.level == VerifyLevel::kFull;
  options.image_limits = packed.limits;
  options.walkers = make_walkers({path_of(program), std::string(kWalkArgument)});
  if (given.has("subset")) options.part = VerifyPart::parse(given.text("subset"));
  return options;
}

Verified call_verify(const nb::bytes& dataset, const std::string& level, const nb::bytes& against,
                     const nb::dict& values, const nb::bytes& program, const nb::object& progress) {
  const PackOptions packed = pack_options(values);
  packed.limits.validate();
  const VerifyOptions options = verify_options(level, Given(values), packed, program);
  const fs::path path = path_of(dataset), source = path_of(against);
  return watched_call(progress, [&](Progress& done, const std::stop_token& stop) {
    const std::vector<fs::path> paths = find_datasets(path);
    const VerifyReport verified = verify_all(path, paths, options, &done, stop);
    std::optional<AgainstReport> compared;
    if (!source.empty()) compared = compare_or_say_why_not(paths, source, packed, &done, stop);
    const VerifyOutcome outcome{verified, nullptr, compared ? &*compared : nullptr};
    if (outcome.ok()) return Verified(json_text(to_json(outcome)), "", "");
    return Verified(json_text(to_json(outcome)), what_is_wrong(verified), advice_for(verified));
  });
}

std::string call_inspect(const nb::bytes& dataset) {
  const fs::path path = path_of(dataset);
  const OthersRun others_run;
  return json_text(summary_report(path));
}

}  // namespace

void bind_inspect(nb::module_& module) {
  module.def("verify", &call_verify, "dataset"_a, "level"_a, "against"_a, "given"_a, "program"_a,
             "progress"_a.none(), "Verifies a dataset: the report's JSON, what is wrong, advice");
  module.def(
      "read_class_list", [](const nb::bytes& path) { return read_class_file(path_of(path)); },
      "path"_a, "The names in a file of classes, one a line");
  module.def("inspect", &call_inspect, "dataset"_a, "Describes a dataset, as JSON");
}

}  // namespace packhorse::python
