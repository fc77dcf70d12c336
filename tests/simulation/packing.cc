#include <fmt/format.h>

#include "packhorse/base/error.h"
#include "simulation/operator.h"
#include "simulation/promises.h"
#include "simulation/scenarios.h"

namespace packhorse::simulation {

namespace fs = std::filesystem;

namespace {

Command pack_command(std::string name, std::uint32_t machine, const Sample& sample, fs::path out,
                     PackOptions options) {
  return {.name = std::move(name), .machine = machine, .body = [=] {
            begin_program();
            const PackReport report = pack(sample.source, out, options);
            if (!options.task && !report.published)
              throw std::logic_error("nothing is published, and nobody says why");
            return std::string();
          }};
}

}  // namespace

/// Several machines pack a dataset into a bucket, and one more finishes it.
void tasks_to_bucket(World& world, const Sample& sample, const fs::path& disk) {
  BucketPromise promise(world, kPrefix, sample.files);
  const auto is_enough = [&](const Ending& ending) {
    return is_error(ending, ErrorKind::kExists) && promise.is_complete();
  };
  std::vector<Command> commands;
  const std::size_t count = 1 + world.chance.below(3);
  const auto add = [&](const std::string& name, const std::optional<TaskShare>& task) {
    const std::uint32_t machine = any_machine(world);
    PackOptions options = pack_options();
    options.task = task;
    options.finish = !task;
    options.staging = staging_on(disk, machine);
    commands.push_back(pack_command(name, machine, sample, kOut, options));
    commands.back().is_enough = is_enough;
  };
  const auto whole = [&](const std::string& name) {  // what the tasks have begun, too
    const std::uint32_t machine = any_machine(world);
    PackOptions options = pack_options();
    options.staging = staging_on(disk, machine);
    Command command = pack_command(name, machine, sample, kOut, options);
    command.is_enough = is_enough;
    return command;
  };
  for (std::size_t task = 0; task < count; ++task)
    add(fmt::format("task{}", task), TaskShare{task, count});
  if (world.chance.once_in(2)) add("again", TaskShare{world.chance.below(count), count});
  add("finish", {});
  if (world.chance.once_in(4)) commands.back() = whole("pack");
  if (world.chance.once_in(4)) add("finish2", {});
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
}

/// Several machines pack the same dataset to the same place, and know nothing of each other.
void rivals_to_bucket(World& world, const Sample& sample, const fs::path& disk) {
  BucketPromise promise(world, kPrefix, sample.files);
  std::vector<Command> commands;
  const std::size_t count = 1 + world.chance.below(3);
  for (std::uint32_t machine = 0; machine < count; ++machine) {
    PackOptions options = pack_options();
    options.staging = staging_on(disk, machine);
    commands.push_back(
        pack_command(fmt::format("pack{}", machine), machine, sample, kOut, options));
    commands.back().is_enough = [&](const Ending& ending) {
      return is_error(ending, ErrorKind::kExists) && promise.is_complete();
    };
  }
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
}

/// Several processes pack different datasets to one place on a disk, each in the place of what is
/// there.
void rivals_on_disk(World& world, const Sample& sample, const fs::path& disk) {
  const fs::path out = disk / "d";
  ReplacedPromise promise(out, {&sample.files, &sample.other_files});
  std::vector<Command> commands;
  const std::size_t count = 2 + world.chance.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    PackOptions options = i % 2 == 0 ? pack_options() : other_options();
    options.overwrite = true;
    commands.push_back({.name = fmt::format("pack{}", i), .machine = 0, .body = [=, &sample] {
                          begin_program();
                          for (std::uint64_t left = 1 + shared->chance.below(5); left > 0; --left)
                            pack(sample.source, out, options);
                          return std::string();
                        }});
  }
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
  if (fs::exists(disk / "d.partial")) throw Violation("the staging directory is left over");
}

/// Several processes pack a dataset on one disk, and one finishes it.
void tasks_on_disk(World& world, const Sample& sample, const fs::path& disk) {
  const fs::path out = disk / "d";
  DiskPromise promise(world, out, sample.files);
  std::vector<Command> commands;
  const std::size_t count = 1 + world.chance.below(3);
  const auto add = [&](const std::string& name, const std::optional<TaskShare>& task) {
    PackOptions options = pack_options();
    options.task = task;
    options.finish = !task;
    commands.push_back(pack_command(name, 0, sample, out, options));
    commands.back().is_enough = [&](const Ending& ending) {
      return is_error(ending, ErrorKind::kExists) && promise.is_complete();
    };
  };
  for (std::size_t task = 0; task < count; ++task)
    add(fmt::format("task{}", task), TaskShare{task, count});
  if (world.chance.once_in(2)) add("again", TaskShare{world.chance.below(count), count});
  add("finish", {});
  world.check = [&] { promise.check(); };
  Operator(world, std::move(commands)).run();
  promise.check_end();
  if (fs::exists(disk / "d.partial")) throw Violation("the staging directory is left over");
}

}  // namespace packhorse::simulation
