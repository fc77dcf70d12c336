#include <fmt/format.h>

#include "commands.h"
#include "common/checks.h"
#include "common/terminal.h"
#include "packhorse/base/printable.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/formats/dataset_card.h"
#include "packhorse/formats/export_index.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using program::Json;

std::string_view words_of(CardOutcome outcome) {
  switch (outcome) {
    case CardOutcome::kWritten:
      return "written";
    case CardOutcome::kUnchanged:
      return "unchanged";
    case CardOutcome::kKept:
      return "kept";
    case CardOutcome::kNone:
      break;
  }
  return "none";
}

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

  int run(const std::stop_token&) override {
    const std::vector<fs::path> paths = find_datasets(dataset_);
    Json objects = Json::array();
    for (const fs::path& path : paths) {
      const bool split = path != fs::path(dataset_);
      fs::path out = output_;
      if (!output_.empty() && split) out /= path.filename();
      const ExportedIndexReport report = export_indexes(path, out, options_, jobs_);
      if (!json_) {
        fmt::print("{}: {} written, {} unchanged, {}\n",
                   printable((out.empty() ? path : out).native()),
                   program::count_text(report.written.size(), "file"), report.unchanged.size(),
                   program::bytes_text(report.bytes));
      }
      objects.push_back({{"path", (out.empty() ? path : out).string()},
                         {"written", report.written},
                         {"unchanged", report.unchanged},
                         {"bytes", report.bytes}});
    }
    // The card names shards by their paths from where it lies.
    const CardOutcome card = output_.empty() ? write_card(dataset_, paths) : CardOutcome::kNone;
    if (json_) {
      const bool one = paths.front() == fs::path(dataset_);
      Json object = one ? objects.front() : Json{{"datasets", objects}};
      object["card"] = words_of(card);
      fmt::print("{}", program::to_text(object));
    } else if (card != CardOutcome::kNone) {
      fmt::print("{}: {}\n", printable((fs::path(dataset_) / kCardName).native()),
                 card == CardOutcome::kKept ? "kept as it is, with other text" : words_of(card));
    }
    return program::kDone;
  }

 private:
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
