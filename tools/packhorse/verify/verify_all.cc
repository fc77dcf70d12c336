#include "verify/verify_all.h"

#include <fmt/format.h>

#include "common/terminal.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace fs = std::filesystem;

VerifyReport verify_all(const Request& request, const std::vector<fs::path>& paths,
                        const VerifyOptions& options, const std::stop_token& stop) {
  VerifyReport all;
  Progress progress;
  const program::ProgressLine line(progress, "verifying", request.quiet);
  for (const fs::path& path : paths) {
    VerifyReport report = verify(path, options, &progress, stop);
    const bool split = path != fs::path(request.path);
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

int print_outcome(const Request& request, const Outcome& outcome) {
  fmt::print("{}", request.json                    ? program::to_text(to_json(outcome))
                   : request.quiet && outcome.ok() ? notes_in_words(outcome)
                                                   : to_words(outcome));
  if (outcome.ok()) return program::kDone;
  fmt::print(stderr, "packhorse: error: {}\n  where: {}\n  next:  {}\n",
             what_is_wrong(outcome.verified), printable(request.path),
             advice_for(outcome.verified));
  return program::kDamage;
}

}  // namespace packhorse
