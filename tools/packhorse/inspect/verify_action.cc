#include "inspect/verify_action.h"

#include "common/checks.h"
#include "common/terminal.h"
#include "packhorse/base/error.h"
#include "verify/verify_all.h"

namespace packhorse::inspect {

namespace fs = std::filesystem;

void VerifyAction::setup(CLI::App& app) {
  const char* const group = "Verification";
  auto* verify = app.add_option("--verify", level_,
                                "quick: files, sizes and indexes; full: every byte, and every "
                                "shard with its format's own library")
                     ->check(program::one_of({"quick", "full"}))
                     ->group(group);
  app.add_flag("--decode", decode_,
               "With --verify full: decode every image, strictly; with --against: needed if `pack` "
               "had it")
      ->group(group);
  auto* subset = app.add_option("--subset", part_,
                                "With --verify: check only part I of N (0/10 ... 9/10); the N "
                                "parts together check everything")
                     ->needs(verify)
                     ->group(group);
  app.add_option("--against", source_,
                 "Prove that the dataset holds exactly what this source holds; runs --verify full "
                 "first, unless --verify quick is given")
      ->excludes(subset)
      ->group(group);
  table_.declare(app, OptionGroup::kSource, "The source, as given to `pack`");
  table_.declare(app, OptionGroup::kSelection, "Selection, as given to `pack`");
}

void VerifyAction::check() const {
  for (const OptionGroup group : {OptionGroup::kSource, OptionGroup::kSelection}) {
    if (const std::string option = table_.any_of(group); !option.empty() && source_.empty())
      throw Error(ErrorKind::kUsage, opt(option) + " needs --against: no source is read", {},
                  "add --against SOURCE, or leave it out");
  }
  if (request_.quiet && !wanted())
    throw Error(ErrorKind::kUsage,
                "--quiet needs --verify or --against: what else is printed is what was asked for",
                {}, "leave it out");
  if (decode_ && level_ != "full" && source_.empty())
    throw Error(ErrorKind::kUsage, "--decode needs --verify full or --against");
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
  set_options(packed_, table_.given());
  return options;
}

AgainstReport VerifyAction::compare(const std::vector<fs::path>& paths) const {
  Progress progress;
  const program::ProgressLine line(progress, "comparing", request_.quiet);
  return compare_or_say_why_not(paths, source_, packed_, &progress);
}

int VerifyAction::run(const std::vector<fs::path>& paths) {
  const VerifyOptions options = read_options();
  report_ = verify_with_progress(request_, paths, options);
  std::optional<AgainstReport> compared;
  if (!source_.empty()) compared = compare(paths);
  const int code = print_outcome(request_, {report_, nullptr, compared ? &*compared : nullptr});
  if (compared)
    report_.findings.insert(report_.findings.end(), compared->findings.begin(),
                            compared->findings.end());
  return code;
}

}  // namespace packhorse::inspect
