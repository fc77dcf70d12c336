#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/output_file.h"
#include "base/stop.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/remote.h"
#include "common/storage.h"
#include "common/terminal.h"
#include "help/help_text.h"
#include "measure/measure.h"
#include "packhorse/base/error.h"
#include "recipe_options.h"
#include "report_json.h"

namespace packhorse::trainer {

namespace {

/// Removes a folder in the end, even after an error; clear `path` to keep the folder.
struct Scratch {
  std::filesystem::path path = {};
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

class CommandMeasure final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    add_inputs(app);
    recipe_.add_model_options(app);
    run_.add_device(app);
    loader_.add_options(app, {"workers", "slots"});
    passes_.add_options(app);
    program::add_image_limits(app, options_.limits, "Image limits");
    app.add_flag("--cold", options_.cold,
                 "Also measure from the disk: drop an input from the page cache before each pass "
                 "(as root: the whole page cache), and prove it");
    app.add_option("--storage", storages_,
                   program::storages_text() + " (may be given several times)");
    app.add_flag("--cuda-graph", options_.cuda_graph, "Replay steps as one CUDA graph");
    app.add_flag("--gpu-decode", options_.gpu_decode, "Decode JPEGs on the GPU");
    app.add_flag("--json", json_, "Print one JSON object: see docs/measuring.md");
    program::add_output(app, "--save", save_,
                        "Also write the JSON object to this file, for scripts/plot");
    remote_.setup(app, program::RemoteArguments::Cache::kNever);
    program::add_quiet(app, quiet_, program::kProgress);
    help::show_as_usual(app, {"--folder", "--packed", "--pack-all", "--formats", "--modes",
                              "--scratch", "--arch", "--batch-size", "--device", "--workers",
                              "--repeats", "--cold", "--storage", "--json", "--save", "--quiet"});
    app.footer(
        "Examples:\n"
        "  packhorse-train measure --folder photos --packed packed/wds --packed packed/lmdb "
        "--cold\n"
        "  packhorse-train measure --folder photos --packed packed/wds --packed s3://bucket/wds\n"
        "  packhorse-train measure --folder photos --pack-all --storage hdd --storage nfs --save "
        "report.json\n"
        "  scripts/plot report.json --out report.html\n\n"
        "The page cache is always measured; datasets at URLs are read from there. Repeats are "
        "interleaved. read, read+decode and training are separate passes.");
  }

  int run() override {
    if (options_.packed.empty() && !pack_all_) {
      throw Error(ErrorKind::kUsage, "there is nothing to compare the folder with", {},
                  "give datasets packed from it with --packed, or let --pack-all make them");
    }
    options_.recipe = recipe_.choices();
    options_.device = run_.pick();
    share_cpus();
    loader_.put_into(options_);
    passes_.put_into(options_);
    for (const std::string& text : storages_)
      options_.storages.push_back(reader::parse_storage(text));
    options_.validate();
    std::vector<std::string> paths;
    for (const std::filesystem::path& path : options_.packed) paths.push_back(path.string());
    if (remote_.enable(paths))
      options_.remote_bytes = [] { return remote_counters().storage.bytes; };
    std::optional<OutputFile> saved;  // opened now: no measurement is lost to a misspelt folder
    if (!save_.empty()) saved.emplace(save_);
    const program::StatusLine status(quiet_);
    const auto note = [&](const std::string& text) { status.show(text); };
    Scratch scratch;
    const std::vector<PackingCost> packing = pack(scratch, note);
    const SpeedReport report = measure(options_, note, current_stop());
    status.clear();
    const std::string json = json_text(measurement_json(report, options_, packing));
    fmt::print("{}", json_ ? json : measurement_text(report, options_, packing));
    if (saved) {
      saved->write(as_bytes(json));
      saved->commit();
    }
    return program::kDone;
  }

 private:
  void add_inputs(CLI::App& app) {
    app.add_option("--folder", options_.folder, "Folder of images, as it was before packing")
        ->required();
    app.add_option("--packed", options_.packed,
                   "Packed datasets of that folder, which may lie at URLs (may be given several "
                   "times)");
    auto* all =
        app.add_flag("--pack-all", pack_all_,
                     "First pack the folder into every format and image mode, and report the cost");
    app.add_option("--formats", all_.formats, "With --pack-all: only these formats, e.g. wds,lmdb")
        ->delimiter(',')
        ->needs(all);
    app.add_option("--modes", all_.image_modes,
                   "With --pack-all: only these image modes, e.g. original,roi")
        ->delimiter(',')
        ->needs(all);
    app.add_option("--pack-side", side_,
                   "With --pack-all: short side for resize, side for raw, in pixels (with "
                   "--augment rrc, 8/7 of --image-size: 256 for 224; otherwise --image-size)")
        ->check(program::positive())
        ->needs(all);
    app.add_option("--scratch", scratch_,
                   "With --pack-all: new folder to pack into, on the storage to measure")
        ->capture_default_str()
        ->needs(all);
    app.add_flag(
           "--keep", keep_,
           "With --pack-all: keep the packed datasets, and reuse those an earlier run kept there")
        ->needs(all);
    app.add_option("--split", options_.split, "Split to use (train)");
  }

  /// Refuses a folder that exists: it belongs to somebody, and would be removed.
  [[noreturn]] void refuse_scratch() const {
    throw Error(ErrorKind::kExists, "the scratch folder already exists", scratch_,
                "remove it, name another with --scratch, or reuse its datasets with --keep");
  }

  std::vector<PackingCost> pack(Scratch& scratch,
                                const std::function<void(const std::string&)>& note) {
    if (!pack_all_) return {};
    if (!keep_) {
      if (std::filesystem::exists(scratch_)) refuse_scratch();
      scratch.path = scratch_;
    }
    all_.folder = options_.folder;
    all_.scratch = scratch_;
    all_.limits = options_.limits;
    const Recipe recipe = recipe_for(options_);
    all_.limits.bands = recipe.channels > 0;
    all_.side = side_.value_or(side_for(recipe));
    std::vector<PackingCost> packing = pack_all(all_, note, current_stop());
    for (const PackingCost& cost : packing) options_.packed.push_back(cost.path);
    return packing;
  }

  MeasureOptions options_;
  RecipeArguments recipe_;
  LoaderArguments loader_;
  RunOptions run_;
  PassOptions passes_;
  program::RemoteArguments remote_;
  PackAllOptions all_;
  std::vector<std::string> storages_;
  std::optional<int> side_;
  std::filesystem::path scratch_ = "packhorse-measure.scratch", save_;
  bool pack_all_ = false, keep_ = false, json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_measure_command() {
  return std::make_unique<CommandMeasure>();
}

}  // namespace packhorse::trainer
