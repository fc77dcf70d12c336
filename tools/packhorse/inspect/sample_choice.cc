#include "inspect/sample_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"

namespace packhorse::inspect {

void SampleChoice::setup(CLI::App& app) {
  app.add_option("--class", classes_,
                 "With --list, --sheet: only samples of this class (name or label); may be given "
                 "several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Choice of samples");
  app.add_option("--samples", samples_,
                 "With --list, --sheet: only these samples, by numbers and ranges, e.g. 0-9,17")
      ->group("Choice of samples");
}

std::vector<std::size_t> SampleChoice::choose(const PackedDataset& dataset) const {
  std::vector<std::size_t> chosen = numbers(dataset);
  if (!classes_.empty()) {
    const std::vector<char> wanted = labels(dataset);
    std::erase_if(chosen, [&](std::size_t sample) {
      const PackedDataset::Place at = dataset.place(sample);
      const auto label = static_cast<std::size_t>(dataset.index(at.shard)->label(at.row));
      return label >= wanted.size() || wanted[label] == 0;
    });
  }
  if (chosen.empty()) {
    throw Error(ErrorKind::kNotFound, "no sample matches the choice", dataset.path(),
                "`packhorse inspect` without --class and --samples shows what is there");
  }
  return chosen;
}

std::vector<std::size_t> SampleChoice::numbers(const PackedDataset& dataset) const {
  std::vector<std::size_t> chosen;
  if (samples_.empty()) {
    chosen.resize(dataset.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    return chosen;
  }
  for (const std::string_view part : split_text(samples_, ',')) {
    const std::size_t dash = part.find('-');
    const std::optional<std::size_t> first = parse_number<std::size_t>(part.substr(0, dash));
    const std::optional<std::size_t> last =
        dash == std::string_view::npos ? first : parse_number<std::size_t>(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' is neither a sample number nor a range", part), {},
                  "give it like 17, 0-9 or 0-9,17,40-49");
    }
    if (*last >= dataset.size()) {
      throw Error(ErrorKind::kNotFound,
                  fmt::format("there is no sample {}: the last is {}", *last, dataset.size() - 1),
                  dataset.path(), "`packhorse inspect --list` shows all of them");
    }
    for (std::size_t sample = *first; sample <= *last; ++sample) chosen.push_back(sample);
  }
  return chosen;
}

std::vector<char> SampleChoice::labels(const PackedDataset& dataset) const {
  std::vector<char> wanted(dataset.classes().size());
  for (const std::string& name : classes_) wanted[find_class(dataset, name)] = 1;
  return wanted;
}

std::size_t find_class(const PackedDataset& dataset, const std::string& name) {
  const std::vector<std::string>& classes = dataset.classes();
  const auto found = std::ranges::find(classes, name);
  if (found != classes.end()) return static_cast<std::size_t>(found - classes.begin());
  const std::optional<std::size_t> label = parse_number<std::size_t>(name);
  if (label && *label < classes.size()) return *label;
  throw Error(ErrorKind::kNotFound, "there is no class '" + name + "'", dataset.path(),
              "classes.txt in the dataset lists the names");
}

}  // namespace packhorse::inspect
