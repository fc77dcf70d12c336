#include "report_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "codecs/codec_versions.h"
#include "common/storage.h"
#include "formats/library_versions.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/version.h"
#include "recipe/recipe_json.h"

namespace packhorse::trainer {
namespace {

using program::Json;
using Figure = std::function<double(const Pass&)>;

constexpr std::array kQuantiles = {0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0};

Json spread_json(const std::vector<Pass>& passes, const Figure& figure) {
  const reader::Spread spread = spread_of(passes, figure);
  Json values = Json::array();
  for (const Pass& pass : passes) values.push_back(figure(pass));
  return {{"min", spread.min},
          {"median", spread.median},
          {"max", spread.max},
          {"noisy", is_noisy(spread)},
          {"values", values}};
}

double images(const Pass& pass) { return static_cast<double>(pass.images); }
double steps(const Pass& pass) { return static_cast<double>(pass.batch_ms.size()); }
double cpu_s_per_1000(const Pass& pass) { return 1000 * pass.cpu_s / images(pass); }

/// Returns null unless the figure is known for every pass.
Json load_json(const std::vector<Pass>& passes, std::optional<double> reader::CpuLoad::*figure) {
  for (const Pass& pass : passes)
    if (!(pass.load.*figure)) return {};
  return spread_json(passes, [&](const Pass& pass) { return *(pass.load.*figure); });
}

Json pass_json(const std::vector<Pass>& passes) {
  return {{"images_per_s", spread_json(passes, [](const Pass& p) { return p.images_per_s(); })},
          {"mb_per_s", spread_json(passes,
                                   [](const Pass& p) {
                                     return 1e-6 * static_cast<double>(p.bytes) / p.seconds;
                                   })},
          {"cpu_s_per_1000", spread_json(passes, cpu_s_per_1000)},
          {"disk_bytes_per_image",
           spread_json(passes, [](const Pass& p) { return p.disk_bytes_per_image(); })},
          {"first_batch_s", spread_json(passes, [](const Pass& p) { return p.first_batch_s; })},
          {"batch_p50_ms",
           spread_json(passes, [](const Pass& p) { return reader::percentile(p.batch_ms, 0.5); })},
          {"batch_p99_ms",
           spread_json(passes, [](const Pass& p) { return reader::percentile(p.batch_ms, 0.99); })},
          {"foreign_cpus", load_json(passes, &reader::CpuLoad::foreign_cpus)},
          {"cpu_pressure", load_json(passes, &reader::CpuLoad::pressure)}};
}

Json quantiles_json(const std::vector<Pass>& passes) {
  std::vector<double> all;
  for (const Pass& pass : passes) all.insert(all.end(), pass.batch_ms.begin(), pass.batch_ms.end());
  Json ms = Json::array();
  for (const double p : kQuantiles) ms.push_back(reader::percentile(all, p));
  return {{"p", kQuantiles}, {"ms", ms}};
}

Json training_json(const std::vector<Pass>& passes) {
  Json json = pass_json(passes);
  json["wait_share"] = spread_json(passes, [](const Pass& p) { return p.wait_s / p.seconds; });
  json["wait_ms"] = spread_json(passes, [](const Pass& p) { return 1e3 * p.wait_s / steps(p); });
  json["compute_ms"] =
      spread_json(passes, [](const Pass& p) { return 1e3 * p.compute_s / steps(p); });
  json["copy_ms"] = spread_json(passes, [](const Pass& p) { return 1e3 * p.copy_s / steps(p); });
  json["host_ms"] = spread_json(passes, [](const Pass& p) { return 1e3 * p.host_s / steps(p); });
  json["step_ms_quantiles"] = quantiles_json(passes);
  json["loss"] = passes.back().loss;
  return json;
}

Json device_limit_json(const std::vector<Pass>& passes) {
  return {
      {"images_per_s", spread_json(passes, [](const Pass& p) { return p.images_per_s(); })},
      {"step_ms", spread_json(passes, [](const Pass& p) { return 1e3 * p.seconds / steps(p); })},
      {"cpu_s_per_1000", spread_json(passes, cpu_s_per_1000)}};
}

Json input_json(const MeasuredInput& input) {
  return {{"name", input.name},
          {"path", input.path.string()},
          {"format", input.format},
          {"image", input.image_mode},
          {"same_work", same_work(input) == SameWork::kYes},
          {"samples", input.samples},
          {"bytes", input.bytes},
          {"file_system", input.file_system}};
}

Json recipe_json(const Recipe& recipe) {
  return {{"arch", recipe.arch},
          {"image_size", recipe.image_size},
          {"batch_size", recipe.batch_size},
          {"augment", name_of(recipe.augment)},
          {"order", name_of(recipe.order)},
          {"amp", name_of(recipe.amp)},
          {"seed", recipe.seed}};
}

Json attribution_json(const Attribution& parts) {
  return {{"epoch_s", parts.epoch_s},     {"device_s", parts.device_s},
          {"sharing_s", parts.sharing_s}, {"preparation_s", parts.preparation_s},
          {"fetch_s", parts.fetch_s},     {"other_s", parts.other_s}};
}

const char* told_text(const std::vector<Pass>& passes, const std::vector<Pass>& base) {
  static constexpr std::array kNames = {"not told apart", "faster", "slower", "alike"};
  return kNames[static_cast<std::size_t>(compare(passes, base).told)];
}

Json run_json(const SpeedReport& report, const MeasuredRun& run) {
  Json json = {{"input", report.inputs[run.input].name},
               {"condition", report.conditions[run.condition].name()},
               {"read", pass_json(run.read)},
               {"decode", pass_json(run.decode)},
               {"training", training_json(run.training)}};
  const MeasuredRun& folder = report.folder_run(run.condition);
  if (!folder.training.empty()) {
    json["speedup"] = {{"read", compare(run.read, folder.read).ratio},
                       {"decode", compare(run.decode, folder.decode).ratio},
                       {"training", compare(run.training, folder.training).ratio}};
    json["told"] = {{"read", told_text(run.read, folder.read)},
                    {"decode", told_text(run.decode, folder.decode)},
                    {"training", told_text(run.training, folder.training)}};
  }
  json["attribution"] = attribution_json(attribute(report, run));
  return json;
}

Json packing_json(const std::vector<PackingCost>& packing) {
  Json json = Json::array();
  for (const PackingCost& cost : packing) {
    Json entry = {{"input", fmt::format("{} {}", cost.format, cost.image_mode)},
                  {"settings", cost.settings},
                  {"was_there", cost.was_there}};
    if (!cost.was_there) {
      entry["seconds"] = cost.seconds;
      entry["cpu_s"] = cost.cpu_s;
      entry["bytes_in"] = cost.bytes_in;
      entry["bytes_out"] = cost.bytes_out;
    }
    json.push_back(entry);
  }
  return json;
}

/// The command line of this process, roughly as a shell would accept it.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string text;
  for (std::string argument; std::getline(file, argument, '\0');) {
    const bool first = text.empty();
    if (first) argument = argument.substr(argument.rfind('/') + 1);
    if (argument.find_first_of(" '\"$\\*?;&|<>()") != std::string::npos)
      argument = "'" + argument + "'";
    text += (first ? "" : " ") + argument;
  }
  return text;
}

/// Limits far beyond what measure prints.
constexpr JsonLimits kLimits{.bytes = 16u << 20, .depth = 16, .members = 4096};

Json read_json(const std::filesystem::path& path) {
  const UniqueFd file = open_for_reading(path);
  if (file_size(file.get(), path) > kLimits.bytes)
    throw Error(ErrorKind::kUnsupported, "the file is too large for a measurement", path);
  return parse_json<Json>(read_text(path), kLimits);
}

double median(const Json& passes, const char* figure) { return passes.at(figure).at("median"); }

reader::StorageModel storage_of(const Json& condition) {
  const auto number = [&](const char* name) {
    return condition.at(name).is_null() ? 0 : condition.at(name).get<double>();
  };
  reader::StorageModel model;
  model.name = condition.at("name");
  model.open_s = 1e-3 * number("open_ms");
  model.access_s = 1e-3 * number("access_ms");
  model.bytes_per_s = 1e6 * number("mb_per_s");
  model.depth = static_cast<int>(number("depth"));
  return model;
}

Measurement::Input read_input(const Json& json, const Json& input, const Json& warm) {
  const Json &limit = json.at("device_limit"), &read = warm.at("read");
  const double samples = input.at("samples"), batch = json.at("recipe").at("batch_size");
  ImageCosts costs;
  costs.read_cpu_s = 1e-3 * median(read, "cpu_s_per_1000");
  costs.decode_cpu_s =
      std::max(0.0, 1e-3 * median(warm.at("decode"), "cpu_s_per_1000") - costs.read_cpu_s);
  costs.step_s = 1 / median(limit, "images_per_s");
  costs.step_cpu_s = 1e-3 * median(limit, "cpu_s_per_1000");
  costs.bytes = 1e6 * median(read, "mb_per_s") / median(read, "images_per_s");
  costs.file_apart = input.at("format") == "folder";
  return {input.at("name"), samples, {batch * std::floor(samples / batch), batch}, costs};
}

void read_inputs(const Json& json, Measurement& measured) {
  for (const Json& input : json.at("inputs")) {
    const Json* warm = nullptr;
    for (const Json& run : json.at("runs"))
      if (run.at("input") == input.at("name") && run.at("condition") == "warm") warm = &run;
    if (warm != nullptr) {
      measured.inputs.push_back(read_input(json, input, *warm));
    } else {
      measured.not_warm.push_back(input.at("name"));
    }
  }
}

void read_speeds(const Json& json, const Json& condition, Measurement& measured) {
  const std::string kind = condition.at("kind");
  if (kind != "warm" && kind != "simulated") return;  // the storage's figures are not known
  std::optional<reader::StorageModel> storage;
  if (kind == "simulated") storage = storage_of(condition);
  for (const Json& run : json.at("runs")) {
    if (run.at("condition") != condition.at("name")) continue;
    const std::string name = run.at("input");
    const auto input = std::ranges::find(measured.inputs, name, &Measurement::Input::name);
    if (input == measured.inputs.end())
      throw Error(ErrorKind::kCorrupt, "there is no warm run of '" + name + "'");
    for (const char* work : {"decode", "training"})
      measured.speeds.push_back({static_cast<std::size_t>(input - measured.inputs.begin()),
                                 condition.at("name"), storage, work,
                                 median(run.at(work), "images_per_s")});
  }
}

[[noreturn]] void throw_no_measurement(const std::string& why, const std::filesystem::path& path) {
  throw Error(ErrorKind::kCorrupt, "this is not the output of `measure --json`: " + why, path,
              "make it again with `packhorse-train measure --json`");
}

}  // namespace

