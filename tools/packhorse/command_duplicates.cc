#include <fmt/format.h>

#include <algorithm>

#include "base/byte_size.h"
#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/terminal.h"
#include "dataset/shard_index.h"
#include "packhorse/analysis/duplicates.h"
#include "packhorse/base/error.h"
#include "shared/request.h"

namespace packhorse {

namespace fs = std::filesystem;
using program::count_text;
using program::Json;
using program::with_commas;

namespace {

/// All datasets compared: those asked for, then those of OTHER.
struct Compared {
  std::vector<PackedDataset> opened;
  std::vector<const PackedDataset*> datasets;
  std::size_t own = 0;
};

struct ComparedSample {
  const PackedDataset& dataset;
  std::shared_ptr<const ShardIndex> held;
  const ShardIndex& index;
  std::size_t row;
  ComparedSample(const Compared& compared, const DuplicateSet::Member& member)
      : ComparedSample(*compared.datasets[member.dataset],
                       compared.datasets[member.dataset]->place(member.sample)) {}
  ComparedSample(const PackedDataset& from, PackedDataset::Place at)
      : dataset(from), held(from.index(at.shard)), index(*held), row(at.row) {}
  std::string class_name() const {
    const auto label = static_cast<std::size_t>(index.label(row));
    return label < dataset.classes().size() ? dataset.classes()[label] : "?";
  }
};

const char* kind_of(const DuplicateSet& set) { return set.identical ? "identical" : "near"; }

std::string set_text(const Compared& compared, const DuplicateSet& set) {
  std::string text = fmt::format("{}: {} images{}{}\n", kind_of(set), set.members.size(),
                                 set.across_datasets ? ", across datasets" : "",
                                 set.across_classes ? ", labels differ" : "");
  for (const DuplicateSet::Member& member : set.members) {
    const ComparedSample sample(compared, member);
    text += fmt::format("  {}\t{}\t{}\t{}\t{}\n", printable(sample.dataset.path().native()),
                        printable(sample.index.key(sample.row)), printable(sample.class_name()),
                        member.identical ? "same bytes" : fmt::format("{} bits", member.distance),
                        printable(sample.index.path(sample.row)));
  }
  return text;
}

Json set_json(const Compared& compared, const DuplicateSet& set) {
  Json members = Json::array();
  for (const DuplicateSet::Member& member : set.members) {
    const ComparedSample sample(compared, member);
    members.push_back({{"dataset", sample.dataset.path().string()},
                       {"sample", member.sample},
                       {"key", sample.index.key(sample.row)},
                       {"label", sample.index.label(sample.row)},
                       {"class", sample.class_name()},
                       {"path", sample.index.path(sample.row)},
                       {"identical", member.identical},
                       {"distance", member.distance}});
  }
  return {{"kind", kind_of(set)},
          {"across_datasets", set.across_datasets},
          {"across_classes", set.across_classes},
          {"members", members}};
}

/// With OTHER, only sets with images on both sides are of interest.
bool on_both_sides(const Compared& compared, const DuplicateSet& set) {
  const auto is_own = [&](const DuplicateSet::Member& m) { return m.dataset < compared.own; };
  return std::ranges::any_of(set.members, is_own) && !std::ranges::all_of(set.members, is_own);
}

struct Counts {
  std::size_t identical = 0, near = 0, across_datasets = 0, across_classes = 0, images = 0;
  explicit Counts(const std::vector<DuplicateSet>& sets) {
    for (const DuplicateSet& set : sets) {
      ++(set.identical ? identical : near);
      across_datasets += set.across_datasets ? 1 : 0;
      across_classes += set.across_classes ? 1 : 0;
      images += set.members.size();
    }
  }
};

std::string report_text(const Compared& compared, const DuplicateReport& report) {
  std::string text;
  for (const DuplicateSet& set : report.sets) text += set_text(compared, set);
  const Counts counts(report.sets);
  text += fmt::format(
      "{} of {} images are in {}: {} identical, {} near; {} across datasets, {} with different "
      "labels\n",
      with_commas(counts.images), with_commas(report.samples),
      count_text(report.sets.size(), "group"), with_commas(counts.identical),
      with_commas(counts.near), with_commas(counts.across_datasets),
      with_commas(counts.across_classes));
  if (report.featureless > 0)
    text += fmt::format("{} without features were compared only by their bytes\n",
                        count_text(report.featureless, "image"));
  return text;
}

Json report_json(const Compared& compared, const DuplicateSearch& search,
                 const DuplicateReport& report) {
  Json sets = Json::array(), datasets = Json::array();
  for (const PackedDataset* dataset : compared.datasets)
    datasets.push_back(dataset->path().string());
  for (const DuplicateSet& set : report.sets) sets.push_back(set_json(compared, set));
  const Counts counts(report.sets);
  return {{"datasets", datasets},
          {"samples", report.samples},
          {"featureless", report.featureless},
          {"max_distance", search.identical_only ? Json(nullptr) : Json(search.max_distance)},
          {"counts",
           {{"images", counts.images},
            {"identical", counts.identical},
            {"near", counts.near},
            {"across_datasets", counts.across_datasets},
            {"across_classes", counts.across_classes}}},
          {"groups", sets}};
}

class CommandDuplicates final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    request_.setup_dataset(app);
    app.add_option("other", other_, "Second dataset: report only images that are in both");
    auto* distance =
        app.add_option("--distance", search_.max_distance,
                       "Largest number of differing bits in the 64-bit perceptual hash, 0 to 7")
            ->check(program::in_range(0, kMostDistance))
            ->capture_default_str();
    app.add_flag("--identical", search_.identical_only, "Compare only bytes, without decoding")
        ->excludes(distance);
    app.add_option_function<std::string>(
           "--memory", [this](const std::string& text) { search_.memory = parse_byte_size(text); },
           "What sorting by bytes may take; the rest goes to a temporary file")
        ->type_name("SIZE")
        ->default_str("1GiB");
    request_.setup_rest(app, program::kProgress);
    app_ = &app;
    app.footer(
        "Examples:\n"
        "  packhorse duplicates packed                    within train, within val, and across "
        "both\n"
        "  packhorse duplicates packed/train other/val    what is in both");
  }

  int run() override {
    if (search_.identical_only && program::has_image_limits(*app_)) {
      throw Error(ErrorKind::kUsage, "image limits have no effect: no images are decoded", {},
                  "leave out --identical, or the limits");
    }
    Compared compared;
    for (const fs::path& path : request_.datasets({other_})) compared.opened.emplace_back(path);
    compared.own = compared.opened.size();
    if (!other_.empty()) {
      for (const fs::path& path : find_datasets(other_)) compared.opened.emplace_back(path);
    }
    for (const PackedDataset& dataset : compared.opened) compared.datasets.push_back(&dataset);
    search_.jobs = request_.jobs;
    search_.limits = request_.limits;
    DuplicateReport report;
    {
      Progress progress;
      const program::ProgressLine line(progress, "comparing", request_.quiet);
      report = find_duplicates(compared.datasets, search_, &progress);
    }
    if (!other_.empty())
      std::erase_if(report.sets, [&](const auto& set) { return !on_both_sides(compared, set); });
    fmt::print("{}", request_.json ? exact_json_text(report_json(compared, search_, report))
                                   : report_text(compared, report));
    return program::kDone;
  }

 private:
  const CLI::App* app_ = nullptr;
  Request request_;
  std::string other_;
  DuplicateSearch search_;
};

}  // namespace

std::unique_ptr<program::Command> make_duplicates_command() {
  return std::make_unique<CommandDuplicates>();
}

}  // namespace packhorse
