#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/choices.h"
#include "base/hash.h"
#include "base/permutation.h"
#include "base/stop.h"
#include "packhorse/reader/dataset_views.h"

namespace packhorse::reader {

namespace {

[[noreturn]] void refuse_choice(const std::string& what, const std::string& advice = {}) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

/// What a sample is called wherever it is packed.
std::string lasting_name(const Dataset& dataset, std::size_t i) {
  std::string path = dataset.source_path(i);
  return path.empty() ? dataset.name(i) : path;
}

std::uint64_t hash_of(const std::string& text) { return xxh3(std::as_bytes(std::span(text))); }

/// The part of each sample: by its hash or, in each class, by its place among the hashes. Classes
/// begin with different parts, so that small ones do not all end in the first.
std::vector<std::uint64_t> parts_of(const Dataset& dataset, const Fold& fold) {
  std::vector<std::uint64_t> parts(dataset.size());
  std::map<std::int64_t, std::vector<std::pair<std::uint64_t, std::size_t>>> by_class;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    obey_stop();
    const std::uint64_t hash = hash_of(lasting_name(dataset, i));
    dataset.check_whole(i);
    parts[i] = mix64(hash) % fold.parts;
    if (fold.stratified) by_class[dataset.label(i)].emplace_back(hash, i);
  }
  for (auto& [label, samples] : by_class) {
    std::ranges::sort(samples);
    const std::uint64_t first = mix64(static_cast<std::uint64_t>(label)) % fold.parts;
    for (std::size_t place = 0; place < samples.size(); ++place)
      parts[samples[place].second] = (first + place) % fold.parts;
  }
  return parts;
}

void check_choice(const Dataset& dataset, const Choice& choice) {
  for (const std::string& name : choice.classes) {
    if (std::ranges::find(dataset.classes(), name) == dataset.classes().end())
      refuse_choice("there is no class '" + name + "'", choice_advice(name, dataset.classes()));
  }
  if (!choice.fold) return;
  if (choice.fold->parts < 2) refuse_choice("a fold has 2 parts or more");
  if (choice.fold->part >= choice.fold->parts)
    refuse_choice("there is no part " + std::to_string(choice.fold->part) + " of " +
                      std::to_string(choice.fold->parts),
                  "parts are counted from 0");
}

bool is_chosen(const Dataset& dataset, const Choice& choice, std::size_t i) {
  if (!choice.classes.empty()) {
    const std::int64_t label = dataset.label(i);
    const bool known = label >= 0 && static_cast<std::size_t>(label) < dataset.classes().size();
    if (!known ||
        std::ranges::find(choice.classes, dataset.classes()[static_cast<std::size_t>(label)]) ==
            choice.classes.end())
      return false;
  }
  if (!choice.keys.empty() && ::fnmatch(choice.keys.c_str(), dataset.name(i).c_str(), 0) != 0)
    return false;
  if (!choice.paths.empty()) {
    const std::string path = dataset.source_path(i);
    if (path.empty())
      refuse_choice(dataset.describe(i) + ": its path in the source is unknown",
                    "choose by keys or classes");
    if (::fnmatch(choice.paths.c_str(), path.c_str(), 0) != 0) return false;
  }
  if (choice.min_side == 0) return true;
  const ImageInfo image = dataset.image(i);
  if (image.kind == ImageKind::kUnknown)
    refuse_choice(dataset.describe(i) + ": the size of its image is unknown",
                  "pack the dataset: its index knows the sizes");
  return std::min(image.width, image.height) >= choice.min_side;
}

}  // namespace

std::vector<std::uint64_t> choose(const Dataset& dataset, const Choice& choice) {
  check_choice(dataset, choice);
  std::vector<std::uint64_t> parts;
  if (choice.fold) parts = parts_of(dataset, *choice.fold);
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    obey_stop();
    if (choice.fold && (parts[i] == choice.fold->part) != choice.fold->held_out) continue;
    if (is_chosen(dataset, choice, i)) chosen.push_back(i);
    dataset.check_whole(i);
  }
  if (chosen.empty()) refuse_choice("no sample is chosen: the subset is empty");
  return chosen;
}

}  // namespace packhorse::reader
