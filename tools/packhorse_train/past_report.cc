#include "past_report.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/json.h"
#include "packhorse/trainer/recipe/names.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {
namespace {

using program::Json;

/// Limits far beyond what measure prints.
constexpr JsonLimits kLimits{.bytes = 16u << 20, .depth = 16, .members = 4096};

Json read_json(const std::filesystem::path& path) {
  const UniqueFd file = open_for_reading(path);
  if (file_size(file.get(), path) > kLimits.bytes)
    throw Error(ErrorKind::kUnsupported, "the file is too large for a measurement", path);
  return parse_json<Json>(read_text(path), kLimits);
}

double median(const Json& spread) { return spread.at("median"); }

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

[[noreturn]] void throw_no_report(const std::string& why, const std::filesystem::path& path) {
  throw Error(ErrorKind::kCorrupt, "this is not the output of `measure --json`: " + why, path,
              "make it again with `packhorse-train measure --json`");
}

}  // namespace

PastReport::PastReport(const std::filesystem::path& path) try : path_(path) {
  json_ = read_json(path);
  if (json_.at("schema") != "packhorse-measurement/1") {
    throw Error(ErrorKind::kUsage,
                "this is not a measurement but " + json_.at("schema").get<std::string>(), path,
                "make one with `packhorse-train measure --json`");
  }
  for (const Json& input : json_.at("inputs")) {
    const std::string name = input.at("name");
    (find_run(name, "warm") != nullptr ? inputs_ : not_warm_).push_back(name);
  }
  if (inputs_.empty())
    throw Error(ErrorKind::kCorrupt, "the measurement has no inputs that were measured warm", path,
                "make it again with `packhorse-train measure --json`");
  // What others ask of it later is asked here, where what lacks can be told.
  static_cast<void>(machine());
  for (const std::string& input : inputs_) {
    static_cast<void>(costs(input, {}));
    static_cast<void>(costs(input, reader::StorageModel{}));
    static_cast<void>(epoch(input));
  }
  static_cast<void>(check());
} catch (const nlohmann::json::exception& error) {
  throw_no_report(json_problem(error), path);
} catch (const Error& error) {
  if (!error.path().empty()) throw;
  throw_no_report(error.what(), path);  // thrown by parse_json()
}

ImageCosts PastReport::costs(const std::string& name,
                             const std::optional<reader::StorageModel>& storage) const {
  const Json& warm = run(name, "warm");
  const Json& input = this->input(name);
  ImageCosts costs;
  costs.read_cpu_s = 1e-3 * median(warm.at("read").at("cpu_s_per_1000"));
  costs.decode_cpu_s =
      std::max(0.0, 1e-3 * median(warm.at("decode").at("cpu_s_per_1000")) - costs.read_cpu_s);
  costs.step_s = 1 / median(json_.at("device_limit").at("images_per_s"));
  costs.step_cpu_s = 1e-3 * median(json_.at("device_limit").at("cpu_s_per_1000"));
  costs.bytes =
      1e6 * median(warm.at("read").at("mb_per_s")) / median(warm.at("read").at("images_per_s"));
  costs.file_apart = input.at("format") == "folder";
  if (costs.file_apart || !storage) return costs;
  const auto order =
      parse_name<reader::OrderKind>("order", json_.at("recipe").at("order").get<std::string>());
  const Requests requests = requests_of(order, input.at("samples"), costs.bytes,
                                        static_cast<double>(reader::joined_gap(*storage)));
  costs.images_per_request = requests.images;
  costs.bytes = requests.bytes_per_image;
  return costs;
}

Machine PastReport::machine() const {
  Machine machine;
  machine.cpus = json_.at("machine").at("cpus");
  machine.device_is_cpu = json_.at("device") == "cpu";
  machine.workers = json_.at("workers");
  return machine;
}

Epoch PastReport::epoch(const std::string& name) const {
  const double samples = input(name).at("samples");
  const double batch = json_.at("recipe").at("batch_size");
  return {.images = batch * std::floor(samples / batch), .batch = batch};
}

std::vector<PastReport::Check> PastReport::check() const {
  std::vector<Check> checks;
  for (const Json& condition : json_.at("conditions")) {
    const std::string kind = condition.at("kind");
    if (kind != "warm" && kind != "simulated") continue;  // the storage's figures are not known
    Machine machine = this->machine();
    if (kind == "simulated") machine.storage = storage_of(condition);
    for (const Json& run : json_.at("runs")) {
      if (run.at("condition") != condition.at("name")) continue;
      const ImageCosts costs = this->costs(run.at("input"), machine.storage);
      const auto put = [&](const char* work, const Prediction& prediction) {
        checks.push_back({run.at("input"), condition.at("name"), work, prediction.images_per_s,
                          median(run.at(work).at("images_per_s"))});
      };
      put("decode", predict_decoding(costs, machine));
      put("training", predict_training(costs, machine, epoch(run.at("input"))));
    }
  }
  return checks;
}

const Json& PastReport::input(const std::string& name) const {
  for (const Json& one : json_.at("inputs"))
    if (one.at("name") == name) return one;
  throw Error(ErrorKind::kCorrupt, "a run is of '" + name + "', which is none of its inputs");
}

const Json* PastReport::find_run(const std::string& input, const std::string& condition) const {
  for (const Json& run : json_.at("runs"))
    if (run.at("input") == input && run.at("condition") == condition) return &run;
  return nullptr;
}

const Json& PastReport::run(const std::string& input, const std::string& condition) const {
  if (const Json* run = find_run(input, condition)) return *run;
  throw Error(ErrorKind::kUsage, "the measurement has no " + condition + " run of " + input, path_);
}

}  // namespace packhorse::trainer
