#include <fmt/format.h>

#include "base/file.h"
#include "commands.h"
#include "common/options.h"
#include "common/terminal.h"
#include "help/help_text.h"
#include "packhorse/verify/repair.h"
#include "shared/request.h"
#include "verify/verify_all.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;

class CommandRepair final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    request_.setup_dataset(app);
    app.add_option("from", from_, "Copy of the dataset, or the source it was packed from")
        ->required();
    app.add_flag("--decode", packed_.decode,
                 "Needed if `pack` had it: decode every image that is packed again, then verify by "
                 "decoding all images");
    table_.declare(app, OptionGroup::kSource, "The source, as given to `pack`");
    table_.declare(app, OptionGroup::kSelection, "Selection, as given to `pack`");
    request_.setup_rest(app, program::kProgressAndSummary);
    program::add_bands(app, request_.limits, "Image limits");
    help::show_as_usual(app, {"--jobs", "--json", "--quiet", "--decode"});
    app.footer(
        "Replaces the files that are not as the manifest says, from the copy or by packing them "
        "again, then verifies\n"
        "the whole dataset. Exits with code 3 when anything is still not as it was packed.\n\n"
        "Examples:\n"
        "  packhorse repair packed/train /backup/packed/train\n"
        "  packhorse repair packed imagenet");
  }

  int run() override {
    refuse_url(request_.path);
    const std::vector<fs::path> paths = request_.datasets({from_});
    set_options(packed_, table_.given());
    packed_.jobs = request_.jobs;
    packed_.limits = request_.limits;
    const RepairReport repaired = repair_all(paths);
    VerifyOptions options;
    options.level = VerifyLevel::kFull;
    options.jobs = request_.jobs;
    options.decode = packed_.decode;
    options.image_limits = request_.limits;
    options.walkers = walkers_of_this_program();
    const VerifyReport verified = verify_with_progress(request_, paths, options);
    return print_outcome(request_, {verified, &repaired});
  }

 private:
  RepairReport repair_all(const std::vector<fs::path>& paths) const {
    RepairReport all;
    Progress progress;
    const program::ProgressLine line(progress, "repairing", request_.quiet);
    for (const fs::path& path : paths) {
      const RepairReport report = repair(path, from_, packed_, &progress);
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

  Request request_;
  std::string from_;
  PackOptions packed_;  ///< options that the manifest does not record
  program::TableOptions table_;
};

}  // namespace

std::unique_ptr<program::Command> make_repair_command() {
  return std::make_unique<CommandRepair>();
}

}  // namespace packhorse
