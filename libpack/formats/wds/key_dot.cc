#include "formats/wds/key_dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"

namespace packhorse::wds {

namespace {

/// The members with one key by the last dot.
struct Part {
  std::size_t images = 0, others = 0;
  bool label = false;
};
using Parts = std::map<std::string_view, Part>;

Parts parts_of(std::span<const RunMember> run) {
  Parts parts;
  for (const RunMember& member : run) {
    const auto [key, extension] = cut_last(member.extension);
    Part& part = parts[key];
    ++(member.image ? part.images : part.others);
    part.label = part.label || extension == "cls";
  }
  return parts;
}

bool fits_first(const Parts& parts) {
  std::size_t images = 0;
  for (const auto& [key, part] : parts) {
    images += part.images;
    if (!key.empty() && part.label) return false;
  }
  const auto plain = parts.find("");
  return images <= 1 || (plain != parts.end() && plain->second.images == 1);
}

bool fits_last(const Parts& parts) {
  const bool label = parts.begin()->second.label;
  return std::ranges::all_of(parts, [&](const auto& one) {
    return one.second.images == 1 && one.second.others > 0 && one.second.label == label;
  });
}

}  // namespace

std::pair<std::string_view, std::string_view> cut_last(std::string_view extension) {
  const std::size_t dot = extension.rfind('.');
  if (dot == std::string_view::npos) return {"", extension};
  return {extension.substr(0, dot), extension.substr(dot + 1)};
}

std::optional<KeyDot> key_dot_of(std::span<const RunMember> run) {
  const Parts parts = parts_of(run);
  if (parts.empty() || (parts.size() == 1 && parts.begin()->first.empty())) return KeyDot::kFirst;
  const bool first = fits_first(parts), last = fits_last(parts);
  // One image with what lies beside it is the same sample by both; by the last dot, its fields
  // have their own names.
  if (first && last && parts.size() > 1) return std::nullopt;
  if (last) return KeyDot::kLast;
  return first ? std::optional(KeyDot::kFirst) : std::nullopt;
}

void UnclearKeys::add(std::span<const RunMember> run, std::string_view key) {
  const Parts parts = parts_of(run);
  for (const auto& [part, members] : parts) {
    images_ += members.images > 0 ? 1 : 0;
    alone_ += members.images > 0 ? 0 : members.others;
  }
  if (runs_++ > 0) return;
  for (const RunMember& member : run.first(std::min<std::size_t>(run.size(), 4)))
    example_ += fmt::format("{}'{}.{}'", example_.empty() ? "" : ", ", printable(key),
                            printable(member.extension));
}

void UnclearKeys::refuse(const std::filesystem::path& shard) const {
  if (runs_ == 0) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("it is not clear where the keys of {} end, for example those of {}",
                  runs_ == 1 ? "a sample" : fmt::format("{} samples", runs_), example_),
      shard,
      fmt::format(
          "packhorse pack with --key-dot last, by which they are {} samples, one for each "
          "image{}; or with --key-dot first, WebDataset's rule, by which they are {}, whose "
          "first image counts, and all else are fields",
          images_, alone_ == 0 ? "" : fmt::format(", and {} members belong to no image", alone_),
          runs_));
}

}  // namespace packhorse::wds
