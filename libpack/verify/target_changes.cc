#include "verify/target_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

const TargetRecord* find(const std::vector<TargetRecord>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// The first name that differs, where both have one.
std::optional<TargetChange> renamed(const std::vector<std::string>& a,
                                    const std::vector<std::string>& b, const std::string& what) {
  std::optional<std::size_t> first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) continue;
    if (!first) first = i;
    ++count;
  }
  if (!first) return std::nullopt;
  return TargetChange{
      FindingKind::kRelabelled,
      fmt::format("{} of its {} {} in the source: number {} is '{}' in the dataset, '{}' there",
                  count, what, count == 1 ? "has another name" : "have other names", *first,
                  printable(a[*first]), printable(b[*first]))};
}

std::optional<TargetChange> change_between(const TargetRecord& ours, const TargetRecord& theirs) {
  const auto changed = [](std::string detail) {
    return TargetChange{FindingKind::kChanged, std::move(detail)};
  };
  if (ours.kind != theirs.kind || ours.text != theirs.text)
    return changed("they are of another kind in the source");
  if (auto change = renamed(ours.classes, theirs.classes, "classes")) return change;
  if (auto change = renamed(ours.keypoints, theirs.keypoints, "key points")) return change;
  const auto counts = [&](const char* what, std::size_t a, std::size_t b) {
    return changed(fmt::format("the dataset has {} {}, the source {}", a, what, b));
  };
  if (ours.classes.size() != theirs.classes.size())
    return counts("classes", ours.classes.size(), theirs.classes.size());
  if (ours.keypoints.size() != theirs.keypoints.size())
    return counts("key points", ours.keypoints.size(), theirs.keypoints.size());
  if (ours.ignore != theirs.ignore)
    return changed("another label stands for pixels of no class in the source");
  if (!ours.head.empty() && !theirs.head.empty() && ours.head != theirs.head)
    return changed(
        "the source's annotation file says otherwise of what is neither image nor annotation "
        "(info, licenses, categories)");
  return std::nullopt;
}

}  // namespace

std::vector<TargetChange> target_changes(const std::vector<TargetRecord>& dataset,
                                         const std::vector<TargetRecord>& source) {
  std::vector<TargetChange> changes;
  const auto add = [&](const std::string& field, TargetChange change) {
    change.detail = fmt::format("targets in the field '{}': {}", printable(field), change.detail);
    changes.push_back(std::move(change));
  };
  for (const TargetRecord& ours : dataset) {
    const TargetRecord* const theirs = find(source, ours.name);
    if (theirs == nullptr) {
      add(ours.name, {FindingKind::kChanged, "only the dataset has them"});
    } else if (auto change = change_between(ours, *theirs)) {
      add(ours.name, std::move(*change));
    }
  }
  for (const TargetRecord& theirs : source) {
    if (find(dataset, theirs.name) == nullptr)
      add(theirs.name, {FindingKind::kChanged, "only the source has them"});
  }
  return changes;
}

}  // namespace packhorse
