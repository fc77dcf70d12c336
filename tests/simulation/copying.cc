#include <fmt/format.h>

#include "packhorse/packing/copy.h"
#include "simulation/operator.h"
#include "simulation/promises.h"
#include "simulation/scenarios.h"

namespace packhorse::simulation {

namespace fs = std::filesystem;

namespace {

Command copy_command(World& world, std::string name, std::uint32_t machine, fs::path from,
                     fs::path to, fs::path staging) {
  CopyOptions options;
  options.jobs = 1 + static_cast<int>(world.chance.below(4));
  options.staging = std::move(staging);
  return {.name = std::move(name), .machine = machine, .body = [=] {
            begin_program();
            copy_dataset(from, to, options);
            return std::string();
          }};
}

}  // namespace

/// Some machines copy a dataset into the bucket, to the same place.
void copies_up(World& world, const Sample& sample, const fs::path&) {
  BucketPromise promise(world, kPrefix, sample.files);
  std::vector<Command> commands;
  const std::uint64_t count = 1 + world.chance.below(3);
  for (std::uint32_t machine = 0; machine < count; ++machine)
    commands.push_back(copy_command(world, "copy", machine, sample.packed, kOut, {}));
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
}

/// Some processes copy a dataset out of the bucket, to the same place.
void copies_down(World& world, const Sample& sample, const fs::path& disk) {
  put_sample(world, sample, kPrefix);
  DiskPromise promise(world, disk / "d", sample.files);
  std::vector<Command> commands;
  const std::uint64_t count = 1 + world.chance.below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    commands.push_back(copy_command(world, "copy", 0, kOut, disk / "d", {}));
    commands.back().is_enough = [&](const Ending& ending) {
      return is_error(ending, ErrorKind::kExists) && promise.is_complete();
    };
  }
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
  if (fs::exists(disk / "d.partial")) throw Violation("the staging directory is left over");
}

/// Some machines copy a dataset from one place in the bucket to another.
void copies_across(World& world, const Sample& sample, const fs::path& disk) {
  put_sample(world, sample, "from/");
  BucketPromise promise(world, kPrefix, sample.files);
  std::vector<Command> commands;
  const std::uint64_t count = 1 + world.chance.below(2);
  for (std::uint32_t machine = 0; machine < count; ++machine)
    commands.push_back(
        copy_command(world, "copy", machine, "s3://bucket/from", kOut, staging_on(disk, machine)));
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
  for (std::uint32_t machine = 0; machine < count; ++machine)
    if (fs::exists(staging_on(disk, machine)))
      throw Violation("the staging directory is left over");
}

}  // namespace packhorse::simulation
