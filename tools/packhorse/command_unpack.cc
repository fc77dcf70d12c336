#include <fmt/format.h>

#include "commands.h"
#include "common/terminal.h"
#include "packhorse/base/printable.h"
#include "packhorse/packing/unpack.h"
#include "packhorse/reports/files_report.h"

namespace packhorse {

namespace {

class CommandUnpack final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("dataset", dataset_, "Packed dataset, or directory of its splits")->required();
    app.add_option("out", out_, "Folder to write; must not exist")->required();
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary);
    app.footer(
        "Example:\n"
        "  packhorse unpack packed/train photos\n\n"
        "Every image is checked against its hash and gets the path it had in the source.\n"
        "OUT appears only once it is complete.");
  }

  int run(const std::stop_token& stop) override {
    Progress progress;
    UnpackReport report;
    {
      const program::ProgressLine line(progress, "unpacking", quiet_);
      report = unpack(dataset_, out_, &progress, stop);
    }
    if (json_) {
      fmt::print("{}", json_text(to_json(report)));
    } else if (!quiet_) {
      fmt::print("unpacked {} images, {}, into {}\n", program::with_commas(report.samples),
                 program::bytes_text(report.bytes), printable(out_));
    }
    return program::kDone;
  }

 private:
  std::string dataset_, out_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_unpack_command() {
  return std::make_unique<CommandUnpack>();
}

}  // namespace packhorse
