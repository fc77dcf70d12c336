#include <fmt/format.h>

#include "base/output_file.h"
#include "base/printable.h"
#include "base/stop.h"
#include "commands.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "detection_page.h"
#include "help/help_text.h"
#include "packhorse/analysis/detection_scores.h"
#include "packhorse/trainer/train/evaluate.h"
#include "recipe_options.h"

namespace packhorse::trainer {

namespace {

using program::Json;

class CommandEval final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    model_.add_options(app);
    app.add_option("--data", options_.data,
                   "Packed dataset, which may lie at a URL, or class folder")
        ->required();
    app.add_option("--split", options_.split, "Split of --data to score (val, or test)");
    app.add_option("--batch-size", options_.batch_size,
                   "Pictures at once (default: as many as in training)")
        ->check(CLI::PositiveNumber);
    run_.add_device(app);
    loader_.add_options(app, {"workers"});
    program::add_image_limits(app, options_.limits, "Image limits");
    remote_.setup(app);
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_output(
        app, "--report", report_,
        "To find objects: write a page of HTML with the classes' curves and the worst "
        "pictures");
    help::show_as_usual(app, {"--checkpoint", "--weights", "--arch", "--data", "--split",
                              "--batch-size", "--device", "--report", "--json"});
    app.footer(
        "Example:\n"
        "  packhorse-train eval --checkpoint run/best.pt --data packed/cifar10\n\n"
        "Image size and cropping are those of the checkpoint, so the figures match those of fit.");
  }

  int run() override {
    if (!report_.empty()) check_output(report_);
    options_.device = run_.pick();
    share_cpus();
    loader_.put_into(options_);
    options_.model = model_.file();
    remote_.enable({options_.data.string()});
    WorstPictures worst(kWorstShown);
    if (!report_.empty())
      options_.observer = [&](const SeenPicture& picture) { worst.add(picture); };
    const EvaluateResult result = evaluate(options_, current_stop());
    const Scores& scores = result.scores;
    if (!report_.empty()) write_report(result, worst);
    if (json_) {
      fmt::print("{}", json_text(to_json(result)));
    } else {
      const bool detects = scores.detection != nullptr;
      fmt::print("{} on {}\n", to_text(scores, detects ? scores.values.size() : 3),
                 program::count_text(scores.images, "image"));
      if (detects) fmt::print("{}", class_table(*scores.detection, result.state.classes));
    }
    return program::kDone;
  }

 private:
  static constexpr std::size_t kWorstShown = 12;

  void write_report(const EvaluateResult& result, const WorstPictures& worst) const {
    const std::string page =
        detection_page({.title = options_.model.path().string() + " on " + options_.data.string(),
                        .scores = result.scores,
                        .classes = result.state.classes,
                        .dataset = *result.dataset,
                        .worst = worst.pictures(),
                        .limits = options_.limits});
    write_output(report_, as_bytes(page));
  }

  static program::Json path_json(const std::filesystem::path& path) {
    return path.empty() ? program::Json() : program::Json(path.string());
  }

  Json to_json(const EvaluateResult& result) const {
    const Scores& scores = result.scores;
    Json json = {{"checkpoint", path_json(options_.model.checkpoint)},
                 {"weights", path_json(options_.model.weights)},
                 {"data", options_.data.string()},
                 {"device", describe(options_.device)},
                 {"task", name_of(result.state.recipe.task)},
                 {"arch", result.state.recipe.arch},
                 {"images", scores.images}};
    for (const ScoreName& name : score_names(scores.task)) json[name.key] = scores.at(name.key);
    if (scores.detection == nullptr) return json;
    json["classes"] = Json::array();
    for (std::size_t i = 0; i < result.state.classes.size(); ++i) {
      const DetectionReport::OfClass& of = scores.detection->classes.at(i);
      const auto number = [](const DetectionReport::Score& s) { return s ? Json(*s) : Json(); };
      json["classes"].push_back({{"name", result.state.classes[i]},
                                 {"objects", of.objects},
                                 {"detections", of.detections},
                                 {"ap", number(of.ap)},
                                 {"ap50", number(of.ap50)},
                                 {"recall", number(of.recall)},
                                 {"precision50", of.precision50}});
    }
    return json;
  }

  static std::string class_table(const DetectionReport& report,
                                 const std::vector<std::string>& classes) {
    std::string text = fmt::format("{:>10} {:>10} {:>8} {:>8} {:>8}  class\n", "objects", "found",
                                   "AP", "AP50", "recall");
    const auto number = [](const DetectionReport::Score& score) {
      return score ? fmt::format("{:.4f}", *score) : "-";
    };
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const DetectionReport::OfClass& of = report.classes.at(i);
      text += fmt::format("{:>10} {:>10} {:>8} {:>8} {:>8}  {}\n", of.objects, of.detections,
                          number(of.ap), number(of.ap50), number(of.recall), printable(classes[i]));
    }
    return text;
  }

  EvaluateOptions options_;
  ModelOptions model_;
  program::RemoteArguments remote_;
  RunOptions run_;
  LoaderArguments loader_;
  bool json_ = false;
  std::filesystem::path report_;
};

}  // namespace

std::unique_ptr<program::Command> make_eval_command() { return std::make_unique<CommandEval>(); }

}  // namespace packhorse::trainer
