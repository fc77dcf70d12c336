#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/option.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "help/help_text.h"
#include "packhorse/base/error.h"
#include "packhorse/checking/check.h"
#include "reports/reports.h"
#include "shared/check_page.h"
#include "sources/source.h"

namespace packhorse {

namespace {

using program::count_text;
using program::with_commas;

std::string counted(std::uint64_t n, const std::string& one, const std::string& several) {
  return with_commas(n) + " " + (n == 1 ? one : several);
}

/// What the source is, before what is found in it.
std::string source_text(const std::string& source, const CheckReport& report) {
  if (report.taken_for.empty()) return {};
  std::string text = printable(source) + ": " + counted(report.samples, "image", "images");
  if (report.classes > 0 && report.objects == 0)
    text += ", " + counted(report.classes, "class", "classes");
  if (report.objects > 0)
    text += fmt::format(", {} of {}", counted(report.objects, "object", "objects"),
                        counted(report.object_classes, "class", "classes"));
  text += fmt::format(", {}, read as {}", program::bytes_text(report.bytes), report.taken_for);
  if (!report.detected.empty()) text += " (" + printable_text(report.detected) + ")";
  text += "\n";
  if (report.splits.size() > 1) {
    std::string splits;
    for (const CheckReport::Split& split : report.splits)
      splits +=
          (splits.empty() ? "" : ", ") + printable(split.split) + " " + with_commas(split.samples);
    text += "splits: " + splits + "\n";
  }
  for (const std::string& note : report.notes) text += "note: " + printable_text(note) + "\n";
  return text;
}

constexpr std::size_t kShownExamples = 3, kPageExamples = 12;

std::string finding_text(const CheckFinding& finding, std::size_t most) {
  std::string text = fmt::format("{} {}: {}\n", finding.rule->code, name_of(finding.rule->severity),
                                 words_of(finding));
  const std::size_t shown = std::min(most, finding.examples.size());
  for (const CheckFinding::Example& example : std::span(finding.examples).first(shown)) {
    const bool both = !example.path.empty() && !example.detail.empty();
    text += "      " + example.path + (both ? ": " : "") + printable_text(example.detail) + "\n";
  }
  if (finding.count > shown)
    text += fmt::format("      and {} more\n", with_commas(finding.count - shown));
  return text;
}

std::string summary_text(const CheckReport& report) {
  const std::uint64_t errors = report.count(Severity::kError);
  const std::uint64_t warnings = report.count(Severity::kWarning);
  const std::uint64_t notes = report.count(Severity::kNote);
  std::string text = report.findings.empty()
                         ? "nothing found"
                         : fmt::format("{}, {}, {}", count_text(errors, "error"),
                                       count_text(warnings, "warning"), count_text(notes, "note"));
  text += fmt::format("; looked at {} of {}, decoded {}\n", with_commas(report.looked_at),
                      counted(report.samples, "image", "images"), with_commas(report.decoded));
  if (report.known > 0)
    text += counted(report.known, "known finding is", "known findings are") + " not shown\n";
  if (!report.findings.empty())
    text += fmt::format("what a code means, and what to do: packhorse check --explain {}\n",
                        report.findings.front().rule->code);
  return text;
}

std::string to_words(const std::string& source, const CheckReport& report, std::size_t most) {
  std::string text = source_text(source, report);
  for (const CheckFinding& finding : report.findings) text += finding_text(finding, most);
  return text + summary_text(report);
}

class CommandCheck final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app_ = &app;
    app.add_option("source", source_, "What `packhorse pack` could pack")->required();
    app.add_option("--decode", depth_,
                   "Which images are decoded: headers: none, and files are not read to their end; "
                   "sample: some at random, until the share of those that fail is known within "
                   "1 %; all")
        ->check(program::one_of({"headers", "sample", "all"}))
        ->capture_default_str();
    app.add_option("--select", options_.select,
                   "Only findings whose codes begin with one of these, e.g. PH5")
        ->type_name("CODE")
        ->delimiter(',');
    app.add_option("--ignore", options_.ignore, "No findings whose codes begin with one of these")
        ->type_name("CODE")
        ->delimiter(',');
    app.add_option("--config", config_,
                   "Settings: which codes are left out, and where; else packhorse.yaml in the "
                   "source, if it is there")
        ->type_name("FILE");
    app.add_option("--baseline", baseline_,
                   "File of known findings: they are counted and not shown, and do not make the "
                   "exit code 3")
        ->type_name("FILE");
    app.add_option("--write-baseline", written_baseline_,
                   "Write all findings to this file, for --baseline")
        ->type_name("FILE")
        ->excludes("--baseline");
    app.add_option("--report", page_,
                   "Also write the findings to this HTML page, explained and with pictures")
        ->type_name("FILE");
    app.add_flag("--all", all_, "Show every sample of each finding, not only three");
    app.add_option("--output-format", format_,
                   "text; json; sarif, for code scanners; github, for annotations in a workflow")
        ->check(program::one_of({"text", "json", "sarif", "github"}))
        ->capture_default_str();
    app.add_flag("--json", json_, "The same as --output-format json");
    app.add_flag("--exit-zero", exit_zero_, "Exit with 0 even if errors are found, instead of 3");
    add_explain(app);
    program::add_quiet(app, quiet_, program::kProgress);
    for (const PackOption* option : pack_options(OptionTaker::kCheck))
      table_.declare(app, *option, option->group == OptionGroup::kRun ? "" : "Source");
    remote_.setup(app);
    help::show_as_usual(
        app, {"--decode", "--select", "--ignore", "--config", "--baseline", "--write-baseline",
              "--report", "--all", "--output-format", "--json", "--exit-zero", "--explain",
              "--labels", "--targets", "--exclude", "--jobs", "--quiet"});
    app.footer(
        "Examples:\n"
        "  packhorse check photos\n"
        "  packhorse check photos --decode all --all --ignore PH201\n"
        "  packhorse check coco --output-format sarif > findings.sarif\n"
        "  packhorse check photos --write-baseline known.txt\n\n"
        "The source is read as `packhorse pack` reads it, and nothing is changed. Exit status 3 "
        "means that errors\nwere found.");
  }

