#include <fmt/format.h>

#include <algorithm>

#include "base/output_file.h"
#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "formats/format.h"
#include "help/help_text.h"
#include "packhorse/base/error.h"
#include "packhorse/packing/pack.h"
#include "packhorse/packing/pack_status.h"
#include "reports/reports.h"
#include "shared/pack_text.h"
#include "shared/request.h"
#include "sources/source.h"
#include "transforms/transform.h"

namespace packhorse {

namespace {

using program::with_commas;

/// "wds (WebDataset: ...), lmdb (...)" for help texts.
template <class Kinds>
std::string described(const Kinds& kinds) {
  std::string text;
  for (const auto& kind : kinds) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(kind)>>) {
      text += fmt::format("\n  {:<12} {}", kind->name, kind->summary);
    } else {
      text += fmt::format("\n  {:<12} {}", kind.name, kind.summary);
    }
  }
  return text;
}

class CommandPack final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app_ = &app;
    app.add_option("source", source_, "What to pack (see below)")->required();
    app.add_option("out", out_, "Dataset to write; it appears only once it is complete")
        ->required();
    table_.declare(app, OptionGroup::kRun, {});
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary)
        ->excludes(app.get_option("--dry-run"));
    program::add_output(app, "--log", log_file_,
                        "Write each reject, skip and duplicate to this file, as one JSON line");
    using enum Option::Group;
    for (const OptionGroup group : {kSource, kAccepted, kLimits, kBands, kDecode})
      table_.declare(app, group, "Source");
    table_.declare(app, kSelection, "Selection");
    table_.declare(app, kImages, "Images");
    table_.declare(app, kShards, "Shards");
    table_.declare(app, kTasks, "Several machines");
    add_status(app);
    table_.declare(app, kStorage, program::kRemoteGroup);
    for (const char* const name : {"--source-kind", "--format", "--image"}) {
      CLI::Option* option = app.get_option(name);
      option->description(option->get_description() + " (see below)");
    }
    remote_.setup(app);
    help::show_as_usual(app, {"--format", "--labels", "--unlabelled", "--targets", "--split",
                              "--image", "--short-side", "--shard-bytes", "--seed", "--max-rejects",
                              "--overwrite", "--dry-run", "--jobs", "--json", "--quiet"});
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

  int run() override {
    if (!status_of_.empty()) return show_status();
    read_options();
    Progress progress;
    PackReport report;
    try {
      const program::ProgressLine line(progress, "packing", quiet_);
      report = pack(source_, out_, options_, &progress);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted,
                  is_url(out_) ? "stopped before the dataset was complete there"
                               : "stopped; nothing was published",
                  options_.staging.empty() ? staging_path(out_) : options_.staging,
                  "run the same command again: finished shards are kept");
    }
    if (!log_file_.empty()) write_output(log_file_, as_bytes(pack_log_text(report)));
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
  void add_status(CLI::App& app) {
    const auto take = [this](const std::string& out) {
      status_of_ = out;
      for (CLI::Option* option : app_->get_options()) option->required(false);
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

  void read_options() {
    set_options(options_, table_.given());
    if (!log_file_.empty()) check_output(log_file_);
    remote_.enable({source_, out_}, may_name_urls(source_));
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
        "         {}{}\n",
        with_commas(report.accounting.rejected), with_commas(report.accounting.seen),
        options_.max_rejects.allowed(report.accounting.seen), printable(source_),
        report.advice.empty() ? "fix or remove those files, or allow them with --max-rejects"
                              : report.advice,
        kept, explained(report));
  }

  /// How to learn what the codes behind rejects mean.
  static std::string explained(const PackReport& report) {
    if (report.rejects.empty()) return {};
    return fmt::format("; packhorse check --explain {} says what that code means",
                       row_of(report.rejects.front().code).finding);
  }

  std::string source_, out_, log_file_, status_of_;
  PackOptions options_;
  program::TableOptions table_;
  program::RemoteArguments remote_;
  CLI::App* app_ = nullptr;
  CLI::Option* status_ = nullptr;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_pack_command() { return std::make_unique<CommandPack>(); }

}  // namespace packhorse
