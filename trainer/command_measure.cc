#include "command_measure.h"

#include <fmt/format.h>

#include "common/machine.h"
#include "common/terminal.h"
#include "packhorse/trainer/measure.h"
#include "recipe_options.h"

namespace packhorse::trainer {

namespace {

using program::Json;
using program::with_commas;

double ratio(const reader::Spread& speed, const reader::Spread& base) {
  return base.median > 0 ? speed.median / base.median : 0;
}

Json spread_json(const reader::Spread& spread) {
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}};
}

std::string rate_text(const reader::Spread& spread) {
  return with_commas(static_cast<std::uint64_t>(spread.median));
}

class CommandMeasure final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("--folder", options_.folder, "The folder of images, as it was before packing")
        ->required();
    app.add_option("--packed", options_.packed, "Packed datasets of that folder (may be repeated)")
        ->required();
    app.add_option("--split", options_.split, "Split to use (train)");
    recipe_.add_model_options(app);
    run_.add_options(app);
    app.add_option("--steps", options_.steps, "Timed training steps of one repeat")
        ->capture_default_str();
    app.add_option("--repeats", options_.repeats,
                   "Passes over each input, in turns; figures are medians")
        ->capture_default_str();
    app.add_option("--max-read-seconds", options_.max_read_seconds,
                   "Longest reading or decoding pass; one epoch if that is shorter")
        ->capture_default_str();
    app.add_flag("--json", json_, "Print one JSON object");
    app.footer(
        "Example:\n  packhorse-train measure --folder photos --packed packed/wds --packed "
        "packed/lmdb\n\n"
        "The page cache is warm: every input is read once before the first repeat. `packhorse "
        "bench --cold` measures\n"
        "the storage itself.");
  }

  int run(const std::stop_token& stop) override {
    use_available_cpus();
    options_.recipe = recipe_.choices();
    options_.device = pick_device(run_.device);
    options_.workers = run_.workers;
    const bool terminal = program::stderr_is_terminal();
    const SpeedReport report = measure(
        options_,
        [&](const std::string& note) {
          if (terminal) fmt::print(stderr, "\r{}\x1b[K", note);
          if (terminal) std::fflush(stderr);
        },
        stop);
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    fmt::print("{}", json_ ? program::to_text(to_json(report)) : to_words(report));
    return program::kDone;
  }

 private:
  Json to_json(const SpeedReport& report) const {
    Json inputs = Json::array();
    const InputSpeed& base = report.inputs.front();
    for (const InputSpeed& input : report.inputs) {
      inputs.push_back({{"input", input.input.string()},
                        {"format", input.format},
                        {"image", input.image_mode},
                        {"samples", input.samples},
                        {"read_images_per_s", spread_json(input.read)},
                        {"decode_images_per_s", spread_json(input.decode)},
                        {"training_images_per_s", spread_json(input.training)},
                        {"data_wait_share", input.wait_share},
                        {"loss", input.loss},
                        {"speedup",
                         {{"read", ratio(input.read, base.read)},
                          {"decode", ratio(input.decode, base.decode)},
                          {"training", ratio(input.training, base.training)}}}});
    }
    return {{"machine", program::machine_json()},
            {"device", report.device},
            {"arch", report.recipe.arch},
            {"image_size", report.recipe.image_size},
            {"batch_size", report.recipe.batch_size},
            {"workers", report.workers},
            {"steps", options_.steps},
            {"repeats", options_.repeats},
            {"cache", "warm"},
            {"inputs", inputs}};
  }

  std::string to_words(const SpeedReport& report) const {
    const InputSpeed& base = report.inputs.front();
    std::vector<std::vector<std::string>> rows = {{"input", "format", "read img/s",
                                                   "read+decode img/s", "training img/s", "waiting",
                                                   "vs folder: read", "read+decode", "training"}};
    for (const InputSpeed& input : report.inputs) {
      rows.push_back({input.input.string(), input.format, rate_text(input.read),
                      rate_text(input.decode), rate_text(input.training),
                      fmt::format("{:.1f} %", 100 * input.wait_share),
                      fmt::format("{:.2f}x", ratio(input.read, base.read)),
                      fmt::format("{:.2f}x", ratio(input.decode, base.decode)),
                      fmt::format("{:.2f}x", ratio(input.training, base.training))});
    }
    return fmt::format(
               "{} at {} px on {}, batch {}, {}, {} x {}, medians, page cache warm\n",
               report.recipe.arch, report.recipe.image_size, report.device,
               report.recipe.batch_size,
               program::count_text(static_cast<std::uint64_t>(report.workers), "reader thread"),
               options_.repeats,
               program::count_text(static_cast<std::uint64_t>(options_.steps), "step")) +
           program::table_text(rows);
  }

  MeasureOptions options_;
  RecipeOptions recipe_;
  RunOptions run_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_measure_command() {
  return std::make_unique<CommandMeasure>();
}

}  // namespace packhorse::trainer
