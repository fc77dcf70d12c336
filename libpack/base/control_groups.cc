#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/text.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

struct Group {
  fs::path folder;
  bool version_2 = false;
};

bool names(std::string_view controllers, std::string_view controller) {
  return std::ranges::count(split_text(controllers, ','), controller) > 0;
}

/// Visits `group` below `root`, then each group above it, up to the root.
template <class Visit>
void visit_upwards(const fs::path& root, std::string_view group, bool version_2,
                   const Visit& visit) {
  fs::path at = (root / fs::path(group).relative_path()).lexically_normal();
  if (!at.native().starts_with(root.native())) at = root;  // seen from inside a namespace
  while (true) {
    visit(Group{at, version_2});
    if (at == root || !at.has_relative_path()) return;
    at = at.parent_path();
  }
}

/// Calls `visit` for all groups of a process that may limit what `controller` controls.
template <class Visit>
void for_each_group(const fs::path& mount, std::string_view membership, std::string_view controller,
                    const Visit& visit) {
  while (!membership.empty()) {
    const std::string_view line = take_part(membership, '\n');
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) visit_upwards(mount, group, true, visit);
    if (names(controllers, controller)) {
      visit_upwards(mount / controller, group, false, visit);
      if (controllers != controller) visit_upwards(mount / controllers, group, false, visit);
    }
  }
}

/// The next word as a number above 0; none for "max", -1 and nonsense.
std::optional<double> next_limit(std::istream& words) {
  std::string word;
  words >> word;
  try {
    const double number = std::stod(word);
    return number > 0 ? std::optional(number) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<double> limit_in(const fs::path& path) {
  std::ifstream file(path);
  return next_limit(file);
}

std::optional<double> quota(const Group& group) {
  std::optional<double> time, period;
  if (group.version_2) {
    std::ifstream file(group.folder / "cpu.max");
    time = next_limit(file);
    period = next_limit(file);
  } else {
    time = limit_in(group.folder / "cpu.cfs_quota_us");
    period = limit_in(group.folder / "cpu.cfs_period_us");
  }
  return time && period ? std::optional(*time / *period) : std::nullopt;
}

std::optional<std::uint64_t> memory_left(const Group& group) {
  constexpr double kNoLimit = 0x1p62;  // version 1's largest is a little less than 2^63
  const fs::path& at = group.folder;
  const auto limit = limit_in(at / (group.version_2 ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const double used =
      limit_in(at / (group.version_2 ? "memory.current" : "memory.usage_in_bytes")).value_or(0);
  const auto cached = static_cast<double>(
      field_in(at / "memory.stat", group.version_2 ? "inactive_file" : "total_inactive_file"));
  return static_cast<std::uint64_t>(std::max(0.0, *limit - std::max(0.0, used - cached)));
}

/// The smallest value of `of_group` over the groups for `controller`.
template <class OfGroup>
auto least(const fs::path& mount, std::string_view membership, std::string_view controller,
           const OfGroup& of_group) {
  decltype(of_group(Group{})) result;
  for_each_group(mount, membership, controller, [&](const Group& group) {
    if (const auto one = of_group(group)) result = std::min(result.value_or(*one), *one);
  });
  return result;
}

}  // namespace

std::uint64_t field_in(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  for (std::string word; file >> word;)
    if (word == name) return file >> number ? number : 0;
  return 0;
}

std::optional<double> cgroup_cpus(const fs::path& mount, std::string_view membership) {
  return least(mount, membership, "cpu", quota);
}

std::optional<std::uint64_t> cgroup_memory(const fs::path& mount, std::string_view membership) {
  return least(mount, membership, "memory", memory_left);
}

}  // namespace packhorse
