#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "common/checks.h"
#include "common/image_limits.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "packhorse/base/byte_size.h"
#include "packhorse/base/error.h"
#include "packhorse/base/output_file.h"
#include "packhorse/base/printable.h"
#include "packhorse/packing/pack.h"
#include "packhorse/packing/pack_status.h"
#include "packhorse/reports/pack_report.h"
#include "packhorse/transforms/transform.h"
#include "shared/pack_text.h"
#include "shared/request.h"
#include "shared/source_arguments.h"

namespace packhorse {

namespace {

using program::with_commas;

/// "wds (WebDataset: ...), lmdb (...)" for help texts.
template <class Kinds>
std::string described(const Kinds& kinds) {
  std::string text;
  for (const auto& kind : kinds) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(kind)>>) {
      text += fmt::format("\n  {:<9} {}", kind->name, kind->summary);
    } else {
      text += fmt::format("\n  {:<9} {}", kind.name, kind.summary);
    }
  }
  return text;
}

class CommandPack final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app_ = &app;
    needed_ = {app.add_option("source", source_, "What to pack (see below)")->required(),
               app.add_option("out", out_, "Dataset to write; it appears only once it is complete")
                   ->required(),
               app.add_option("-f,--format", options_.format, "Shard format (see below)")
                   ->type_name(choices_text(all_formats()))
                   ->required()};
    app.add_flag("--overwrite", options_.overwrite,
                 "Replace OUT, in one step, once the new one is complete");
    dry_run_ = app.add_flag(
        "--dry-run", options_.dry_run,
        "Only list and plan, and show splits, classes, labels and rejects; write nothing");
    program::add_jobs(app, options_.jobs);
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary)->excludes(dry_run_);
    program::add_output(app, "--log", log_file_,
                        "Write each reject, skip and duplicate to this file, as one JSON line");
    source_arguments_.setup(app, "Source", "Selection");
    app.add_flag("--allow-odd-classes", options_.list.allow_odd_classes,
                 "Accept class folders that would be refused: a single one, empty ones, or ones "
                 "named like a split, images, masks or labels; a wrapper folder is still removed")
        ->group("Source");
    app.add_option("--max-rejects", max_rejects_,
                   "Publish even if up to N, or P%, of the inputs are rejected")
        ->capture_default_str()
        ->group("Source");
    program::add_image_limits(app, options_.limits, "Source");
    program::add_bands(app, options_.limits.bands, options_.limits.pages_as_bands, "Source");
    app.add_flag("--decode", options_.decode,
                 "Also decode images that are stored unchanged, and reject damaged ones (slower)")
        ->group("Source");
    setup_images(app);
    setup_shards(app);
    setup_tasks(app);
    app.add_option(
           "--staging", options_.staging,
           "Directory in which a dataset for a URL is built; it holds some shards at a time; "
           "default: the URL's last part with .partial, in the working directory")
        ->type_name("DIR")
        ->group(program::kRemoteGroup);
    remote_.setup(app);
    app.footer("Sources:" + described(all_sources()) + "\n\nFormats:" + described(all_formats()) +
               "\n\nImage modes:" + described(all_transforms()) +
               "\n\n"
               "Examples:\n"
               "  packhorse pack imagenet packed --format wds --shard-bytes 512MiB\n"
               "  packhorse pack imagenet packed256 --format lmdb --image resize --short-side 256\n"
               "  packhorse pack packed converted --format hdf5\n\n"
               "Files are judged by their bytes: one named like an image must be an image, or it "
               "is rejected; hidden files\n"
               "and other files are skipped and counted. With more rejects than --max-rejects "
               "nothing is published, and the\n"
               "finished shards wait in OUT.partial for the next run. To continue an interrupted "
               "run where it stopped, run\n"
               "the same command again.");
  }

  int run(const std::stop_token& stop) override {
    if (!status_of_.empty()) return show_status();
    read_options();
    Progress progress;
    PackReport report;
    try {
      const program::ProgressLine line(progress, "packing", quiet_);
      report = pack(source_, out_, options_, &progress, stop);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted,
                  is_url(out_) ? "stopped before the dataset was complete there"
                               : "stopped; nothing was published",
                  options_.staging.empty() ? staging_path(out_) : options_.staging,
                  "run the same command again: finished shards are kept");
    }
    if (!log_file_.empty()) write_output(log_file_, as_bytes(pack_log_text(report)), stop);
    if (!report.preview) print_rejects(report);
    const bool done = options_.dry_run || options_.task || report.published;
    fmt::print("{}", json_            ? json_text(to_json(report))
                     : quiet_ && done ? notes_in_words(report)
                                      : to_words(report, options_));
    if (done) return program::kDone;
    print_refusal(report);
    return program::kDamage;
  }

 private:
  void setup_images(CLI::App& app) {
    TransformOptions& image = options_.transform;
    app.add_option("--image", options_.image, "How the images are stored (see below)")
        ->type_name(choices_text(all_transforms()))
        ->capture_default_str()
        ->group("Images");
    app.add_option("--short-side", image.short_side, "resize: length of the short side, in pixels")
        ->check(program::in_range(1, 65535))
        ->capture_default_str()
        ->group("Images");
    app.add_option("--quality", image.quality, "resize: JPEG quality")
        ->check(program::in_range(1, 100))
        ->capture_default_str()
        ->group("Images");
    app.add_option("--chroma", image.chroma, "resize: chroma sampling, as in the source or 4:2:0")
        ->transform(program::named<TransformOptions::Chroma>(
            {{"source", TransformOptions::Chroma::kAsSource},
             {"420", TransformOptions::Chroma::k420}}))
        ->option_text("source|420 [source]")
        ->group("Images");
    app.add_option("--restart-mcus", image.restart_mcus,
                   "roi, resize: approximate number of MCUs between restart markers")
        ->check(program::in_range(1, 8192))
        ->capture_default_str()
        ->group("Images");
    app.add_option("--size", image.size, "raw: width and height, in pixels")
        ->check(program::in_range(1, 16384))
        ->capture_default_str()
        ->group("Images");
    app.add_option("--fit", image.fit, "raw: crop to the centre, or letterbox the whole image")
        ->transform(program::named<TransformOptions::Fit>(
            {{"crop", TransformOptions::Fit::kCrop},
             {"letterbox", TransformOptions::Fit::kLetterbox}}))
        ->option_text("crop|letterbox [crop]")
        ->group("Images");
    app.add_option("--codec", image.codec, "lossless: what images other than JPEGs become")
        ->transform(program::named<TransformOptions::Codec>(
            {{"png", TransformOptions::Codec::kPng}, {"webp", TransformOptions::Codec::kWebp}}))
        ->option_text("png|webp [png]")
        ->group("Images");
  }

  void setup_shards(CLI::App& app) {
    const auto take_bytes = [this](const std::string& text) {
      options_.plan.shard_bytes = text == "none" ? 0 : parse_byte_size(text);
    };
    auto* bytes =
        app.add_option_function<std::string>(
               "--shard-bytes", take_bytes,
               "Target size of a shard, counting the source's bytes, e.g. 1GiB; none: one "
               "shard for each split")
            ->type_name("SIZE")
            ->default_str("256MiB")
            ->group("Shards");
    app.add_option("--shard-samples", options_.plan.shard_samples,
                   "Put exactly this many images in each shard instead")
        ->check(program::positive())
        ->excludes(bytes)
        ->group("Shards");
    seed_ =
        app.add_option("--seed", options_.plan.seed,
                       "Seed of the global shuffle; without it, a packed dataset keeps its order")
            ->capture_default_str()
            ->group("Shards");
    app.add_flag("--no-shuffle", no_shuffle_, "Keep the order of the source")
        ->excludes(seed_)
        ->group("Shards");
    app.add_option("--compress", compress_,
                   "zstd or zstd:LEVEL (1 to 19), for formats that support it")
        ->group("Shards");
    app.add_flag("--no-space-check", no_space_check_,
                 "Pack even if the dataset may not fit on the disk")
        ->group("Shards");
  }

  void setup_tasks(CLI::App& app) {
    auto* task = app.add_option("--task", task_,
                                "Pack only share I of N (0/8 ... 7/8) into OUT.partial, alongside "
                                "other processes on any machine; publishes nothing")
                     ->excludes(dry_run_)
                     ->group("Several machines");
    app.add_flag("--finish", options_.finish, "Check that all shares are packed, and publish")
        ->excludes(task)
        ->excludes(dry_run_)
        ->group("Several machines");
    const auto take = [this](const std::string& out) {
      status_of_ = out;
      for (CLI::Option* option : needed_) option->required(false);
    };
    status_ = app.add_option_function<std::string>(
                     "--status", take,
                     "Only say how far the packing of this OUT is, task by task, and which of them "
                     "are slow or gone; alone, or with --json")
                  ->type_name("OUT")
                  ->group("Several machines");
  }

  int show_status() const {
    for (const CLI::Option* option : app_->get_options()) {
      if (option->count() > 0 && option != status_ && option->get_name() != "--json")
        throw Error(ErrorKind::kUsage, "--status cannot be combined with " + option->get_name(), {},
                    "give --status OUT alone, or with --json");
    }
    const PackStatus status = pack_status(status_of_);
    fmt::print("{}", json_ ? json_text(to_json(status)) : to_words(status));
    return program::kDone;
  }

  /// Refuses options that the image mode does not use, since they would silently change nothing.
  void refuse_unused_settings() const {
    for (const std::string_view setting : all_settings()) {
      std::string option = "--" + std::string(setting);
      std::replace(option.begin(), option.end(), '_', '-');
      if (app_->get_option(option)->count() > 0)
        refuse_unused_setting(find_transform(options_.image), setting);
    }
  }

  void read_options() {
    refuse_unused_settings();
    if (!log_file_.empty()) check_output(log_file_);
    remote_.enable({source_, out_}, may_name_urls(source_));
    options_.plan.shuffle = !no_shuffle_;
    options_.check_space = !no_space_check_;
    options_.reorder = seed_->count() > 0;
    options_.max_rejects = RejectLimit::parse(max_rejects_);
    source_arguments_.read();
    if (!task_.empty()) options_.task = TaskShare::parse(task_);
    if (!compress_.empty()) options_.zstd_level = parse_zstd_level(compress_);
  }

  void print_refusal(const PackReport& report) const {
    const std::string kept = report.rejects_file.empty()
                                 ? "--log FILE lists all rejects"
                                 : "finished shards are kept, and all rejects are listed in " +
                                       printable(report.rejects_file.native());
    fmt::print(
        stderr,
        "packhorse: error: {} of {} inputs were rejected, {} allowed: nothing was published\n"
        "  where: {}\n"
        "  next:  {}, and run the same command again;\n"
        "         {}\n",
        with_commas(report.accounting.rejected), with_commas(report.accounting.seen),
        options_.max_rejects.allowed(report.accounting.seen), printable(source_),
        report.advice.empty() ? "fix or remove those files, or allow them with --max-rejects"
                              : report.advice,
        kept);
  }

  std::string source_, out_, log_file_, compress_, task_, status_of_;
  std::string max_rejects_ = "0";
  PackOptions options_;
  SourceArguments source_arguments_{options_};
  program::RemoteArguments remote_;
  const CLI::App* app_ = nullptr;
  CLI::Option *dry_run_ = nullptr, *seed_ = nullptr, *status_ = nullptr;
  std::vector<CLI::Option*> needed_;  ///< unless only the status is asked for
  bool no_shuffle_ = false, no_space_check_ = false, json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_pack_command() { return std::make_unique<CommandPack>(); }

}  // namespace packhorse
