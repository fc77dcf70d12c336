#include <fmt/format.h>

#include <array>

#include "codecs/codec_versions.h"
#include "commands.h"
#include "common/program.h"
#include "formats/library_versions.h"
#include "packhorse/verify/verify.h"
#include "packhorse/version.h"

namespace {

std::string version_text() {
  std::string text = "packhorse " + packhorse::version();
  for (const auto& versions : {packhorse::library_versions(), packhorse::codec_versions()}) {
    for (const auto& [library, version] : versions)
      text += fmt::format("\n{:<14} {}", library, version);
  }
  return text;
}

constexpr packhorse::program::CommandKind kCommands[] = {
    {"pack", "Pack a folder of images into shards", packhorse::make_pack_command},
    {"check", "Find what is wrong with images and labels, before training",
     packhorse::make_check_command},
    {"inspect", "Describe, list and verify a packed dataset", packhorse::make_inspect_command},
    {"repair", "Replace damaged files of a packed dataset", packhorse::make_repair_command},
    {"stats", "Compute mean, standard deviation and class weights for training",
     packhorse::make_stats_command},
    {"duplicates", "Find duplicate and near-duplicate images", packhorse::make_duplicates_command},
    {"diff", "Show the differences between two packed datasets", packhorse::make_diff_command},
    {"index", "Make a dataset of other tools' shards, without rewriting them",
     packhorse::make_index_command},
    {"export-index", "Write the indexes with which other libraries read tar shards",
     packhorse::make_export_index_command},
    {"unpack", "Write a packed dataset back as a folder of images", packhorse::make_unpack_command},
    {"copy", "Copy a packed dataset between disks and URLs, and check every byte",
     packhorse::make_copy_command},
    {"cache", "List, verify and clear the cache of remote datasets", packhorse::make_cache_command},
    {"bench", "Measure how fast datasets and folders are read", packhorse::make_bench_command}};

}  // namespace

int main(int argc, char** argv) {
  if (packhorse::is_walk_call(argc, argv)) return packhorse::serve_walks();
  return packhorse::program::run_program(
      {"packhorse", "Packs image folders into shards, verifies them, and reads them fast.",
       kCommands, version_text},
      argc, argv);
}
