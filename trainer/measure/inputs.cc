#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

#include "measure/measure.h"
#include "models/archs.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

namespace fs = std::filesystem;

/// The file system's name as in mount(8); its number when the name is not known here.
std::string file_system_of(const fs::path& path) {
  struct Known {
    long type;
    const char* name;
  };
  // statfs(2)
  constexpr std::array kKnown = {
      Known{0xef53, "ext4"},      Known{0x58465342, "xfs"},     Known{0x9123683e, "btrfs"},
      Known{0x01021994, "tmpfs"}, Known{0x794c7630, "overlay"}, Known{0x6969, "nfs"},
      Known{0x2fc12fc1, "zfs"},   Known{0x0bd00bd0, "lustre"},  Known{0x65735546, "fuse"},
      Known{0x47504653, "gpfs"},  Known{0x00c36400, "ceph"},    Known{0xff534d42, "cifs"},
      Known{0x01021997, "9p"}};
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return "unknown";
  for (const Known& known : kKnown)
    if (static_cast<long>(info.f_type) == known.type) return known.name;
  return fmt::format("0x{:x}", info.f_type);
}

}  // namespace

std::string input_name(const reader::Dataset& dataset) {
  if (dataset.one_file_a_sample()) return dataset.format();
  return fmt::format("{} {}{}", dataset.format(), dataset.image_mode(),
                     dataset.from_afar() ? " at a URL" : "");
}

MeasuredInput describe_input(const fs::path& path, const reader::Dataset& dataset) {
  if (dataset.size() == 0) throw Error(ErrorKind::kUsage, "there is nothing to measure", path);
  return {.path = path,
          .name = {},
          .format = dataset.format(),
          .image_mode = dataset.image_mode(),
          .samples = dataset.size(),
          .bytes = dataset.stored_bytes(),
          .file_system = dataset.from_afar() ? path.string().substr(0, path.string().find(':'))
                                             : file_system_of(path),
          .from_afar = dataset.from_afar()};
}

Recipe recipe_for(const MeasureOptions& options) {
  RecipeChoices usual = options.recipe;
  if (!usual.arch && usual.task.value_or(TaskKind::kClassify) != TaskKind::kDetect)
    usual.arch = "smallnet";
  return resolve(usual, default_recipe(usual));
}

Recipe recipe_for(const MeasureOptions& options, const reader::Dataset& dataset) {
  Recipe recipe = recipe_for(options);
  recipe.accumulate = 1;
  recipe.batch_size = std::min(recipe.batch_size, static_cast<std::int64_t>(dataset.size()));
  return recipe;
}

std::string device_text(const MeasureOptions& options) {
  if (options.simulated_device == 0) return describe(options.device);
  return fmt::format("a simulated device of {:g} images/s", options.simulated_device);
}

}  // namespace packhorse::trainer
