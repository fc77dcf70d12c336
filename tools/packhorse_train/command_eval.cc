#include <fmt/format.h>

#include "commands.h"
#include "common/image_limits.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "packhorse/trainer/train/evaluate.h"
#include "recipe_options.h"

namespace packhorse::trainer {

namespace {

class CommandEval final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    auto* what = app.add_option_group("what", "One of these");
    what->add_option("--checkpoint", options_.checkpoint, "A last.pt or best.pt written by fit");
    auto* weights = what->add_option("--weights", options_.weights,
                                     "Weights of --arch alone, without a checkpoint: a "
                                     ".safetensors file, or a .pth file of torch.save()");
    what->require_option(1);
    for (CLI::Option* option : recipe_.add_network_options(app)) option->needs(weights);
    app.add_option("--data", options_.data,
                   "Packed dataset, which may lie at a URL, or class folder")
        ->required();
    app.add_option("--split", options_.split, "Split of --data to score (val, or test)");
    run_.add_options(app);
    program::add_image_limits(app, options_.limits, "Image limits");
    remote_.setup(app);
    app.add_flag("--json", json_, "Print one JSON object");
    app.footer(
        "Example:\n"
        "  packhorse-train eval --checkpoint run/best.pt --data packed/cifar10\n\n"
        "Image size and cropping are those of the checkpoint, so the figures match those of fit.");
  }

  int run(const std::stop_token& stop) override {
    options_.device = run_.apply();
    options_.workers = run_.workers;
    options_.recipe = recipe_.choices();
    remote_.enable({options_.data.string()});
    const EvaluateResult result = evaluate(options_, stop);
    const Scores& scores = result.scores;
    if (json_) {
      fmt::print("{}", json_text({{"checkpoint", path_json(options_.checkpoint)},
                                  {"weights", path_json(options_.weights)},
                                  {"data", options_.data.string()},
                                  {"device", describe(options_.device)},
                                  {"arch", result.state.recipe.arch},
                                  {"images", scores.images},
                                  {"top1", scores.top1},
                                  {"top5", scores.top5},
                                  {"loss", scores.loss}}));
    } else {
      fmt::print("top-1 {:.2f} %, top-5 {:.2f} %, loss {:.4f} on {}\n", scores.top1, scores.top5,
                 scores.loss, program::count_text(scores.images, "image"));
    }
    return program::kDone;
  }

 private:
  static program::Json path_json(const std::filesystem::path& path) {
    return path.empty() ? program::Json() : program::Json(path.string());
  }

  EvaluateOptions options_;
  RecipeOptions recipe_;
  program::RemoteArguments remote_;
  RunOptions run_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_eval_command() { return std::make_unique<CommandEval>(); }

}  // namespace packhorse::trainer
