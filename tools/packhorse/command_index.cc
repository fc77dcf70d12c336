#include <fmt/format.h>

#include "commands.h"
#include "common/checks.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "packhorse/adopting/adopt.h"
#include "packhorse/base/error.h"
#include "packhorse/base/output_file.h"
#include "packhorse/base/printable.h"
#include "packhorse/labels/class_file.h"
#include "packhorse/reports/pack_report.h"
#include "shared/pack_text.h"

namespace packhorse {

namespace {

using program::with_commas;

std::string described_formats() {
  std::string text;
  for (const ForeignFormat* format : foreign_formats())
    text += fmt::format("\n  {:<9} {}", format->name, format->summary);
  return text;
}

class CommandIndex final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("shards", shards_, "Shards, folders of them, or patterns in quotes")->required();
    app.add_option(
        "--out", out_,
        "Make the dataset in this directory, with links to the shards, instead of beside them");
    app.add_flag("--overwrite", options_.overwrite, "Replace an earlier adoption");
    program::add_jobs(app, options_.jobs);
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary);
    program::add_output(app, "--log", log_file_,
                        "Write each reject and skip to this file, as one JSON line");
    app.add_option("--classes", classes_file_,
                   "File with one class name per line, which fixes the labels")
        ->group("Samples");
    app.add_option("--labels", options_.labels,
                   "File of lines `key label`, used instead of the shards' labels")
        ->group("Samples");
    app.add_option("--fields", fields_,
                   "Extra fields to keep, e.g. json,seg.png; none = no fields; default: all")
        ->group("Samples");
    app.add_option("--targets", targets_,
                   "What the field `objects` of shards that packhorse wrote was made from, as for "
                   "pack: its classes are known then, and the reader delivers it")
        ->type_name("NOTATION[:FILE]")
        ->group("Samples");
    app.add_option("--target-classes", target_classes_file_,
                   "File with one class of the objects per line, for yolo and voc")
        ->group("Samples");
    app.add_option("--target-keypoints", options_.targets.keypoints,
                   "yolo: how many key points each object has")
        ->check(program::positive())
        ->group("Samples");
    app.add_option("--max-rejects", max_rejects_,
                   "Publish even if up to N, or P%, of the inputs are rejected")
        ->capture_default_str()
        ->group("Samples");
    app.add_option("--max-pixels", options_.limits.pixels, "Reject images with more pixels")
        ->capture_default_str()
        ->group("Samples");
    app.add_flag("--first-frame", options_.limits.first_frame,
                 "Take animations, and TIFFs of several pages: readers show the first picture");
    program::add_bands(app, options_.limits.bands, options_.limits.pages_as_bands, {});
    ArrayNames& arrays = options_.shards.arrays;
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

  int run(const std::stop_token& stop) override {
    if (!log_file_.empty()) check_output(log_file_);
    if (!out_.empty()) options_.out = out_;
    options_.max_rejects = RejectLimit::parse(max_rejects_);
    if (!targets_.empty()) options_.targets.add(targets_);
    if (!target_classes_file_.empty())
      options_.targets.classes = read_class_file(target_classes_file_);
    if (!classes_file_.empty()) options_.classes = read_class_file(classes_file_);
    if (!fields_.empty()) options_.shards.fields = FieldChoice::parse(fields_);
    options_.walkers = walkers_of_this_program();
    Progress progress;
    PackReport report;
    try {
      const program::ProgressLine line(progress, "indexing", quiet_);
      report = adopt({shards_.begin(), shards_.end()}, options_, &progress, stop);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted, "stopped; nothing was published", shards_.front(),
                  "run the same command again: it starts over");
    }
    if (!log_file_.empty()) write_output(log_file_, as_bytes(pack_log_text(report)), stop);
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
        options_.max_rejects.allowed(report.accounting.seen), printable(shards_.front()));
    return program::kDamage;
  }

 private:
  std::vector<std::string> shards_;
  std::string targets_, target_classes_file_;
  std::string out_, classes_file_, fields_, log_file_, max_rejects_ = "0";
  AdoptOptions options_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_index_command() { return std::make_unique<CommandIndex>(); }

}  // namespace packhorse
