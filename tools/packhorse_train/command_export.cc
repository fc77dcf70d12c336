#include <fmt/format.h>

#include "base/output_file.h"
#include "commands.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "packhorse/base/bytes.h"
#include "packhorse/trainer/train/model_file.h"
#include "recipe_options.h"

namespace packhorse::trainer {

namespace {

class CommandExport final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("--checkpoint", checkpoint_, "A last.pt or best.pt written by fit")->required();
    program::add_output(app, "-o,--output", output_, "File to write", OutputContent::kBytes)
        ->required();
    run_.add_device(app);
    app.footer(
        "Example:\n"
        "  packhorse-train export --checkpoint run/best.pt -o model.pt\n"
        "  python -c \"import torch; print(torch.jit.load('model.pt'))\"\n\n"
        "The file is a TorchScript module. It takes float [B, 3, S, S], RGB, (x / 255 - mean) / "
        "stddev, on the device it was made for; its extra file packhorse.json has S, mean, stddev, "
        "the task and the classes.");
  }

  int run() override {
    check_output(output_);
    const std::string module = export_script(checkpoint_, run_.pick());
    if (!write_output(output_, as_bytes(module)))
      fmt::print("{}: {}\n", output_.string(), program::bytes_text(module.size()));
    return program::kDone;
  }

 private:
  std::filesystem::path checkpoint_, output_;
  RunOptions run_;
};

}  // namespace

std::unique_ptr<program::Command> make_export_command() {
  return std::make_unique<CommandExport>();
}

}  // namespace packhorse::trainer
