#include <nlohmann/json.hpp>

#include "base/choices.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "others_run.h"
#include "pack_bindings.h"
#include "packhorse/adopting/adopt.h"
#include "packhorse/base/error.h"
#include "remote_opener.h"
#include "reports/reports.h"
#include "sources/source.h"
#include "watched_call.h"

namespace packhorse::python {

using namespace nb::literals;
namespace fs = std::filesystem;

namespace {

/// The report's JSON, and how many rejects were allowed.
using PackResult = std::pair<std::string, std::uint64_t>;

PackResult result_of(const PackReport& report, const RejectLimit& rejects) {
  return {json_text(to_json(report)), rejects.allowed(report.accounting.seen)};
}

/// Before the work: what `log` must not replace are `inputs` and the files that options name.
void check_log(const fs::path& log, std::vector<fs::path> inputs,
               const std::map<std::string, fs::path>& labels, const TargetOptions& targets) {
  if (log.empty()) return;
  for (const auto* files : {&labels, &targets.files})
    for (const auto& [split, file] : *files) inputs.push_back(file);
  refuse_replacing(log, inputs);
  check_output(log);
}

PackResult call_pack(const nb::bytes& source, const nb::bytes& out, const nb::dict& given,
                     const nb::bytes& log, const nb::object& progress) {
  const PackOptions options = pack_options_of(given_options(given, OptionTaker::kPack));
  const fs::path from = path_of(source), to = path_of(out), log_file = path_of(log);
  check_log(log_file, {from, options.list.labels.ids}, options.list.labels.files,
            options.list.targets);
  return watched_call(progress, [&](Progress& done) {
    const PackReport report = pack(from, to, options, &done);
    if (!log_file.empty()) write_output(log_file, as_bytes(pack_log_text(report)));
    return result_of(report, options.max_rejects);
  });
}

PackResult call_index(const std::vector<nb::bytes>& shards, const nb::bytes& out,
                      const nb::bytes& labels, const std::array<std::string, 4>& arrays,
                      const nb::dict& given, const nb::bytes& log, const nb::bytes& program,
                      const nb::object& progress) {
  AdoptOptions options =
      AdoptOptions::of(pack_options_of(given_options(given, OptionTaker::kIndex)));
  if (out.size() > 0) options.out = path_of(out);
  options.labels = path_of(labels);
  options.shards.arrays = {arrays[0], arrays[1], arrays[2], arrays[3]};
  options.walkers = make_walkers({path_of(program), std::string(kWalkArgument)});
  std::vector<fs::path> named;
  for (const nb::bytes& shard : shards) named.push_back(path_of(shard));
  const fs::path log_file = path_of(log);
  check_log(log_file, named, {{"", options.labels}}, options.targets);
  return watched_call(progress, [&](Progress& done) {
    const PackReport report = adopt(named, options, &done);
    if (!log_file.empty()) write_output(log_file, as_bytes(pack_log_text(report)));
    return result_of(report, options.max_rejects);
  });
}

UnpackAs unpack_as(std::string_view word) {
  std::vector<std::string> names;
  for (const auto& [name, as] : kUnpackAs) {
    if (name == word) return as;
    names.emplace_back(name);
  }
  throw Error(ErrorKind::kUsage, "nothing is unpacked as '" + printable(word) + "'", {},
              choice_advice(word, names));
}

std::string call_unpack(const nb::bytes& dataset, const nb::bytes& out, const std::string& as,
                        const nb::object& progress) {
  const UnpackAs wanted = unpack_as(as);
  const fs::path from = path_of(dataset), to = path_of(out);
  return watched_call(progress, [&](Progress& done) {
    return json_text(to_json(unpack(from, to, &done, {}, wanted)));
  });
}

std::string call_copy(const nb::bytes& from, const nb::bytes& to, int jobs,
                      const nb::bytes& staging, const nb::object& progress) {
  const fs::path source = path_of(from), target = path_of(to);
  const CopyOptions options{jobs, path_of(staging)};
  return watched_call(progress, [&](Progress& done) {
    return json_text(to_json(copy_dataset(source, target, options, &done)));
  });
}

std::string call_export_index(const nb::bytes& dataset, const nb::bytes& out,
                              const std::string& dali_version, int jobs) {
  const fs::path from = path_of(dataset), to = path_of(out);
  return watched_call(nb::none(), [&](Progress&) {
    return json_text(to_json(export_all_indexes(from, to, {dali_version}, jobs)));
  });
}

}  // namespace

void bind_pack(nb::module_& module) {
  module.def(
      "may_name_urls", [](const nb::bytes& path) { return may_name_urls(path_of(path)); }, "path"_a,
      "Whether listing this source may open URLs");
  module.def("pack", &call_pack, "source"_a, "out"_a, "given"_a, "log"_a, "progress"_a.none(),
             "Packs a source: its report as JSON, and how many rejects were allowed");
  module.def("index", &call_index, "shards"_a, "out"_a, "labels"_a, "arrays"_a, "given"_a, "log"_a,
             "program"_a, "progress"_a.none(),
             "Adopts shards made by others; returns what pack() does");
  module.def("unpack", &call_unpack, "dataset"_a, "out"_a, "as_"_a, "progress"_a.none(),
             "Writes a dataset back as a folder or in a notation of objects; its report as JSON");
  module.def("copy", &call_copy, "from_"_a, "to"_a, "jobs"_a, "staging"_a, "progress"_a.none(),
             "Copies a dataset, proved, between disks and URLs; its report as JSON");
  module.def("export_index", &call_export_index, "dataset"_a, "out"_a, "dali_version"_a, "jobs"_a,
             "Writes the indexes of other readers; its report as JSON");
}

}  // namespace packhorse::python

NB_MODULE(_pack, module) {
  nanobind::set_leak_warnings(false);  // what lives at the interpreter's exit is no leak
  packhorse::python::translate_errors();
  static constexpr packhorse::OptionSpelling kKeywords = {packhorse::python::pack_keyword_text,
                                                          packhorse::python::call_text};
  packhorse::spell_options(&kKeywords);
  packhorse::python::bind_options(module);
  packhorse::python::bind_pack(module);
  packhorse::python::bind_inspect(module);
  packhorse::python::bind_writer(module);
  packhorse::python::bind_remote_opener(module);
  packhorse::python::OthersRun::rest_at_exit(module);
}
