#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/storage.h"
#include "common/terminal.h"
#include "measure/measurement.h"
#include "measure/predict.h"
#include "report_json.h"

namespace packhorse::trainer {

namespace {

using program::Json;

std::string bound_text(double bound) {
  return bound > 0 ? program::with_commas(static_cast<std::uint64_t>(bound + 0.5)) : "-";
}

/// A measured speed, and what would have been predicted for it.
struct Check {
  std::string input;
  Measurement::Speed measured;
  double predicted = 0;  ///< images/s
  double error() const { return predicted / measured.images_per_s - 1; }
};

std::vector<Check> check(const Measurement& measured) {
  std::vector<Check> checks;
  for (const Measurement::Speed& speed : measured.speeds) {
    const Measurement::Input& input = measured.inputs[speed.input];
    Machine machine = measured.machine;
    machine.storage = speed.storage;
    const ImageCosts costs = measured.costs(input, machine.storage);
    const Prediction prediction = speed.work == "decode"
                                      ? predict_decoding(costs, machine)
                                      : predict_training(costs, machine, input.epoch);
    checks.push_back({input.name, speed, prediction.images_per_s});
  }
  return checks;
}

class CommandPredict final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("report", report_, "Output of `packhorse-train measure --json`")->required();
    app.add_option("--cpus", machine_.cpus, "Cores of the machine")->check(program::positive());
    app.add_option("--devices", machine_.devices, "GPUs of the machine")
        ->check(program::positive());
    app.add_option("--device-rate", device_rate_,
                   "Images/s that one GPU trains (the measured device's rate)")
        ->check(program::positive());
    app.add_option("--workers", workers_,
                   "Reader threads of all processes together (the number of cores)")
        ->check(program::positive());
    app.add_option("--core-speed", core_speed_,
                   "Speed of its cores relative to the measured ones, e.g. 1.5")
        ->check(program::positive())
        ->capture_default_str();
    app.add_option("--storage", storage_, program::storages_text() + "\n(the page cache)");
    app.add_flag("--json", json_, "Print one JSON object: see docs/measuring.md");
    app.footer(
        "Example:\n"
        "  packhorse-train predict report.json --cpus 96 --devices 8 --device-rate 2800 --storage "
        "nfs\n\n"
        "The prediction is the smallest of four bounds: what the devices compute, what the cores "
        "prepare, what the storage\n"
        "delivers, and what reader threads get that each wait for one file. The check compares the "
        "same model with what was\n"
        "measured.");
  }

  int run() override {
    const Measurement measured = read_measurement(report_);
    machine_.workers = workers_ > 0 ? workers_ : static_cast<int>(std::ceil(machine_.cpus));
    machine_.device_is_cpu = device_rate_ == 0 && measured.machine.device_is_cpu;
    if (!storage_.empty()) machine_.storage = reader::parse_storage(storage_);
    std::vector<Prediction> predictions;
    for (const Measurement::Input& input : measured.inputs) {
      ImageCosts costs = measured.costs(input, machine_.storage);
      costs.read_cpu_s /= core_speed_;
      costs.decode_cpu_s /= core_speed_;
      if (device_rate_ > 0) costs.step_s = 1 / device_rate_;
      predictions.push_back(predict_training(costs, machine_));
    }
    const std::vector<Check> checks = check(measured);
    fmt::print("{}", json_ ? json_text(to_json(measured, predictions, checks))
                           : to_words(measured, predictions, checks));
    return program::kDone;
  }

 private:
  Condition condition() const {
    if (!machine_.storage) return {};
    return {Condition::Kind::kSimulated, *machine_.storage};
  }

  Json to_json(const Measurement& measured, const std::vector<Prediction>& predictions,
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
      json["predictions"].push_back({{"input", measured.inputs[at].name},
                                     {"images_per_s", one.images_per_s},
                                     {"bottleneck", one.bottleneck},
                                     {"limits",
                                      {{"storage", bound(one.storage)},
                                       {"cpu", bound(one.cpu)},
                                       {"device", bound(one.device)},
                                       {"latency", bound(one.latency)}}}});
    }
    json["not_predicted"] = measured.not_warm;
    json["check"] = Json::array();
    for (const Check& one : checks) {
      json["check"].push_back({{"input", one.input},
                               {"condition", one.measured.condition},
                               {"work", one.measured.work},
                               {"predicted", one.predicted},
                               {"measured", one.measured.images_per_s},
                               {"error", one.error()}});
    }
    return json;
  }

  std::string to_words(const Measurement& measured, const std::vector<Prediction>& predictions,
                       const std::vector<Check>& checks) const {
    std::string text =
        fmt::format("predicted for {:g} cores, {}, {}, from {}\n", machine_.cpus,
                    program::count_text(static_cast<std::uint64_t>(machine_.devices), "device"),
                    machine_.storage ? "storage " + printable(machine_.storage->name)
                                     : std::string("the page cache"),
                    printable(report_.native()));
    std::vector<std::vector<std::string>> rows = {{"training", "images/s", "limit", "device",
                                                   "cores", "storage", "waiting workers",
                                                   "vs folder"}};
    for (std::size_t at = 0; at < predictions.size(); ++at) {
      const Prediction& one = predictions[at];
      rows.push_back({measured.inputs[at].name, bound_text(one.images_per_s), one.bottleneck,
                      bound_text(one.device), bound_text(one.cpu), bound_text(one.storage),
                      bound_text(one.latency),
                      fmt::format("{:.2f}x", one.images_per_s / predictions[0].images_per_s)});
    }
    text += program::table_text(rows);
    for (const std::string& name : measured.not_warm)
      text += printable_text("not predicted: " + name + ": it was not measured warm\n");
    std::vector<double> errors;
    rows = {{"check on this machine", "condition", "work", "predicted", "measured", "error"}};
    for (const Check& one : checks) {
      rows.push_back({one.input, one.measured.condition, one.measured.work,
                      bound_text(one.predicted), bound_text(one.measured.images_per_s),
                      fmt::format("{:+.0f} %", 100 * one.error())});
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
