#include "inspect/report_action.h"

#include <fmt/format.h>

#include <cstdio>
#include <numeric>

#include "base/output_file.h"
#include "base/printable.h"
#include "common/checks.h"
#include "common/outputs.h"
#include "common/program.h"
#include "common/terminal.h"
#include "packhorse/base/error.h"

namespace packhorse::inspect {

namespace {

constexpr int kTileSide = 112, kLargeSide = 240;  ///< as the style sheet has them
constexpr std::uint64_t kSeed = 0;

/// Picks `count` of the classes, spread evenly over their list.
std::vector<ClassPicks> spread(std::vector<ClassPicks> classes, std::size_t count) {
  if (classes.size() <= count) return classes;
  std::vector<ClassPicks> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(std::move(classes[i * classes.size() / count]));
  return some;
}

std::size_t damaged_in(const ReportSection& section) {
  std::size_t damaged = 0;
  for (const ReportClass& one : section.classes)
    for (const Tile& tile : one.tiles) damaged += tile.damage.empty() ? 0u : 1u;
  return damaged;
}

}  // namespace

void ReportAction::setup(CLI::App& app) {
  constexpr const char* kGroup = "Report";
  auto* report =
      program::add_output(
          app, "--report", file_,
          "Write a page about the dataset (.html); with --verify, also about its findings")
          ->group(kGroup);
  app.add_option("--report-classes", classes_, "Show pictures of at most this many classes")
      ->check(program::in_range(0, 10'000))
      ->capture_default_str()
      ->needs(report)
      ->group(kGroup);
  app.add_option("--report-images", images_, "Show at most this many pictures of each class")
      ->check(program::in_range(1, 1000))
      ->capture_default_str()
      ->needs(report)
      ->group(kGroup);
}

int ReportAction::run(const std::vector<std::filesystem::path>& paths,
                      const VerifyReport* verification) const {
  check_output(file_);
  std::vector<std::unique_ptr<PackedDataset>> datasets;  // sections point to them
  std::vector<ReportSection> sections;
  std::size_t damaged = 0, images = 0;
  for (const std::filesystem::path& path : paths) {
    try {
      datasets.push_back(std::make_unique<PackedDataset>(path));
      sections.push_back(section(*datasets.back()));
    } catch (const Error& error) {
      if (verification == nullptr || error.kind() == ErrorKind::kInterrupted) throw;
      sections.emplace_back();
      sections.back().unreadable = fmt::format("{}: {}", error.path().string(), error.what());
    }
    sections.back().path = path.string();
    damaged += damaged_in(sections.back());
    for (const ReportClass& one : sections.back().classes) images += one.tiles.size();
  }
  const bool printed =
      write_output(file_, as_bytes(report_page(request_.path, sections, verification)));
  if (damaged > 0) {
    fmt::print(stderr,
               "packhorse: error: {} of {} could not be shown\n  where: {}\n"
               "  next:  `packhorse inspect --verify full --decode` finds all damage\n",
               program::with_commas(damaged), program::count_text(images, "image"),
               printable(request_.path));
  }
  const int code = damaged > 0 ? program::kDamage : program::kDone;
  if (printed) return code;
  if (!request_.json) {
    if (!request_.quiet)
      fmt::print("{}: {} of {}\n", printable(file_), program::count_text(images, "picture"),
                 program::count_text(paths.size(), "dataset"));
  } else if (verification == nullptr) {
    fmt::print("{}", json_text({{"path", request_.path},
                                {"report",
                                 {{"file", file_},
                                  {"datasets", paths.size()},
                                  {"pictures", images},
                                  {"damaged", damaged}}}}));
  }
  return code;
}

ReportSection ReportAction::section(const PackedDataset& dataset) const {
  ReportSection section;
  section.dataset = &dataset;
  section.summary = summarise(dataset);
  section.objects = count_objects(dataset, {.images = kObjectsGlance, .jobs = request_.jobs});
  if (classes_ == 0) return section;
  std::vector<std::size_t> samples(dataset.size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  for (ClassPicks& picks : spread(picks_by_class(dataset, samples, images_, kSeed), classes_)) {
    std::vector<Tile> tiles =
        make_tiles(dataset, picks.picks, section.objects ? kLargeSide : kTileSide, request_);
    section.classes.push_back({std::move(picks), std::move(tiles)});
  }
  return section;
}

}  // namespace packhorse::inspect
