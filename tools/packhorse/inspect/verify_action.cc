#include "inspect/verify_action.h"

#include <fmt/format.h>

#include "common/terminal.h"
#include "inspect/verify_text.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"

namespace packhorse::inspect {

namespace fs = std::filesystem;

void VerifyAction::setup(CLI::App& app) {
  const char* const group = "Verification";
  auto* verify = app.add_option("--verify", level_,
                                "quick: files, sizes, indexes; full: every byte, and every shard "
                                "by its format's own library")
                     ->check(CLI::IsMember({"quick", "full"}))
                     ->group(group);
  app.add_flag("--decode", decode_,
               "With --verify full: decode every image, strictly; with --against and --repair, as "
               "`pack` was told, too")
      ->group(group);
  auto* subset = app.add_option("--subset", part_,
                                "With --verify: only part I of N (0/10 ... 9/10); all N together "
                                "are all of it")
                     ->needs(verify)
                     ->group(group);
  auto* against =
      app.add_option("--against", source_,
                     "Prove that the dataset holds just what this source does; --verify full goes "
                     "before, unless --verify quick is said")
          ->excludes(subset)
          ->group(group);
  app.add_option("--repair", repair_from_,
                 "Replace damaged files: from a copy of the dataset, or by packing them again from "
                 "this source; then --verify full")
      ->excludes(verify)
      ->excludes(subset)
      ->excludes(against)
      ->group(group);
  source_arguments_.setup(app, "The source, as `pack` was told", "Selection, as `pack` was told");
}

void VerifyAction::check() const {
  const bool has_source = !source_.empty() || !repair_from_.empty();
  if (const std::string option = source_arguments_.given(); !option.empty() && !has_source) {
    throw Error(ErrorKind::kUsage, option + " is about a source, and none is looked at", {},
                "add --against SOURCE or --repair SOURCE, or leave it out");
  }
  if (decode_ && level_ != "full" && !has_source)
    throw Error(ErrorKind::kUsage, "--decode needs --verify full, --against or --repair");
}

VerifyOptions VerifyAction::read_options() {
  VerifyOptions options;
  options.level = level_ == "quick" ? VerifyLevel::kQuick : VerifyLevel::kFull;
  options.jobs = packed_.jobs = request_.jobs;
  packed_.decode = decode_;
  options.decode = decode_ && options.level == VerifyLevel::kFull;
  options.image_limits = packed_.limits = request_.limits;
  options.walkers = walkers_of_this_program();
  if (!part_.empty()) options.part = VerifyPart::parse(part_);
  source_arguments_.read();
  return options;
}

RepairReport VerifyAction::repair_all(const std::vector<fs::path>& paths,
                                      const std::stop_token& stop) const {
  RepairReport all;
  Progress progress;
  const program::ProgressLine line(progress, "repairing");
  for (const fs::path& path : paths) {
    const RepairReport report = repair(path, repair_from_, packed_, &progress, stop);
    const bool split = path != fs::path(request_.path);
    const auto add = [&](const std::vector<std::string>& from, std::vector<std::string>& to) {
      for (const std::string& file : from)
        to.push_back(split ? (path.filename() / file).string() : file);
    };
    add(report.copied, all.copied);
    add(report.rebuilt, all.rebuilt);
  }
  return all;
}

VerifyReport VerifyAction::verify_all(const std::vector<fs::path>& paths,
                                      const VerifyOptions& options,
                                      const std::stop_token& stop) const {
  VerifyReport all;
  Progress progress;
  const program::ProgressLine line(progress, "verifying");
  for (const fs::path& path : paths) {
    VerifyReport report = verify(path, options, &progress, stop);
    const bool split = path != fs::path(request_.path);
    for (Finding& finding : report.findings) {
      if (split) finding.shard = (path.filename() / finding.shard).string();
      all.findings.push_back(std::move(finding));
    }
    for (const std::string& note : report.notes)
      all.notes.push_back(split ? path.filename().string() + ": " + note : note);
    all.files += report.files;
    all.samples += report.samples;
    all.bytes += report.bytes;
    all.walked += report.walked;
    all.decoded += report.decoded;
    all.isolated = report.isolated;
  }
  return all;
}

/// A dataset too damaged to be compared is no failure: the damage is what there is to say.
AgainstReport VerifyAction::compare(const std::vector<fs::path>& paths,
                                    const std::stop_token& stop) const try {
  Progress progress;
  const program::ProgressLine line(progress, "comparing");
  return compare_with_source(paths, source_, packed_, &progress, stop);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCorrupt) throw;
  AgainstReport report;
  report.notes.push_back("not compared with the source, as the dataset is damaged: " +
                         std::string(error.what()));
  report.findings.push_back({"index",
                             error.path().filename().string(),
                             -1,
                             {},
                             0,
                             0,
                             "the dataset cannot be opened: " + std::string(error.what())});
  return report;
}

int VerifyAction::run(const std::vector<fs::path>& paths, const std::stop_token& stop) {
  const VerifyOptions options = read_options();
  std::optional<RepairReport> repaired;
  if (!repair_from_.empty()) repaired = repair_all(paths, stop);
  report_ = verify_all(paths, options, stop);
  const std::string wrong = what_is_wrong(report_), advice = advice_for(report_);
  std::optional<AgainstReport> compared;
  if (!source_.empty()) compared = compare(paths, stop);
  const Outcome outcome{report_, repaired, compared};
  fmt::print("{}", request_.json ? program::to_text(to_json(outcome)) : to_words(outcome));
  if (outcome.ok()) return program::kDone;
  if (compared)
    report_.findings.insert(report_.findings.end(), compared->findings.begin(),
                            compared->findings.end());
  fmt::print(stderr, "packhorse: error: {}\n  where: {}\n  next:  {}\n", wrong,
             printable(request_.path), advice);
  return program::kDamage;
}

}  // namespace packhorse::inspect