Measurement read_measurement(const std::filesystem::path& path) try {
  const Json json = read_json(path);
  if (json.at("schema") != "packhorse-measurement/1") {
    throw Error(ErrorKind::kUsage,
                "this is not a measurement but " + json.at("schema").get<std::string>(), path,
                "make one with `packhorse-train measure --json`");
  }
  Measurement measured;
  read_inputs(json, measured);
  if (measured.inputs.empty()) throw_no_measurement("it has no inputs measured warm", path);
  measured.machine.cpus = json.at("machine").at("cpus");
  measured.machine.device_is_cpu = json.at("device") == "cpu";
  measured.machine.workers = json.at("workers");
  measured.order =
      parse_name<reader::OrderKind>("order", json.at("recipe").at("order").get<std::string>());
  for (const Json& condition : json.at("conditions")) read_speeds(json, condition, measured);
  return measured;
} catch (const nlohmann::json::exception& error) {
  throw_no_measurement(json_problem(error), path);
} catch (const Error& error) {
  if (!error.path().empty()) throw;
  throw_no_measurement(error.what(), path);  // thrown by parse_json()
}

ImageCosts Measurement::costs(const Input& input,
                              const std::optional<reader::StorageModel>& storage) const {
  ImageCosts costs = input.costs;
  if (costs.file_apart || !storage) return costs;
  const Requests requests = requests_of(order, input.samples, costs.bytes,
                                        static_cast<double>(reader::joined_gap(*storage)));
  costs.images_per_request = requests.images;
  costs.bytes = requests.bytes_per_image;
  return costs;
}

