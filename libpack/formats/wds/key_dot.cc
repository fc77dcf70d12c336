#include "formats/wds/key_dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.h"
#include "listing/field_names.h"
#include "packhorse/base/error.h"

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
  std::size_t images = 0;
  for (const auto& [part, members] : parts) {
    images += members.images;
    images_ += 1;
    labelled_images_ += members.label ? 1u : 0u;
    labelled_runs_ += part.empty() && members.label ? 1u : 0u;
    one_image_each_ = one_image_each_ && members.images == 1;
  }
  imageless_run_ = imageless_run_ || images == 0;
  for (const RunMember& member : run)
    if (extensions_.size() <= kMaxFields) extensions_.emplace(member.extension);
  if (runs_++ > 0) return;
  for (const RunMember& member : run.first(std::min<std::size_t>(run.size(), 4)))
    example_ += fmt::format("{}'{}.{}'", example_.empty() ? "" : ", ", printable(key),
                            printable(member.extension));
}

bool UnclearKeys::first_packs() const {
  return !imageless_run_ && extensions_.size() <= kMaxFields &&
         (labelled_runs_ == 0 || labelled_runs_ == runs_);
}

bool UnclearKeys::last_packs() const {
  return one_image_each_ && (labelled_images_ == 0 || labelled_images_ == images_);
}

void UnclearKeys::refuse(const std::filesystem::path& shard) const {
  if (runs_ == 0) return;
  std::string advice;
  if (last_packs())
    advice = fmt::format("`pack(key_dot=last)`: {} samples, one for each image", images_);
  if (first_packs())
    advice += fmt::format(
        "{}`pack(key_dot=first)`, WebDataset's rule: {} {}, whose first image counts, and all else "
        "are fields",
        advice.empty() ? "" : "; or ", runs_, runs_ == 1 ? "sample" : "samples");
  if (advice.empty())
    advice =
        "rename the members: by neither dot has each key one image, and a label as others have";
  throw Error(ErrorKind::kUsage,
              fmt::format("it is not clear where the keys of {} end, for example of {}",
                          runs_ == 1 ? "a sample" : fmt::format("{} samples", runs_), example_),
              shard, advice);
}

}  // namespace packhorse::wds
