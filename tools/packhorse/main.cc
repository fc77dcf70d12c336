#include <fmt/format.h>

#include <array>

#include "command_bench.h"
#include "command_diff.h"
#include "command_export_index.h"
#include "command_index.h"
#include "command_inspect.h"
#include "command_pack.h"
#include "command_unpack.h"
#include "common/program.h"
#include "packhorse/base/version.h"
#include "packhorse/formats/library_versions.h"
#include "packhorse/reader/library_versions.h"
#include "packhorse/verify/serve_walks.h"

namespace {

std::string version_text() {
  std::string text = "packhorse " + packhorse::version();
  for (const auto& versions :
       {packhorse::library_versions(), packhorse::reader::library_versions()}) {
    for (const auto& [library, version] : versions)
      text += fmt::format("\n{:<14} {}", library, version);
  }
  return text;
}

constexpr std::array kCommands = {packhorse::kPackCommand,        packhorse::kInspectCommand,
                                  packhorse::kDiffCommand,        packhorse::kIndexCommand,
                                  packhorse::kExportIndexCommand, packhorse::kUnpackCommand,
                                  packhorse::kBenchCommand};

}  // namespace

int main(int argc, char** argv) {
  if (packhorse::is_walk_call(argc, argv)) return packhorse::serve_walks();
  return packhorse::program::run_program(
      {"packhorse", "Packs image folders into shards, proves them, and reads them fast.", kCommands,
       version_text},
      argc, argv);
}
