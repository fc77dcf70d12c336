#include "inspect/sheet_action.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/output_file.h"
#include "base/printable.h"
#include "common/checks.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "drawing/encoded.h"
#include "inspect/sample_picks.h"
#include "inspect/sample_words.h"
#include "inspect/sheet.h"
#include "inspect/summary_text.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/base/error.h"

namespace packhorse::inspect {

using drawing::Chroma;
using drawing::encoded;

namespace {

constexpr std::size_t kUsualCount = 48;
constexpr std::size_t kUsualOfClasses = 240, kMostOfAClass = 8;
constexpr double kUsualWidth = 4.0 / 3;  ///< width of the sheet to its height
constexpr int kCaptionLines = 2;
constexpr int kMostSide = 65'500;  ///< JPEG's limit
constexpr std::int64_t kMostPixels = 200'000'000;

/// The bands by which images are shown that are no colours.
std::set<std::vector<int>> shown_bands(const std::vector<Tile>& tiles) {
  std::set<std::vector<int>> bands;
  for (const Tile& tile : tiles)
    if (!tile.bands.empty()) bands.insert(tile.bands);
  return bands;
}

}  // namespace

void SheetAction::setup(CLI::App& app) {
  constexpr const char* kGroup = "Contact sheet";
  auto* sheet = program::add_output(
                    app, "--sheet", file_,
                    "Write a contact sheet of samples with their classes and numbers (.jpg, .png)",
                    OutputContent::kBytes)
                    ->group(kGroup);
  app.add_option("--sheet-of", of_,
                 "random: drawn from all samples; per-class: some of each class; first: the first "
                 "ones in stored order. --class and --samples narrow the choice")
      ->check(program::one_of({"random", "per-class", "first"}))
      ->capture_default_str()
      ->needs(sheet)
      ->group(kGroup);
  app.add_option("--sheet-count", count_,
                 "Number of images (with per-class: of each class); 0 = 48, all that --samples "
                 "names, or 1 to 8 of each class")
      ->capture_default_str()
      ->needs(sheet)
      ->group(kGroup);
  app.add_option("--sheet-tile", tile_, "Side of a tile, in pixels")
      ->check(program::in_range(32, 1024))
      ->capture_default_str()
      ->needs(sheet)
      ->group(kGroup);
  app.add_option("--sheet-columns", columns_, "Tiles in a row; 0 = automatic")
      ->check(program::in_range(0, 1000))
      ->capture_default_str()
      ->needs(sheet)
      ->group(kGroup);
  app.add_option("--sheet-seed", seed_,
                 "Seed of the choice: the same seed chooses the same samples")
      ->capture_default_str()
      ->needs(sheet)
      ->group(kGroup);
}

int SheetAction::run(const std::vector<std::filesystem::path>& paths) const {
  check_output(file_);
  if (paths.size() != 1) {
    throw Error(ErrorKind::kUsage, "--sheet needs one dataset, but there are several here",
                request_.path, "give one of the splits, e.g. " + paths.front().string());
  }
  const PackedDataset dataset(paths.front());
  const std::vector<std::size_t> samples = picked(dataset);
  const SheetLayout layout = this->layout(dataset, samples.size());
  const std::vector<Tile> tiles = make_tiles(dataset, samples, tile_, request_);
  const cv::Mat sheet = draw_sheet(layout, tiles, dataset.classes());
  const bool printed = write_output(
      file_, encoded(sheet, layout.object_classes.empty() ? Chroma::kHalved : Chroma::kFull,
                     drawing::extension_of(file_)));
  report(dataset, tiles, layout, sheet.size(), printed);
  const auto damaged = [](const Tile& tile) { return !tile.damage.empty(); };
  return std::ranges::any_of(tiles, damaged) ? program::kDamage : program::kDone;
}

std::vector<std::size_t> SheetAction::picked(const PackedDataset& dataset) const {
  std::vector<std::size_t> samples = choice_.choose(dataset);
  if (of_ == "per-class") {
    std::vector<std::size_t> picks;
    for (const ClassPicks& one : picks_by_class(dataset, samples, of_a_class(dataset), seed_))
      picks.insert(picks.end(), one.picks.begin(), one.picks.end());
    return picks;
  }
  // Samples that were named one by one are all shown.
  if (count_ == 0 && choice_.names_samples()) return samples;
  const std::size_t count = count_ > 0 ? count_ : kUsualCount;
  if (of_ == "random") return random_picks(samples, count, seed_);
  samples.resize(std::min(samples.size(), count));
  return samples;
}

std::size_t SheetAction::of_a_class(const PackedDataset& dataset) const {
  if (count_ > 0) return count_;
  const std::size_t classes = std::max<std::size_t>(1, choice_.classes(dataset));
  return std::clamp<std::size_t>(kUsualOfClasses / classes, 1, kMostOfAClass);
}

SheetLayout SheetAction::layout(const PackedDataset& dataset, std::size_t tiles) const {
  SheetLayout layout{.side = tile_, .columns = columns_};
  if (SampleWords(dataset).any()) layout.caption_lines = kCaptionLines;
  if (const auto target = objects_target(dataset)) layout.object_classes = target->record.classes;
  if (const auto mask = find_target(dataset, kMaskTarget))
    layout.pixel_classes = mask->record.classes;
  if (columns_ == 0) {
    // Makes the sheet wide enough that a class does not continue in another row, where possible.
    const auto together = static_cast<double>(of_ == "per-class" ? of_a_class(dataset) : 1);
    const double columns = std::sqrt(static_cast<double>(tiles) * kUsualWidth);
    const double groups = std::max(1.0, std::round(columns / together));
    layout.columns = static_cast<int>(std::min(groups * together, static_cast<double>(tiles)));
  }
  const cv::Size size = sheet_size(layout, tiles);
  if (size.width > kMostSide || size.height > kMostSide ||
      std::int64_t{size.width} * size.height > kMostPixels) {
    throw Error(ErrorKind::kUsage,
                fmt::format("a sheet of {} x {} pixels is too large", size.width, size.height),
                file_, "give a smaller --sheet-count or --sheet-tile, or fewer --class");
  }
  return layout;
}

/// Says what was written and, on stderr, what could not be shown. `printed`: the sheet itself went
/// to standard output.
void SheetAction::report(const PackedDataset& dataset, const std::vector<Tile>& tiles,
                         const SheetLayout& layout, cv::Size size, bool printed) const {
  program::Json shown = program::Json::array(), damaged = program::Json::array();
  for (const Tile& tile : tiles) {
    program::Json one = {{"sample", tile.sample},
                         {"key", tile.key},
                         {"label", tile.label},
                         {"class", class_name(dataset, tile.label)}};
    if (!layout.object_classes.empty()) one["objects"] = tile.objects;
    if (!tile.bands.empty()) one["bands"] = tile.bands;
    if (!tile.damage.empty()) {
      fmt::print(stderr, "damaged: sample {}, key {}: {}\n", tile.sample, printable(tile.key),
                 printable_text(tile.damage));
      damaged.push_back({{"sample", tile.sample}, {"key", tile.key}, {"detail", tile.damage}});
    }
    shown.push_back(std::move(one));
  }
  if (!damaged.empty()) {
    fmt::print(stderr,
               "packhorse: error: {} of {} could not be shown\n  where: {}\n"
               "  next:  `packhorse inspect --verify full --decode` finds all damage\n",
               program::with_commas(damaged.size()), program::count_text(tiles.size(), "image"),
               printable(dataset.path().native()));
  }
  if (printed) return;
  if (request_.json) {
    fmt::print("{}", json_text({{"path", dataset.path().string()},
                                {"sheet",
                                 {{"file", file_},
                                  {"width", size.width},
                                  {"height", size.height},
                                  {"columns", layout.columns},
                                  {"tile", layout.side},
                                  {"samples", shown},
                                  {"damaged", damaged}}}}));
    return;
  }
  fmt::print("{}: {} of {}, {} x {} pixels\n", printable(file_),
             program::count_text(tiles.size(), "image"), printable(dataset.path().native()),
             size.width, size.height);
  for (const std::vector<int>& bands : shown_bands(tiles))
    fmt::print(
        "images that are no colours are shown by {}, from the least to the greatest number\n",
        bands_text(bands));
}

}  // namespace packhorse::inspect
