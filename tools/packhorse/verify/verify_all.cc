#include "verify/verify_all.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "common/terminal.h"

namespace packhorse {

namespace fs = std::filesystem;

VerifyReport verify_with_progress(const Request& request, const std::vector<fs::path>& paths,
                                  const VerifyOptions& options) {
  Progress progress;
  const program::ProgressLine line(progress, "verifying", request.quiet);
  return verify_all(request.path, paths, options, &progress);
}

int print_outcome(const Request& request, const VerifyOutcome& outcome) {
  fmt::print("{}", request.json                    ? json_text(to_json(outcome))
                   : request.quiet && outcome.ok() ? notes_in_words(outcome)
                                                   : to_words(outcome));
  if (outcome.ok()) return program::kDone;
  fmt::print(stderr, "packhorse: error: {}\n  where: {}\n  next:  {}\n",
             what_is_wrong(outcome.verified), printable(request.path),
             advice_for(outcome.verified));
  return program::kDamage;
}

}  // namespace packhorse
