#include "inspect/verify_action.h"

#include <fmt/format.h>

#include "common/terminal.h"
#include "inspect/verify_text.h"
#include "packhorse/error.h"

namespace packhorse::inspect {

namespace fs = std::filesystem;

void VerifyAction::setup(CLI::App& app) {
  const char* const group = "Verification";
  auto* verify = app.add_option("--verify", level_,
                                "quick: files, sizes, indexes; full: every byte, and every shard "
                                "by its format's own library")
                     ->check(CLI::IsMember({"quick", "full"}))
                     ->group(group);
  app.add_flag("--decode", decode_, "With --verify full: decode every image, strictly")
      ->needs(verify)
      ->group(group);
  app.add_option("--subset", part_,
                 "With --verify: only part I of N (0/10 ... 9/10); all N together are all of it")
      ->needs(verify)
      ->group(group);
  app.add_option("--jobs", jobs_, "Threads; 0 = as many as this process may use")
      ->capture_default_str()
      ->group(group);
  for (const char* other : {"--list", "--show"}) app.get_option(other)->excludes(verify);
}

VerifyOptions VerifyAction::read_options() const {
  VerifyOptions options;
  options.level = level_ == "full" ? VerifyLevel::kFull : VerifyLevel::kQuick;
  options.jobs = jobs_;
  options.decode = decode_;
  options.walkers = walkers_of_this_program();
  if (!part_.empty()) options.part = VerifyPart::parse(part_);
  if (decode_ && options.level != VerifyLevel::kFull)
    throw Error(ErrorKind::kUsage, "--decode needs --verify full");
  return options;
}

VerifyReport VerifyAction::verify_all(const std::vector<fs::path>& paths,
                                      const std::stop_token& stop) const {
  const VerifyOptions options = read_options();
  VerifyReport all;
  Progress progress;
  const program::ProgressLine line(progress, "verifying");
  for (const fs::path& path : paths) {
    VerifyReport report = verify(path, options, &progress, stop);
    const bool split = path != fs::path(dataset_);
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

int VerifyAction::run(const std::vector<fs::path>& paths, const std::stop_token& stop) const {
  const VerifyReport all = verify_all(paths, stop);
  fmt::print("{}", json_ ? program::to_text(findings_json(all)) : findings_text(all));
  if (all.ok()) return program::kDone;
  fmt::print(stderr,
             "packhorse: error: the dataset is damaged\n  where: {}\n"
             "  next:  restore the files named above from a copy, or pack the source again\n",
             dataset_);
  return program::kDamage;
}

}  // namespace packhorse::inspect
