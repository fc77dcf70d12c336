#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/byte_size.h"
#include "base/printable.h"
#include "commands.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "packhorse/analysis/diff.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using program::Json;
using program::with_commas;

/// Two datasets to compare; an empty path means that only the other side has this split.
struct Pair {
  std::string split;
  fs::path a, b;
};

/// Pairs two datasets as they are, and two directories of splits by the names of the splits.
std::vector<Pair> pairs_of(const fs::path& a, const fs::path& b) {
  if (is_packed_dataset(a) || is_packed_dataset(b)) return {{"", a, b}};
  std::map<std::string, Pair> splits;
  for (const fs::path& path : find_datasets(a)) splits[path.filename()].a = path;
  for (const fs::path& path : find_datasets(b)) splits[path.filename()].b = path;
  std::vector<Pair> pairs;
  for (auto& [name, pair] : splits) pairs.push_back({name, pair.a, pair.b});
  return pairs;
}

std::vector<std::string> words_of(const SampleChange& change) {
  std::vector<std::string> words;
  if (change.bytes) words.emplace_back("bytes");
  if (change.fields) words.emplace_back("fields");
  if (change.described) words.emplace_back("described");
  if (change.relabelled) words.emplace_back("relabelled");
  if (change.renamed) words.emplace_back("renamed");
  if (change.rekeyed) words.emplace_back("rekeyed");
  if (change.moved) words.emplace_back("moved");
  return words;
}

Json sample_json(const SampleRef& ref) {
  return {{"sample", ref.sample},    {"key", ref.key},     {"path", ref.path},
          {"class", ref.class_name}, {"shard", ref.shard}, {"row", ref.row}};
}

Json diff_json(const DatasetDiff& diff) {
  Json settings = Json::array(), only_a = Json::array(), only_b = Json::array();
  Json changes = Json::array();
  for (const DatasetDiff::Setting& s : diff.settings)
    settings.push_back({{"name", s.name}, {"a", s.a}, {"b", s.b}});
  for (const SampleRef& ref : diff.only_a) only_a.push_back(sample_json(ref));
  for (const SampleRef& ref : diff.only_b) only_b.push_back(sample_json(ref));
  for (const SampleChange& change : diff.changes) {
    changes.push_back(
        {{"what", words_of(change)}, {"a", sample_json(change.a)}, {"b", sample_json(change.b)}});
  }
  const DatasetDiff::Counts& c = diff.counts;
  return {{"equal", diff.equal()},
          {"id_a", diff.id_a},
          {"id_b", diff.id_b},
          {"settings", settings},
          {"counts",
           {{"only_a", c.only_a},
            {"only_b", c.only_b},
            {"in_both", c.same},
            {"bytes", c.bytes},
            {"fields", c.fields},
            {"described", c.described},
            {"relabelled", c.relabelled},
            {"renamed", c.renamed},
            {"rekeyed", c.rekeyed},
            {"moved", c.moved}}},
          {"only_a", only_a},
          {"only_b", only_b},
          {"changes", changes}};
}

std::string name_of(const SampleRef& ref) {
  return fmt::format("{} ({}, key {})", ref.path.empty() ? "?" : printable(ref.path),
                     printable(ref.class_name), printable(ref.key));
}

std::string change_text(const SampleChange& change) {
  std::string text = fmt::format("~ {}: {}", name_of(change.a), fmt::join(words_of(change), ", "));
  if (change.renamed) text += "; now " + printable(change.b.path);
  if (change.relabelled) text += "; now in class " + printable(change.b.class_name);
  if (change.moved) {
    text += fmt::format("; {}[{}] -> {}[{}]", printable(change.a.shard), change.a.row,
                        printable(change.b.shard), change.b.row);
  }
  return text + "\n";
}

