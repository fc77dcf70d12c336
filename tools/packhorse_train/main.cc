#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "codecs/codec_versions.h"
#include "commands.h"
#include "common/program.h"
#include "formats/library_versions.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/version.h"

namespace {

std::string version_text() {
  std::string text = "packhorse-train " + packhorse::version();
  for (const auto& versions : {packhorse::trainer::library_versions(),
                               packhorse::library_versions(), packhorse::codec_versions()}) {
    for (const auto& [library, version] : versions) {
      text += fmt::format("\n{:<14} {}", library, version);
    }
  }
  return text;
}

/// Sets environment variables that are read while the program is loaded, by starting it over, once.
/// Values that the user has set stay.
///
/// LibTorch's OpenMP threads spin between operators by default, on the cores that reader threads
/// and other programs need: on a busy machine that made training three to six times slower. And
/// c10d reports a lost process with pages of addresses, beside the error that we print.
void start_over_with_settings(char** argv) {
  if (::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return;
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  ::execv("/proc/self/exe", argv);  // returns only when there is no /proc
}

constexpr packhorse::program::CommandKind kCommands[] = {
    {"fit", "Train a network on a dataset, with checkpoints to resume from",
     packhorse::trainer::make_fit_command},
    {"detect", "Find objects in pictures", packhorse::trainer::make_detect_command},
    {"eval", "Score a checkpoint on a dataset", packhorse::trainer::make_eval_command},
    {"export", "Write a checkpoint's network as a TorchScript module",
     packhorse::trainer::make_export_command},
    {"measure", "Measure what packing gains: a folder compared with packed datasets of it",
     packhorse::trainer::make_measure_command},
    {"sweep", "Find how many reader threads and batches in memory training needs",
     packhorse::trainer::make_sweep_command},
    {"predict", "Predict from a measurement how fast another machine would train",
     packhorse::trainer::make_predict_command}};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') start_over_with_settings(argv);
  // Activations are large and short-lived. By default glibc maps fresh, unpopulated pages for each
  // of them, every step.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  return packhorse::program::run_program(
      {"packhorse-train",
       "Trains image classifiers from packed shards or folders, and measures what packing gains.",
       kCommands, version_text},
      argc, argv);
}
