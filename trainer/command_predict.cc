#include "command_predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "common/terminal.h"
#include "measure/report_json.h"
#include "measure_options.h"
#include "packhorse/error.h"
#include "packhorse/reader/measure.h"
#include "packhorse/trainer/names.h"
#include "packhorse/trainer/predict.h"
#include "packhorse/trainer/recipe.h"

namespace packhorse::trainer {

namespace {

using program::Json;

/// A measurement's figures, as predict needs them.
class Measured {
 public:
  explicit Measured(const std::filesystem::path& path) try {
    std::ifstream file(path);
    if (!file) throw Error(ErrorKind::kNotFound, "the measurement cannot be opened", path);
    json_ = Json::parse(file);
    if (json_.at("schema") != "packhorse-measurement/1") {
      throw Error(ErrorKind::kUsage,
                  "this is not a measurement, but " + json_.at("schema").get<std::string>(), path,
                  "Make one with `packhorse-train measure --json`.");
    }
    for (const Json& input : json_.at("inputs")) inputs_.push_back(input.at("name"));
    static_cast<void>(costs(inputs_.front()));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kCorrupt,
                std::string("this is not what measure --json prints: ") + error.what(), path,
                "Make it anew with `packhorse-train measure --json`.");
  }

  const Json& json() const { return json_; }
  const std::vector<std::string>& inputs() const { return inputs_; }

  ImageCosts costs(const std::string& name) const {
    const Json& warm = run(name, "warm");
    const Json& input = *std::find_if(json_.at("inputs").begin(), json_.at("inputs").end(),
                                      [&](const Json& one) { return one.at("name") == name; });
    ImageCosts costs;
    costs.read_cpu_s = 1e-3 * median(warm.at("read").at("cpu_s_per_1000"));
    costs.decode_cpu_s =
        std::max(0.0, 1e-3 * median(warm.at("decode").at("cpu_s_per_1000")) - costs.read_cpu_s);
    costs.step_s = 1 / median(json_.at("device_limit").at("images_per_s"));
    costs.step_cpu_s = 1e-3 * median(json_.at("device_limit").at("cpu_s_per_1000"));
    costs.bytes =
        1e6 * median(warm.at("read").at("mb_per_s")) / median(warm.at("read").at("images_per_s"));
    costs.file_apart = input.at("format") == "folder";
    if (costs.file_apart) return costs;
    const auto order =
        parse_name<reader::OrderKind>("order", json_.at("recipe").at("order").get<std::string>());
    const Requests requests = requests_of(order, input.at("samples"), costs.bytes);
    costs.images_per_request = requests.images;
    costs.bytes = requests.bytes_per_image;
    return costs;
  }

  /// The machine it was made on, reading from a condition.
  Machine machine(const Json& condition) const {
    Machine machine;
    machine.cpus = json_.at("machine").at("cpus");
    machine.device_is_cpu = json_.at("device") == "cpu";
    machine.workers = json_.at("workers");
    if (condition.at("kind") == "simulated") machine.storage = storage_of(condition);
    return machine;
  }

  static double median(const Json& spread) { return spread.at("median"); }

 private:
  const Json& run(const std::string& input, const std::string& condition) const {
    for (const Json& run : json_.at("runs"))
      if (run.at("input") == input && run.at("condition") == condition) return run;
    throw Error(ErrorKind::kUsage, "the measurement has no warm run of " + input);
  }

  static reader::StorageModel storage_of(const Json& condition) {
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

  Json json_;
  std::vector<std::string> inputs_;
};

/// A prediction beside what was measured.
struct Check {
  std::string input, condition, work;
  double predicted = 0, measured = 0;
  double error() const { return predicted / measured - 1; }
};

std::vector<Check> check(const Measured& measured) {
  std::vector<Check> checks;
  for (const Json& condition : measured.json().at("conditions")) {
    if (condition.at("kind") == "cold") continue;  // the disk's figures are not known
    const Machine machine = measured.machine(condition);
    for (const Json& run : measured.json().at("runs")) {
      if (run.at("condition") != condition.at("name")) continue;
      const ImageCosts costs = measured.costs(run.at("input"));
      for (const char* work : {"decode", "training"}) {
        const Prediction prediction = std::string_view(work) == "decode"
                                          ? predict_decoding(costs, machine)
                                          : predict_training(costs, machine);
        checks.push_back({run.at("input"), condition.at("name"), work, prediction.images_per_s,
                          Measured::median(run.at(work).at("images_per_s"))});
      }
    }
  }
  return checks;
}

std::string bound_text(double bound) {
  return bound > 0 ? program::with_commas(static_cast<std::uint64_t>(bound + 0.5)) : "-";
}

class CommandPredict final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("report", report_, "What `packhorse-train measure --json` printed")->required();
    app.add_option("--cpus", machine_.cpus, "Cores of the machine")->check(CLI::PositiveNumber);
    app.add_option("--devices", machine_.devices, "Its GPUs")->check(CLI::PositiveNumber);
    app.add_option("--device-rate", device_rate_,
                   "Images/s that one of them takes (the device that was measured)")
        ->check(CLI::PositiveNumber);
    app.add_option("--workers", workers_, "Reader threads, of all processes together (the cores)")
        ->check(CLI::PositiveNumber);
    app.add_option("--core-speed", core_speed_, "Of its cores, against those that were measured")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--storage", storage_, storage_text() + "\n(the page cache)");
    app.add_flag("--json", json_, "Print one JSON object: see docs/measuring.md");
    app.footer(
        "Example:\n  packhorse-train predict report.json --cpus 96 --devices 8 --device-rate 2800 "
        "--storage nfs\n\n"
        "The smallest of four bounds is taken: what the devices compute, the cores prepare, the "
        "storage delivers, and what\nreader threads get that wait for a file each. The check "
        "holds the same model against what was measured.");
  }