Json to_json(const Condition& condition) {
  static constexpr std::array kKinds = {"warm", "cold", "simulated", "remote"};
  Json json = {{"name", condition.name()},
               {"kind", kKinds[static_cast<std::size_t>(condition.kind)]}};
  if (condition.kind == Condition::Kind::kCold) json["names_dropped"] = condition.names_dropped;
  if (condition.kind != Condition::Kind::kSimulated) return json;
  json.update(program::delays_json(condition.storage));
  return json;
}

Json document_head(const char* schema) {
  Json versions = {{"packhorse", packhorse::version()}};
  for (const auto& list :
       {library_versions(), packhorse::library_versions(), packhorse::codec_versions()}) {
    for (const auto& [library, version] : list) versions[library] = version;
  }
  Json machine = program::machine_json();
  double load = 0;
  machine["load_average"] = ::getloadavg(&load, 1) == 1 ? Json(load) : Json();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {{"schema", schema},
          {"created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now)},
          {"command", command_line()},
          {"versions", versions},
          {"machine", machine}};
}

Json measurement_json(const SpeedReport& report, const MeasureOptions& options,
                      const std::vector<PackingCost>& packing) {
  Json json = document_head("packhorse-measurement/1");
  json["device"] = report.device;
  json["recipe"] = recipe_json(report.recipe);
  json["workers"] = report.workers;
  json["slots"] = options.slots;
  json["repeats"] = options.repeats;
  json["warmup_steps"] = options.warmup_steps;
  json["max_seconds"] = options.max_seconds;
  json["cuda_graph"] = options.cuda_graph;
  json["gpu_decode"] = options.gpu_decode;
  json["device_memory_bytes"] = report.device_memory_bytes;
  json["conditions"] = Json::array();
  for (const Condition& condition : report.conditions)
    json["conditions"].push_back(to_json(condition));
  json["device_limit"] = device_limit_json(report.device_limit);
  json["inputs"] = Json::array();
  for (const MeasuredInput& input : report.inputs) json["inputs"].push_back(input_json(input));
  if (!packing.empty()) json["packing"] = packing_json(packing);
  json["runs"] = Json::array();
  json["not_measured"] = Json::array();
  for (const MeasuredRun& run : report.runs) {
    if (!run.training.empty()) {
      json["runs"].push_back(run_json(report, run));
      continue;
    }
    json["not_measured"].push_back({{"input", report.inputs[run.input].name},
                                    {"condition", report.conditions[run.condition].name()},
                                    {"reason", run.not_measured}});
  }
  json["io_speedup"] = io_speedups(report);
  json["verdict"] = verdict(report);
  return json;
}

Json sweep_json(const SweepReport& report, const MeasureOptions& options) {
  Json json = document_head("packhorse-sweep/1");
  json["device"] = report.device;
  json["recipe"] = recipe_json(report.recipe);
  json["condition"] = to_json(report.condition);
  json["input"] = input_json(report.input);
  json["repeats"] = options.repeats;
  json["device_limit"] = device_limit_json(report.device_limit);
  json["points"] = Json::array();
  for (const SweepSetting& setting : report.settings) {
    json["points"].push_back(
        {{"workers", setting.workers},
         {"slots", setting.slots},
         {"images_per_s",
          spread_json(setting.passes, [](const Pass& p) { return p.images_per_s(); })},
         {"wait_share",
          spread_json(setting.passes, [](const Pass& p) { return p.wait_s / p.seconds; })},
         {"batches_bytes", setting.batches_bytes},
         {"memory_bytes", setting.memory_bytes}});
  }
  const Recommendation chosen = recommend(report);
  const SweepSetting& setting = report.settings[chosen.setting];
  json["knee"] = {{"workers", setting.workers},
                  {"slots", setting.slots},
                  {"images_per_s", setting.images_per_s()},
                  {"still_rising", chosen.still_rising}};
  json["limits"] = {{"cpus", report.cpus},
                    {"memory_available_bytes", report.memory_available},
                    {"memory_per_worker_bytes", memory_per_worker(report)},
                    {"left_out", report.left_out}};
  json["recommended"] = {
      {"workers", setting.workers}, {"slots", setting.slots}, {"reason", chosen.reason}};
  return json;
}

}  // namespace packhorse::trainer
