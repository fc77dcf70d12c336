#include <fmt/format.h>

#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/terminal.h"
#include "reports/reports.h"

namespace packhorse {

namespace {

class CommandExportIndex final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("dataset", dataset_, "Packed dataset of tar shards, or directory of its splits")
        ->required();
    app.add_option("-o,--output", output_,
                   "Write to this directory instead (a folder for each split)");
    app.add_option("--dali-version", options_.dali_version, "Version of DALI's index, 1.1 or 1.2")
        ->check(program::one_of({"1.1", "1.2"}))
        ->capture_default_str();
    program::add_jobs(app, jobs_);
    app.add_flag("--json", json_, "Print one JSON object");
    app.footer(
        "Example:\n"
        "  packhorse export-index packed/train\n\n"
        "Writes shard-000000.idx for DALI (as its wds2idx), wids.json for wids (as widsindex, but "
        "for md5sum) and\n"
        "_info.json for timm, and a README.md by which Hugging Face's datasets.load_dataset() "
        "finds the shards of each\n"
        "split, unless there is one. `packhorse pack` already publishes them (README.md beside "
        "splits, never in a dataset);\n"
        "this makes them for shards that came without.\n"
        "No payload is read. Compressed shards cannot have them: their readers look up offsets in "
        "a plain tar.");
  }

  int run() override {
    const ExportReport report = export_all_indexes(dataset_, output_, options_, jobs_);
    fmt::print("{}", json_ ? json_text(to_json(report)) : to_words(report));
    return program::kDone;
  }

 private:
  std::string to_words(const ExportReport& report) const {
    std::string text;
    for (const ExportReport::Dataset& one : report.datasets) {
      text += fmt::format("{}: {} written, {} unchanged, {}\n", printable(one.path.native()),
                          program::count_text(one.files.written.size(), "file"),
                          one.files.unchanged.size(), program::bytes_text(one.files.bytes));
    }
    if (report.card == CardOutcome::kNone) return text;
    const std::filesystem::path card = std::filesystem::path(dataset_) / kCardName;
    return text + fmt::format("{}: {}\n", printable(card.native()),
                              report.card == CardOutcome::kKept ? "kept as it is, with other text"
                                                                : name_of(report.card));
  }

  std::string dataset_, output_;
  ExportedIndexOptions options_;
  int jobs_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_export_index_command() {
  return std::make_unique<CommandExportIndex>();
}

}  // namespace packhorse
