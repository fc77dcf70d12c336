#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/printable.h"
#include "commands.h"
#include "common/terminal.h"
#include "inspect/summary_text.h"
#include "packhorse/analysis/dataset_stats.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/base/error.h"
#include "reports/reports.h"
#include "shared/request.h"

namespace packhorse {

namespace fs = std::filesystem;
using program::Json;
using program::with_commas;

namespace {

template <class Numbers>
std::string list_text(const Numbers& numbers) {
  return fmt::format("[{:.5f}]", fmt::join(numbers, ", "));
}

std::string channels_text(const ChannelStats& stats) {
  return fmt::format("mean, std = {}, {}", list_text(stats.mean), list_text(stats.deviation));
}

/// Of bands, whose numbers may be of any size.
std::string bands_text(const ChannelStats& stats) {
  return fmt::format("mean, std = [{:.6g}], [{:.6g}]", fmt::join(stats.mean, ", "),
                     fmt::join(stats.deviation, ", "));
}

Json channels_json(const ChannelStats& stats) {
  return {{"mean", stats.mean}, {"std", stats.deviation}};
}

Json stats_json(const PackedDataset& dataset, const DatasetStats& stats,
                const std::optional<ObjectStats>& objects) {
  const std::vector<std::uint64_t>& samples = dataset.manifest().class_samples;
  Json json = {{"path", dataset.path().string()},
               {"images", stats.images},
               {"samples", dataset.size()},
               {"pixels", stats.pixels},
               {"by_pixel", channels_json(stats.by_pixel)},
               {"by_image", channels_json(stats.by_image)},
               {"classes", dataset.classes()},
               {"class_samples", samples},
               {"class_weights", class_weights(samples, 1)},
               {"class_weights_sqrt", class_weights(samples, 0.5)}};
  if (objects) json["objects"] = to_json(*objects);
  return json;
}

std::string weights_text(const std::vector<std::uint64_t>& samples) {
  if (std::ranges::adjacent_find(samples, std::not_equal_to<>()) == samples.end())
    return fmt::format("# {} classes of equal size: no weights needed\n", samples.size());
  return fmt::format(
      "# {} classes; the mean of the weights is 1\n"
      "# 1 / samples\nclass_weights = {}\n"
      "# 1 / sqrt(samples)\nclass_weights = {}\n",
      with_commas(samples.size()), list_text(class_weights(samples, 1)),
      list_text(class_weights(samples, 0.5)));
}

std::string stats_text(const PackedDataset& dataset, const DatasetStats& stats, bool bands) {
  const auto text = bands ? bands_text : channels_text;
  const char* const scale = bands ? "bands, integers in [0, 1]" : "RGB in [0, 1]";
  return fmt::format(
      "# {}: {} of {} images, {} pixels; {}\n"
      "# each pixel counts the same\n{}\n"
      "# each image counts the same\n{}\n{}",
      printable(dataset.path().native()), with_commas(stats.images), with_commas(dataset.size()),
      with_commas(stats.pixels), scale, text(stats.by_pixel), text(stats.by_image),
      weights_text(dataset.manifest().class_samples));
}

/// Statistics of damaged data are of no use.
void refuse_damage(const PackedDataset& dataset, const std::optional<ObjectStats>& objects) {
  if (!objects || objects->damaged == 0) return;
  throw Error(
      ErrorKind::kCorrupt,
      "the objects of " + program::count_text(objects->damaged, "image") + " could not be read",
      dataset.path(), "`packhorse inspect --verify full` finds all damage");
}

std::string objects_text(const ObjectStats& stats, std::uint64_t samples) {
  std::string text;
  for (const auto& [name, value] : inspect::object_lines(stats, samples))
    text += fmt::format("# {}: {}\n", name, value);
  for (std::size_t label = 0; label < stats.class_objects.size(); ++label)
    text += fmt::format("#   {} {}\n", program::with_commas(stats.class_objects[label]),
                        printable(stats.target.record.classes[label]));
  return text;
}

class CommandStats final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    request_.setup_dataset(app);
    auto* sample = app.add_option("--sample", options_.images, "Use only this many images; 0 = all")
                       ->capture_default_str();
    app.add_option("--seed", options_.seed, "With --sample: seed that chooses them")
        ->needs(sample)
        ->capture_default_str();
    app.add_flag("--bands", options_.bands,
                 "Of the samples as they are stored, band by band, not of colours");
    request_.setup_rest(app, program::kProgress);
    app.footer(
        "Decodes all images and prints the mean and standard deviation of RGB, once with each "
        "pixel and once with each\n"
        "image counting the same, class weights, and how many objects the images have.\n\n"
        "Example:\n"
        "  packhorse stats packed/train");
  }

  int run() override {
    const std::vector<fs::path> paths = request_.datasets();
    options_.jobs = request_.jobs;
    options_.limits = request_.limits;
    std::vector<Json> objects;
    std::string text;
    {
      Progress progress;
      const program::ProgressLine line(progress, "decoding", request_.quiet);
      for (const fs::path& path : paths) {
        const PackedDataset dataset(path);
        const DatasetStats stats = measure_stats(dataset, options_, &progress);
        const auto counted = count_objects(
            dataset, {.images = options_.images, .seed = options_.seed, .jobs = options_.jobs});
        refuse_damage(dataset, counted);
        objects.push_back(stats_json(dataset, stats, counted));
        text += stats_text(dataset, stats, options_.bands);
        if (counted) text += objects_text(*counted, dataset.size());
      }
    }
    if (request_.json) text = json_text(one_report(request_.path, paths, objects));
    fmt::print("{}", text);
    return program::kDone;
  }

 private:
  Request request_;
  StatsOptions options_;
};

}  // namespace

std::unique_ptr<program::Command> make_stats_command() { return std::make_unique<CommandStats>(); }

}  // namespace packhorse