std::string diff_text(const DatasetDiff& diff) {
  if (diff.equal()) return fmt::format("equal: id {}\n", diff.id_a.substr(0, 12));
  std::string text;
  for (const DatasetDiff::Setting& s : diff.settings)
    text += printable_text(fmt::format("! {}: {} -> {}", s.name, s.a, s.b)) + "\n";
  for (const SampleRef& ref : diff.only_a) text += fmt::format("- {}\n", name_of(ref));
  for (const SampleRef& ref : diff.only_b) text += fmt::format("+ {}\n", name_of(ref));
  for (const SampleChange& change : diff.changes) text += change_text(change);
  const DatasetDiff::Counts& c = diff.counts;
  return text + fmt::format(
                    "{} samples in both: {} with different bytes, {} with different fields, {} "
                    "described differently, {} relabelled, {} renamed, {} rekeyed, {} moved; {} "
                    "only in A, {} only in B\n",
                    with_commas(c.same), with_commas(c.bytes), with_commas(c.fields),
                    with_commas(c.described), with_commas(c.relabelled), with_commas(c.renamed),
                    with_commas(c.rekeyed), with_commas(c.moved), with_commas(c.only_a),
                    with_commas(c.only_b));
}

class CommandDiff final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("a", a_, "Packed dataset, or directory of its splits")->required();
    app.add_option("b", b_, "Dataset, or directory of splits, to compare it with")->required();
    app.add_option("--limit", limit_, "Print at most this many entries of each list; 0 = all")
        ->capture_default_str();
    app.add_flag("--json", json_, "Print one JSON object");
    app.add_option_function<std::string>(
           "--memory", [this](const std::string& text) { memory_ = parse_byte_size(text); },
           "What matching the samples may take; the rest goes to a temporary file")
        ->type_name("SIZE")
        ->default_str("1GiB");
    remote_.setup(app);
    app.footer(
        "Example:\n"
        "  packhorse diff packed-before packed-after\n\n"
        "Reads only manifests, class lists and indexes; the shards may be elsewhere. Samples are "
        "matched by source path,\n"
        "then by their bytes, then (without a path) by key. Lines begin with ! for a setting, - "
        "for a sample only in A,\n"
        "+ for one only in B, ~ for one that changed. Exit code: 0 equal, 3 different.");
  }

  int run() override {
    remote_.enable({a_, b_});
    bool equal = true;
    Json objects = Json::array();
    std::string text;
    const std::vector<Pair> pairs = pairs_of(a_, b_);
    for (const Pair& pair : pairs) {
      Json json = {{"split", pair.split}};
      if (pair.a.empty() || pair.b.empty()) {
        const char* side = pair.b.empty() ? "A" : "B";
        text += fmt::format("{} split {}: only in {}\n", *side == 'A' ? '-' : '+',
                            printable(pair.split), side);
        json.update({{"equal", false}, {"only_in", side}});
        equal = false;
      } else {
        const DatasetDiff diff =
            diff_datasets(pair.a, pair.b,
                          limit_ == 0 ? std::nullopt : std::optional<std::size_t>(limit_), memory_);
        if (!pair.split.empty()) text += printable(pair.split) + ":\n";
        text += diff_text(diff);
        json.update(diff_json(diff));
        equal = equal && diff.equal();
      }
      objects.push_back(std::move(json));
    }
    const bool one = pairs.size() == 1 && pairs.front().split.empty();
    if (json_) {
      text = exact_json_text(one ? objects.front()
                                 : Json{{"equal", equal}, {"datasets", std::move(objects)}});
    }
    fmt::print("{}", text);
    return equal ? program::kDone : program::kDamage;
  }

 private:
  std::string a_, b_;
  std::uint64_t memory_ = std::uint64_t{1} << 30;
  std::size_t limit_ = 20;
  bool json_ = false;
  program::RemoteArguments remote_;
};

}  // namespace

std::unique_ptr<program::Command> make_diff_command() { return std::make_unique<CommandDiff>(); }

}  // namespace packhorse
