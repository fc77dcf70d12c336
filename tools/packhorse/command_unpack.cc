#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "packhorse/packing/unpack.h"
#include "reports/reports.h"

namespace packhorse {

namespace {

class CommandUnpack final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("dataset", dataset_, "Packed dataset, or directory of its splits")->required();
    app.add_option("out", out_, "Folder to write; must not exist")->required();
    app.add_option("--as", as_,
                   "folder: the files as they were packed; coco, yolo or voc: the images, and the "
                   "objects in them in that notation")
        ->check(program::one_of({"folder", "coco", "yolo", "voc"}))
        ->capture_default_str();
    app.add_flag("--json", json_, "Print one JSON object");
    program::add_quiet(app, quiet_, program::kProgressAndSummary);
    remote_.setup(app);
    app.footer(
        "Example:\n"
        "  packhorse unpack packed/train photos\n"
        "  packhorse unpack packed photos --as coco\n\n"
        "Every image is checked against its hash and gets the path it had in the source.\n"
        "OUT appears only once it is complete.");
  }

  int run() override {
    remote_.enable({dataset_});
    Progress progress;
    UnpackReport report;
    {
      const program::ProgressLine line(progress, "unpacking", quiet_);
      report = unpack(dataset_, out_, &progress, {}, as());
    }
    if (json_) {
      fmt::print("{}", json_text(to_json(report)));
    } else if (!quiet_) {
      fmt::print("unpacked {} images, {}, into {}\n", program::with_commas(report.samples),
                 program::bytes_text(report.bytes), printable(out_));
      print_unsaid(report);
    }
    return program::kDone;
  }

 private:
  UnpackAs as() const {
    const auto found =
        std::ranges::find_if(kUnpackAs, [&](const auto& one) { return one.first == as_; });
    return found->second;
  }

  void print_unsaid(const UnpackReport& report) const {
    if (report.unsaid.empty()) return;
    fmt::print("what {} does not say:\n", as_);
    for (const auto& [what, count] : report.unsaid)
      fmt::print("  {:>10}  {}\n", program::with_commas(count), printable(what));
  }

  std::string dataset_, out_, as_ = "folder";
  program::RemoteArguments remote_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_unpack_command() {
  return std::make_unique<CommandUnpack>();
}

}  // namespace packhorse
