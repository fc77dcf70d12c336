#include <fmt/format.h>

#include "base/resources.h"
#include "base/stop.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/remote.h"
#include "common/storage.h"
#include "common/terminal.h"
#include "help/help_text.h"
#include "packhorse/base/error.h"
#include "recipe_options.h"
#include "report_json.h"

namespace packhorse::trainer {

namespace {

class CommandSweep final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("--data", options_.data, "Packed dataset, which may lie at a URL, or folder")
        ->required();
    app.add_option("--split", options_.measure.split, "Split to use (train)");
    recipe_.add_model_options(app);
    app.add_option("--device", device_, "auto: a GPU if there is one")
        ->check(program::one_of({"auto", "cpu", "cuda"}))
        ->capture_default_str();
    app.add_option("--workers", options_.workers,
                   "Numbers of reader threads to try, e.g. 1,2,4 (1, 2, 4, ... up to twice the "
                   "number of CPUs)")
        ->delimiter(',')
        ->check(program::not_negative());
    app.add_option("--slots", options_.slots, "Numbers of batches in memory to try")
        ->delimiter(',')
        ->check(program::in_range(2, 1024))
        ->capture_default_str();
    passes_.add_options(app);
    program::add_image_limits(app, options_.measure.limits, "Image limits");
    auto* cold = app.add_flag("--cold", cold_,
                              "Measure from the disk: drop the input from the page cache before "
                              "each pass (as root: the whole page cache), and prove it");
    app.add_option("--storage", storage_, program::storages_text())->excludes(cold);
    app.add_flag("--json", json_, "Print one JSON object: see docs/measuring.md");
    remote_.setup(app, program::RemoteArguments::Cache::kNever);
    program::add_quiet(app, quiet_, program::kProgress);
    help::show_as_usual(app, {"--data", "--arch", "--batch-size", "--device", "--repeats", "--cold",
                              "--storage", "--json", "--quiet"});
    app.footer("Example:\n  packhorse-train sweep --data packed/wds --storage nfs");
  }

  int run() override {
    set_compute_threads(available_cpus());
    options_.measure.recipe = recipe_.choices();
    options_.measure.device = pick_device(device_);
    passes_.put_into(options_.measure);
    if (remote_.enable({options_.data.string()}))
      options_.measure.remote_bytes = [] { return remote_counters().storage.bytes; };
    if (cold_) options_.condition = Condition::cold();
    if (!storage_.empty())
      options_.condition = {Condition::Kind::kSimulated, reader::parse_storage(storage_)};
    const program::StatusLine status(quiet_);
    const SweepReport report = sweep(
        options_, [&](const std::string& text) { status.show(text); }, current_stop());
    status.clear();
    fmt::print("{}", json_ ? json_text(sweep_json(report, options_.measure)) : sweep_text(report));
    return program::kDone;
  }

 private:
  SweepOptions options_;
  RecipeArguments recipe_;
  PassOptions passes_;
  program::RemoteArguments remote_;
  std::string device_ = "auto", storage_;
  bool cold_ = false, json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_sweep_command() { return std::make_unique<CommandSweep>(); }

}  // namespace packhorse::trainer
