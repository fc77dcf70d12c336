#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "packhorse/base/error.h"
#include "packhorse/packing/pack.h"
#include "simulation/place.h"
#include "simulation/world.h"

namespace packhorse::simulation {

/// What happens in a world: some commands, and what must hold after each step and at the end.
struct Scenario {
  std::string_view name;
  /// `disk`: an empty folder for the machines. Throws Violation.
  void (*run)(World& world, const Sample& sample, const std::filesystem::path& disk);
  bool needs_bytes = false;  ///< it says little about images of a few bytes
};
std::span<const Scenario> all_scenarios();

// packing.cc
void tasks_to_bucket(World& world, const Sample& sample, const std::filesystem::path& disk);
void rivals_to_bucket(World& world, const Sample& sample, const std::filesystem::path& disk);
void rivals_on_disk(World& world, const Sample& sample, const std::filesystem::path& disk);
void tasks_on_disk(World& world, const Sample& sample, const std::filesystem::path& disk);
// copying.cc
void copies_up(World& world, const Sample& sample, const std::filesystem::path& disk);
void copies_down(World& world, const Sample& sample, const std::filesystem::path& disk);
void copies_across(World& world, const Sample& sample, const std::filesystem::path& disk);
// writing.cc
void writers_of_a_key(World& world, const Sample& sample, const std::filesystem::path& disk);

// caching.cc
void readers_of_a_cache(World& world, const Sample& sample, const std::filesystem::path& disk);

// What they share.

/// Where datasets go in the bucket.
inline constexpr const char* kOut = "s3://bucket/d";
inline constexpr const char* kPrefix = "d/";

/// The options with which everything is packed here.
PackOptions pack_options();
PackOptions other_options();  ///< of the sample's other dataset
/// What a program does at its begin.
void begin_program();
/// Puts the sample's dataset into the bucket.
void put_sample(World& world, const Sample& sample, const std::string& prefix);
bool is_error(const Ending& ending, ErrorKind kind);
std::uint32_t any_machine(World& world);
/// The staging directory of what a machine sends to the bucket.
std::filesystem::path staging_on(const std::filesystem::path& disk, std::uint32_t machine);

}  // namespace packhorse::simulation
