#include <array>

#include "commands.h"
#include "common/options.h"
#include "help/help_text.h"
#include "inspect/list_action.h"
#include "inspect/report_action.h"
#include "inspect/sheet_action.h"
#include "inspect/show_action.h"
#include "inspect/summary_action.h"
#include "inspect/verify_action.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;

class CommandInspect final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    request_.setup_dataset(app);
    list_.setup(app);
    show_.setup(app);
    choice_.setup(app);
    sheet_.setup(app);
    report_.setup(app);
    verify_.setup(app);
    request_.setup_rest(app, program::kProgressAndSummary);
    program::add_bands(app, request_.limits, "Image limits", app.get_option("--against"));
    app_ = &app;
    // Only one of these at a time, so that --json has one object to print.
    constexpr std::array kShown = {"--list", "--show", "--sheet"};
    for (const char* const part : kShown) {
      for (const char* const other : {"--report", "--verify", "--against"})
        app.get_option(part)->excludes(app.get_option(other));
      for (const char* const other : kShown)
        if (part != other) app.get_option(part)->excludes(app.get_option(other));
    }
    program::add_moved(app, "--repair", "packhorse repair DATASET FROM");
    for (const char* const name : {"--stats", "--stats-sample", "--stats-seed"})
      program::add_moved(app, name, "packhorse stats DATASET [--sample N [--seed N]]");
    for (const char* const name : {"--duplicates", "--distance", "--identical"})
      program::add_moved(app, name, "packhorse duplicates DATASET [OTHER]");
    help::show_as_usual(app, {"--verify", "--against", "--list", "--show", "--output", "--draw",
                              "--sheet", "--sheet-of", "--class", "--samples", "--report",
                              "--decode", "--jobs", "--json", "--quiet"});
    app.footer(
        "Examples:\n"
        "  packhorse inspect packed/train\n"
        "  packhorse inspect packed/train --verify full\n"
        "  packhorse inspect packed --against imagenet\n"
        "  packhorse inspect packed/train --sheet sheet.jpg --sheet-of per-class\n\n"
        "--verify and --against exit with code 3 when anything is not as it was packed, and name "
        "the shard,\n"
        "sample and byte range. --list prints: number, key, label, class, bytes, size, kind, "
        "source path, separated\n"
        "by tabs.");
  }

  int run() override {
    if (choice_.wanted() && !list_.wanted() && !sheet_.wanted()) {
      throw Error(ErrorKind::kUsage, "--class and --samples need --list or --sheet", {},
                  "add one of these, or leave them out");
    }
    verify_.check();
    if (program::has_image_limits(*app_) && !decodes()) {
      throw Error(
          ErrorKind::kUsage, "image limits have no effect: no images are decoded", {},
          "add --verify full --decode, --against, --draw, --sheet or --report, or leave them out");
    }
    const std::vector<fs::path> paths = request_.datasets(verify_.sources());
    if (verify_.wanted()) return prove(paths);
    if (show_.wanted()) return show_.run(paths);
    if (sheet_.wanted()) return sheet_.run(paths);
    if (list_.wanted()) return list_.run(paths);
    if (report_.wanted()) return report_.run(paths);
    return summary_.run(paths);
  }

 private:
  bool decodes() const {
    return verify_.decodes() || show_.decodes() || sheet_.wanted() || report_.wanted();
  }

  int prove(const std::vector<fs::path>& paths) {
    const int code = verify_.run(paths);
    if (!report_.wanted()) return code;
    const int shown = report_.run(paths, &verify_.report());
    return code != program::kDone ? code : shown;
  }

  const CLI::App* app_ = nullptr;
  Request request_;
  inspect::SampleChoice choice_;
  inspect::SummaryAction summary_{request_};
  inspect::ListAction list_{request_, choice_};
  inspect::ShowAction show_{request_};
  inspect::SheetAction sheet_{request_, choice_};
  inspect::ReportAction report_{request_};
  inspect::VerifyAction verify_{request_};
};

}  // namespace

std::unique_ptr<program::Command> make_inspect_command() {
  return std::make_unique<CommandInspect>();
}

}  // namespace packhorse
