#include "simulation/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "simulation/scenarios.h"

namespace packhorse::simulation {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kClasses = 2, kImages = 7;  // of each class

/// A picture of noise, by its number.
std::string image(std::size_t number, std::size_t side) {
  std::string text = fmt::format("P6\n{} {}\n255\n", side, side);
  Chance chance{number};
  for (std::size_t i = 0; i < 3 * side * side; ++i) text += static_cast<char>(chance.below(256));
  return text;
}

}  // namespace

Files files_below(const fs::path& folder) {
  Files files;
  for (const fs::directory_entry& entry : entries_below(folder)) {
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  }
  return files;
}

Sample make_sample(const fs::path& folder, const SampleOptions& options) {
  Sample sample{folder / "source", folder / "packed", {}, {}, {}};
  const char* const classes[kClasses] = {"cats", "dogs"};
  for (std::size_t i = 0; i < kClasses * kImages; ++i) {
    const fs::path path = sample.source /
                          (!options.splits ? ""
                           : i % 3 == 0    ? "val"
                                           : "train") /
                          classes[i % kClasses] / fmt::format("{:03}.ppm", i);
    make_directories(path.parent_path());
    write_plain_file(path, as_bytes(image(i, i == 3 ? options.largest : options.side)));
    // Receipts hold the times of files: the same in each run of a seed.
    const timespec times[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  pack(sample.source, sample.packed, pack_options());
  sample.images = files_below(sample.source);
  sample.files = files_below(sample.packed);
  pack(sample.source, folder / "other", other_options());
  sample.other_files = files_below(folder / "other");
  return sample;
}

}  // namespace packhorse::simulation
