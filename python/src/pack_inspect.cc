#include <nlohmann/json.hpp>

#include "others_run.h"
#include "pack_bindings.h"
#include "packhorse/base/error.h"
#include "packhorse/checking/check.h"
#include "packhorse/dataset/packed_dataset.h"
#include "reports/reports.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
namespace fs = std::filesystem;

namespace {

/// The report's JSON, what is wrong, and what to do next; the last two are empty if all is well.
using Verified = std::tuple<std::string, std::string, std::string>;

/// Refuses options that change nothing where a dataset is not compared with its source.
void refuse_needless(const GivenOptions& given, const std::string& level) {
  using enum Option::Group;
  const auto refuse = [](std::string_view name, const char* why, const char* advice) {
    throw Error(ErrorKind::kUsage, opt(name) + why, {}, advice);
  };
  for (const auto& [name, values] : given) {
    const OptionGroup group = find_pack_option(name)->group;
    if (group == kSource || group == kSelection || group == kBands)
      refuse(name, " needs against=: no source is read", "give the source, or leave it out");
    if (group == kDecode && level != "full")
      refuse(name, " needs level=\"full\", or against=", "give one of them, or leave it out");
    if (group == kLimits && !given.contains("decode"))
      refuse(name, " has no effect: no images are decoded", "add decode=True, or leave it out");
  }
}

VerifyOptions verify_options(const std::string& level, const std::string& subset,
                             const PackOptions& packed, const nb::bytes& program) {
  VerifyOptions options;
  if (level != "quick" && level != "full")
    throw Error(ErrorKind::kUsage, "level cannot be '" + level + "'", {}, "choose quick or full");
  options.level = level == "quick" ? VerifyLevel::kQuick : VerifyLevel::kFull;
  options.jobs = packed.jobs;
  options.decode = packed.decode && options.level == VerifyLevel::kFull;
  options.image_limits = packed.limits;
  options.walkers = make_walkers({path_of(program), std::string(kWalkArgument)});
  if (!subset.empty()) options.part = VerifyPart::parse(subset);
  return options;
}

Verified call_verify(const nb::bytes& dataset, const std::string& level, const std::string& subset,
                     const nb::bytes& against, const nb::dict& values, const nb::bytes& program,
                     const nb::object& progress) {
  const GivenOptions given = given_options(values, OptionTaker::kVerify);
  if (against.size() == 0) {
    refuse_needless(given, level);
  } else if (!subset.empty()) {
    throw Error(ErrorKind::kUsage, "subset= and against= exclude each other", {},
                "give only one of the two");
  }
  const PackOptions packed = pack_options_of(given);
  packed.limits.validate();
  const VerifyOptions options = verify_options(level, subset, packed, program);
  const fs::path path = path_of(dataset), source = path_of(against);
  return watched_call(progress, [&](Progress& done) {
    const std::vector<fs::path> paths = find_datasets(path);
    const VerifyReport verified = verify_all(path, paths, options, &done);
    std::optional<AgainstReport> compared;
    if (!source.empty()) compared = compare_or_say_why_not(paths, source, packed, &done);
    const VerifyOutcome outcome{verified, nullptr, compared ? &*compared : nullptr};
    if (outcome.ok()) return Verified(json_text(to_json(outcome)), "", "");
    return Verified(json_text(to_json(outcome)), what_is_wrong(verified), advice_for(verified));
  });
}

std::string call_check(const nb::bytes& source, const std::string& decode,
                       const std::vector<std::string>& select,
                       const std::vector<std::string>& ignore, const nb::bytes& config,
                       const nb::bytes& baseline, std::size_t examples, const nb::dict& values,
                       const nb::object& progress) {
  CheckOptions options{.source = pack_options_of(given_options(values, OptionTaker::kCheck)),
                       .depth = parse_check_depth(decode),
                       .select = select,
                       .ignore = ignore,
                       .config = path_of(config),
                       .examples = examples};
  if (baseline.size() > 0) options.baseline = path_of(baseline);
  const fs::path path = path_of(source);
  return watched_call(progress, [&](Progress& done) {
    const CheckReport report = check(path, options, &done);
    if (report.stopped) throw Error(ErrorKind::kInterrupted, "stopped before the end", path);
    return json_text(to_json(report));
  });
}

std::string call_inspect(const nb::bytes& dataset) {
  const fs::path path = path_of(dataset);
  const OthersRun others_run;
  return json_text(summary_report(path));
}

}  // namespace

void bind_inspect(nb::module_& module) {
  module.def("verify", &call_verify, "dataset"_a, "level"_a, "subset"_a, "against"_a, "given"_a,
             "program"_a, "progress"_a.none(),
             "Verifies a dataset: the report's JSON, what is wrong, advice");
  module.def("check", &call_check, "source"_a, "decode"_a, "select"_a, "ignore"_a, "config"_a,
             "baseline"_a, "examples"_a, "given"_a, "progress"_a.none(),
             "Says what will go wrong with a source, as JSON");
  module.def(
      "check_rules",
      [] {
        nb::list rules;
        for (const CheckRule& rule : check_rules())
          rules.append(nb::make_tuple(std::string(rule.code), std::string(name_of(rule.severity)),
                                      std::string(family_of(rule.code)), std::string(rule.several),
                                      std::string(rule.why), std::string(rule.remedy)));
        return rules;
      },
      "All codes: what scripts/options makes");
  module.def("inspect", &call_inspect, "dataset"_a, "Describes a dataset, as JSON");
}

}  // namespace packhorse::python
