#include "command_inspect.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "common/terminal.h"
#include "inspect/list_action.h"
#include "inspect/report_action.h"
#include "inspect/sheet_action.h"
#include "inspect/show_action.h"
#include "inspect/summary_action.h"
#include "inspect_text.h"
#include "packhorse/error.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;

class CommandInspect final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("dataset", request_.path, "A packed dataset, or a directory of its splits")
        ->required();
    app.add_option("--verify", verify_, "quick: files, sizes, indexes; full: every byte as well")
        ->check(CLI::IsMember({"quick", "full"}));
    list_.setup(app);
    show_.setup(app);
    choice_.setup(app);
    sheet_.setup(app);
    report_.setup(app);
    app.add_option("--jobs", request_.jobs, "Threads; 0 = as many as this process may use")
        ->capture_default_str();
    app.add_flag("--json", request_.json, "Print one JSON object");
    // One thing at a time, so that --json has one object to print.
    constexpr std::array kParts = {"--verify", "--list", "--show", "--sheet"};
    for (std::size_t a = 0; a < kParts.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b)
        app.get_option(kParts[a])->excludes(app.get_option(kParts[b]));
    }
    for (const char* const part : {"--list", "--show", "--sheet"})
      app.get_option("--report")->excludes(app.get_option(part));
    app.footer(
        "Examples:\n  packhorse inspect packed/train\n  packhorse inspect packed/train --verify "
        "full\n"
        "  packhorse inspect packed/train --sheet sheet.jpg --sheet-of per-class\n\n"
        "--verify ends with exit code 3 when anything is not as it was packed, and names shard, "
        "sample and byte\n"
        "range. --list prints: number, key, label, class, bytes, size, kind, source path, "
        "separated by tabs.");
  }

  int run(const std::stop_token& stop) override {
    if (choice_.wanted() && !list_.wanted() && !sheet_.wanted()) {
      throw Error(ErrorKind::kUsage, "--class and --samples choose what --list and --sheet show",
                  {}, "add one of those, or leave them out");
    }
    const std::vector<fs::path> paths = find_datasets(request_.path);
    if (!verify_.empty()) return verify_all(paths, stop);
    if (show_.wanted()) return show_.run(paths, stop);
    if (sheet_.wanted()) return sheet_.run(paths, stop);
    if (list_.wanted()) return list_.run(paths, stop);
    if (report_.wanted()) return report_.run(paths, stop);
    return summary_.run(paths, stop);
  }

 private:
  int verify_all(const std::vector<fs::path>& paths, const std::stop_token& stop) const {
    VerifyOptions options;
    options.level = verify_ == "full" ? VerifyLevel::kFull : VerifyLevel::kQuick;
    options.jobs = request_.jobs;
    VerifyReport all;
    Progress progress;
    {
      const program::ProgressLine line(progress, "verifying");
      for (const fs::path& path : paths) {
        VerifyReport report = verify(path, options, &progress, stop);
        const bool split = path != fs::path(request_.path);
        for (Finding& finding : report.findings) {
          if (split) finding.shard = (path.filename() / finding.shard).string();
          all.findings.push_back(std::move(finding));
        }
        all.files += report.files;
        all.samples += report.samples;
        all.bytes += report.bytes;
      }
    }
    fmt::print("{}", request_.json ? program::to_text(findings_json(all)) : findings_text(all));
    if (!all.ok()) {
      fmt::print(stderr,
                 "packhorse: error: the dataset is damaged\n  where: {}\n"
                 "  next:  restore the files named above from a copy, or pack the source again\n",
                 request_.path);
    }
    const int shown = report_.wanted() ? report_.run(paths, stop, &all) : program::kDone;
    return all.ok() ? shown : program::kDamage;
  }

  inspect::Request request_;
  std::string verify_;
  inspect::SampleChoice choice_;
  inspect::SummaryAction summary_{request_};
  inspect::ListAction list_{request_, choice_};
  inspect::ShowAction show_{request_};
  inspect::SheetAction sheet_{request_, choice_};
  inspect::ReportAction report_{request_};
};

}  // namespace

std::unique_ptr<program::Command> make_inspect_command() {
  return std::make_unique<CommandInspect>();
}

}  // namespace packhorse
