#include <fmt/format.h>

#include "base/output_file.h"
#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "formats/foreign_shard.h"
#include "packhorse/adopting/adopt.h"
#include "packhorse/base/error.h"
#include "reports/reports.h"
#include "shared/pack_text.h"

namespace packhorse {

namespace {

using program::with_commas;

std::string described_formats() {
  std::string text;
  for (const ForeignFormat* format : foreign_formats())
    text += fmt::format("\n  {:<12} {}", format->name, format->summary);
  return text;
}

class CommandIndex final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("shards", shards_, "Shards, folders of them, or patterns in quotes")->required();
    app.add_option(
        "--out", out_,
        "Make the dataset in this directory, with links to the shards, instead of beside them");
    for (const PackOption* option : pack_options(OptionTaker::kIndex))
      table_.declare(app, *option, option->group == OptionGroup::kRun ? "" : "Samples");
    const auto describe = [&](const char* name, const char* help) {
      app.get_option(name)->description(help);
    };
    describe("--overwrite", "Replace an earlier adoption");
    describe("--fields", "Extra fields to keep, e.g. json,seg.png; none = no fields; default: all");
    describe("--targets",
             "What the field `objects` of shards that packhorse wrote was made from, as for pack: "
             "its classes are known then, and the reader delivers it");
    describe("--max-pixels", "Reject images with more pixels");
    describe("--first-frame",
             "Take animations, and TIFFs of several pages: readers show the first picture");
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary);
    program::add_output(app, "--log", log_file_,
                        "Write each reject and skip to this file, as one JSON line");
    app.add_option("--labels", own_.labels,
                   "File of lines `key label`, used instead of the shards' labels")
        ->group("Samples");
    ArrayNames& arrays = own_.shards.arrays;
    app.add_option("--images", arrays.images, "Array of the images")->group("Names of arrays");
    app.add_option("--offsets", arrays.offsets, "Array of the offsets at which the images begin")
        ->group("Names of arrays");
    app.add_option("--label-array", arrays.labels, "Array of the labels")->group("Names of arrays");
    app.add_option("--keys", arrays.keys, "Array of the keys")->group("Names of arrays");
    app.footer("Shards:" + described_formats() +
               "\n\n"
               "Examples:\n"
               "  packhorse index 'shards/train-{000000..000146}.tar'\n"
               "  packhorse index train_lmdb --out train --labels labels.txt\n\n"
               "The shards stay as they are. dataset.json, an index for each shard, classes.txt "
               "and SHA256SUMS are\n"
               "written beside them or in DIR; no existing file is replaced.");
  }

  int run() override {
    if (!log_file_.empty()) check_output(log_file_);
    PackOptions given;
    set_options(given, table_.given());
    AdoptOptions options = AdoptOptions::of(given);
    if (!out_.empty()) options.out = out_;
    options.labels = own_.labels;
    options.shards.arrays = own_.shards.arrays;
    options.walkers = walkers_of_this_program();
    Progress progress;
    PackReport report;
    try {
      const program::ProgressLine line(progress, "indexing", quiet_);
      report = adopt({shards_.begin(), shards_.end()}, options, &progress);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted, "stopped; nothing was published", shards_.front(),
                  "run the same command again: it starts over");
    }
    if (!log_file_.empty()) write_output(log_file_, as_bytes(pack_log_text(report)));
    print_rejects(report);
    fmt::print("{}", json_                        ? json_text(to_json(report))
                     : quiet_ && report.published ? notes_in_words(report)
                                                  : to_words(report, {}));
    if (report.published) return program::kDone;
    fmt::print(
        stderr,
        "packhorse: error: {} of {} inputs were rejected, {} allowed: nothing was published\n"
        "  where: {}\n"
        "  next:  allow them with --max-rejects; --log FILE lists all of them\n",
        with_commas(report.accounting.rejected), with_commas(report.accounting.seen),
        options.max_rejects.allowed(report.accounting.seen), printable(shards_.front()));
    return program::kDamage;
  }

 private:
  std::vector<std::string> shards_;
  std::string out_, log_file_;
  program::TableOptions table_;
  AdoptOptions own_;  ///< what `pack` has not
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_index_command() { return std::make_unique<CommandIndex>(); }

}  // namespace packhorse