  int run() override {
    if (!explained_.empty()) return explain();
    set_options(options_.source, table_.given());
    options_.depth = parse_check_depth(depth_);
    options_.examples = all_ || !written_baseline_.empty() ? 0
                        : page_.empty()                    ? kShownExamples
                                                           : kPageExamples;
    options_.config = config_;
    options_.pictures = !page_.empty();
    if (!baseline_.empty()) options_.baseline = baseline_;
    if (!written_baseline_.empty()) options_.baseline = std::filesystem::path();
    for (const std::string& file : {written_baseline_, page_})
      if (!file.empty()) check_output(file);
    remote_.enable({source_}, may_name_urls(source_));
    Progress progress;
    CheckReport report;
    {
      const program::ProgressLine line(progress, "checking", quiet_);
      report = check(source_, options_, &progress);
    }
    if (!page_.empty()) write_output(page_, as_bytes(check_page(source_, report)));
    if (!written_baseline_.empty() && !report.stopped && report.samples > 0)
      return write_baseline(report);
    fmt::print("{}", shown(report));
    if (report.stopped)
      throw Error(ErrorKind::kInterrupted, "stopped before everything was looked at", source_);
    const bool failed = report.count(Severity::kError) > 0 && !exit_zero_;
    return failed ? program::kDamage : program::kDone;
  }

 private:
  void add_explain(CLI::App& app) {
    const auto take = [this](const std::string& code) {
      explained_ = code;
      for (CLI::Option* option : app_->get_options()) option->required(false);
    };
    app.add_option_function<std::string>("--explain", take,
                                         "Explain a code, e.g. PH501, and what to do; all: every "
                                         "code")
        ->type_name("CODE");
  }

  std::string shown(const CheckReport& report) const {
    if (json_ || format_ == "json") return json_text(to_json(report));
    if (format_ == "sarif") return json_text(to_sarif(report));
    if (format_ == "github") return github_text(report);
    return to_words(source_, report, all_ ? ~std::size_t{0} : kShownExamples);
  }

  int write_baseline(const CheckReport& report) const {
    const std::string text = baseline_text(report);
    if (!write_output(written_baseline_, as_bytes(text)) && !quiet_)
      fmt::print("{} written to {}\n",
                 counted(static_cast<std::uint64_t>(std::ranges::count(text, '\n')), "finding",
                         "findings"),
                 printable(written_baseline_));
    return program::kDone;
  }

  int explain() const {
    if (explained_ == "all") {
      for (const CheckRule& rule : check_rules())
        fmt::print("{} {:<8} {}\n", rule.code, name_of(rule.severity), rule.several);
      return program::kDone;
    }
    const CheckRule* const rule = find_check_rule(explained_);
    if (rule == nullptr)
      throw Error(ErrorKind::kUsage, "there is no code '" + printable(explained_) + "'", {},
                  "packhorse check --explain all lists them");
    fmt::print("{} {}: {}\n\n{}\n\nWhat to do: {}.\n", rule->code, name_of(rule->severity),
               rule->several, rule->why, spelled(rule->remedy));
    return program::kDone;
  }

  std::string source_, explained_, config_, baseline_, written_baseline_, page_, depth_ = "sample",
                                                                                 format_ = "text";
  CheckOptions options_;
  program::TableOptions table_;
  program::RemoteArguments remote_;
  CLI::App* app_ = nullptr;
  bool all_ = false, json_ = false, exit_zero_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_check_command() { return std::make_unique<CommandCheck>(); }

}  // namespace packhorse
