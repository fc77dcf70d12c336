#include <fmt/format.h>

#include "base/printable.h"
#include "commands.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "packhorse/base/error.h"
#include "packhorse/packing/copy.h"
#include "reports/reports.h"

namespace packhorse {

namespace {

class CommandCopy final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("from", from_, "Packed dataset, or directory of its splits")->required();
    app.add_option("to", to_, "Where the copy goes; nothing may be there")->required();
    program::add_jobs(app, options_.jobs);
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary);
    app.add_option("--staging", options_.staging,
                   "From one URL to another: directory in which files lie in between; default: the "
                   "last part of TO with .partial, in the working directory")
        ->type_name("DIR")
        ->group(program::kRemoteGroup);
    remote_.setup(app);
    app.footer(
        "Examples:\n"
        "  packhorse copy s3://bucket/packed/train /scratch/train\n"
        "  packhorse copy packed s3://bucket/packed\n\n"
        "Every file is compared with the size and the SHA-256 in the manifest. TO appears only "
        "once "
        "it is complete,\n"
        "and the same command goes on with an interrupted copy.");
  }

  int run() override {
    remote_.enable({from_, to_});
    Progress progress;
    CopyReport report;
    try {
      const program::ProgressLine line(progress, "copying", quiet_);
      report = copy_dataset(from_, to_, options_, &progress);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted, "stopped; the copy is not complete", to_,
                  "run the same command again: what was copied is kept");
    }
    if (json_) {
      fmt::print("{}", json_text(to_json(report)));
    } else if (!quiet_) {
      fmt::print("copied {} files with {} images, {}, to {}{}\n",
                 program::with_commas(report.files), program::with_commas(report.samples),
                 program::bytes_text(report.bytes), printable(to_),
                 report.kept == 0 ? ""
                                  : fmt::format("; {} of them were there from an earlier run",
                                                program::with_commas(report.kept)));
      for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
    }
    return program::kDone;
  }

 private:
  std::string from_, to_;
  CopyOptions options_;
  program::RemoteArguments remote_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_copy_command() { return std::make_unique<CommandCopy>(); }

}  // namespace packhorse
