#include <fmt/format.h>

#include "inspect/summary_text.h"

namespace packhorse::inspect {

using program::count_text;
using program::with_commas;

namespace {

std::string amount_words(const ObjectStats& stats, std::uint64_t samples) {
  const ValueCounts& each = stats.per_image;
  std::string words = with_commas(stats.objects);
  if (stats.images + stats.damaged < samples)
    words += fmt::format(
        " in {} of {} images, drawn at random (`packhorse stats` without --sample counts all)",
        with_commas(stats.images), with_commas(samples));
  if (each.most() > each.least())
    words += fmt::format(": {} to {} an image, median {}", with_commas(each.least()),
                         with_commas(each.most()), with_commas(each.median()));
  else if (each.most() > 0)
    words += fmt::format(": {} in each image", with_commas(each.most()));
  if (stats.empty > 0) words += fmt::format("; {} without", count_text(stats.empty, "image"));
  if (stats.damaged > 0)
    words += fmt::format("; {} whose objects are damaged", count_text(stats.damaged, "image"));
  return words;
}

/// "3 with polygons, 1 crowd": what some of the objects have, and what some are.
std::string kind_of_object_words(const ObjectStats& stats) {
  std::string words;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", with_commas(count), what);
  };
  add(stats.with_polygons, "with polygons");
  add(stats.with_runs, "with run lengths");
  add(stats.with_keypoints, "with key points");
  add(stats.crowds, stats.crowds == 1 ? "crowd" : "crowds");
  add(stats.difficult, "difficult");
  add(stats.truncated, "truncated");
  add(stats.occluded, "occluded");
  return words;
}

}  // namespace

Lines object_lines(const ObjectStats& stats, std::uint64_t samples) {
  Lines lines = {{"objects", amount_words(stats, samples)}};
  if (stats.objects == 0) return lines;
  lines.emplace_back(
      "areas",
      fmt::format("{} small (below 32 x 32 pixels), {} medium, {} large (from 96 x 96)",
                  with_commas(stats.small), with_commas(stats.medium), with_commas(stats.large)));
  if (const std::string words = kind_of_object_words(stats); !words.empty())
    lines.emplace_back("of these", words);
  return lines;
}

std::vector<ObjectChart> object_charts(const ObjectStats& stats) {
  return {{"objects of a class", class_rows(stats.target.record.classes, stats.class_objects),
           stats.objects},
          {"objects in an image", value_rows(stats.per_image), stats.images},
          {"side of an object (square root of its area), pixels", value_rows(stats.sides),
           stats.objects}};
}

}  // namespace packhorse::inspect