  int run(const std::stop_token&) override {
    const Measured measured(report_);
    machine_.workers = workers_ > 0 ? workers_ : static_cast<int>(std::ceil(machine_.cpus));
    machine_.device_is_cpu = device_rate_ == 0 && measured.json().at("device") == "cpu";
    if (!storage_.empty()) machine_.storage = reader::parse_storage(storage_);
    std::vector<Prediction> predictions;
    for (const std::string& input : measured.inputs()) {
      ImageCosts costs = measured.costs(input);
      costs.read_cpu_s /= core_speed_;
      costs.decode_cpu_s /= core_speed_;
      if (device_rate_ > 0) costs.step_s = 1 / device_rate_;
      predictions.push_back(predict_training(costs, machine_));
    }
    const std::vector<Check> checks = check(measured);
    fmt::print("{}", json_ ? program::to_text(to_json(measured, predictions, checks))
                           : to_words(measured, predictions, checks));
    return program::kDone;
  }

 private:
  Condition condition() const {
    if (!machine_.storage) return {};
    return {Condition::Kind::kSimulated, *machine_.storage};
  }

  Json to_json(const Measured& measured, const std::vector<Prediction>& predictions,
               const std::vector<Check>& checks) const {
    Json json = document_head("packhorse-prediction/1");
    json["from"] = report_.string();
    json["machine"] = {{"cpus", machine_.cpus},
                       {"devices", machine_.devices},
                       {"workers", machine_.workers},
                       {"core_speed", core_speed_},
                       {"device_is_cpu", machine_.device_is_cpu},
                       {"condition", trainer::to_json(condition())}};
    json["predictions"] = Json::array();
    for (std::size_t at = 0; at < predictions.size(); ++at) {
      const Prediction& one = predictions[at];
      const auto bound = [](double value) { return value > 0 ? Json(value) : Json(); };
      json["predictions"].push_back({{"input", measured.inputs()[at]},
                                     {"images_per_s", one.images_per_s},
                                     {"bottleneck", one.bottleneck},
                                     {"limits",
                                      {{"storage", bound(one.storage)},
                                       {"cpu", bound(one.cpu)},
                                       {"device", bound(one.device)},
                                       {"latency", bound(one.latency)}}}});
    }
    json["check"] = Json::array();
    for (const Check& one : checks) {
      json["check"].push_back({{"input", one.input},
                               {"condition", one.condition},
                               {"work", one.work},
                               {"predicted", one.predicted},
                               {"measured", one.measured},
                               {"error", one.error()}});
    }
    return json;
  }

  std::string to_words(const Measured& measured, const std::vector<Prediction>& predictions,
                       const std::vector<Check>& checks) const {
    std::string text = fmt::format(
        "predicted for {:g} cores, {}, {}, from {}\n", machine_.cpus,
        program::count_text(static_cast<std::uint64_t>(machine_.devices), "device"),
        machine_.storage ? "storage " + machine_.storage->name : std::string("the page cache"),
        report_.string());
    std::vector<std::vector<std::string>> rows = {{"training", "images/s", "limit", "device",
                                                   "cores", "storage", "waiting workers",
                                                   "vs folder"}};
    for (std::size_t at = 0; at < predictions.size(); ++at) {
      const Prediction& one = predictions[at];
      rows.push_back({measured.inputs()[at], bound_text(one.images_per_s), one.bottleneck,
                      bound_text(one.device), bound_text(one.cpu), bound_text(one.storage),
                      bound_text(one.latency),
                      fmt::format("{:.2f}x", one.images_per_s / predictions[0].images_per_s)});
    }
    text += program::table_text(rows);
    std::vector<double> errors;
    rows = {{"check on this machine", "condition", "work", "predicted", "measured", "error"}};
    for (const Check& one : checks) {
      rows.push_back({one.input, one.condition, one.work, bound_text(one.predicted),
                      bound_text(one.measured), fmt::format("{:+.0f} %", 100 * one.error())});
      errors.push_back(std::abs(one.error()));
    }
    text += "\n" + program::table_text(rows);
    return text + fmt::format("error: median {:.0f} %, largest {:.0f} %\n",
                              100 * reader::percentile(errors, 0.5),
                              100 * reader::percentile(errors, 1));
  }

  std::filesystem::path report_;
  Machine machine_;
  std::string storage_;
  double device_rate_ = 0, core_speed_ = 1;
  int workers_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_predict_command() {
  return std::make_unique<CommandPredict>();
}

}  // namespace packhorse::trainer
