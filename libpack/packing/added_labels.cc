#include "packing/added_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "annotations/object_builder.h"
#include "base/printable.h"
#include "packhorse/annotations/target_options.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::int64_t kLargestUnnamed = 999'999;  // a class for each number up to the largest

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

void check_name(std::string_view name) {
  if (name.empty()) refuse("a class name is empty", "give each class a name");
  if (name.find_first_of("\r\n") != std::string_view::npos)
    refuse("the class name '" + printable(name) + "' has a line break", "take it out");
}

}  // namespace

AddedLabels::AddedLabels(std::vector<std::string> classes)
    : pinned_(!classes.empty()), names_(std::move(classes)) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    check_name(names_[i]);
    if (!numbers_.emplace(names_[i], static_cast<std::int64_t>(i)).second)
      refuse("the class list names '" + printable(names_[i]) + "' twice", "name each class once");
  }
}

std::int64_t AddedLabels::number(const Label& label) {
  const auto* name = std::get_if<std::string_view>(&label);
  const Kind kind = name != nullptr ? Kind::kNames : Kind::kNumbers;
  if (!pinned_ && kind_ != Kind::kNone && kind_ != kind) {
    refuse("a label is given as a class's name, another as its number",
           "give all labels in one way, or name the classes beforehand");
  }
  const std::int64_t number = name != nullptr ? of_name(*name) : of_number(std::get<0>(label));
  kind_ = kind;
  return number;
}

std::int64_t AddedLabels::of_name(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  if (pinned_)
    refuse("'" + printable(name) + "' is none of the classes", "add it to the class list");
  check_name(name);
  names_.emplace_back(name);
  return numbers_.emplace(name, static_cast<std::int64_t>(names_.size() - 1)).first->second;
}

std::int64_t AddedLabels::of_number(std::int64_t number) {
  const std::int64_t most =
      pinned_ ? static_cast<std::int64_t>(names_.size()) - 1 : kLargestUnnamed;
  if (number < 0 || number > most) {
    refuse("the label " + std::to_string(number) + " is not between 0 and " + std::to_string(most),
           pinned_ ? "labels are places in the class list, counted from 0"
                   : "give the class list, or labels that count classes from 0");
  }
  largest_ = std::max(largest_, number);
  return number;
}

std::string AddedLabels::class_of(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return place < names_.size() ? names_[place] : std::to_string(number);
}

std::vector<std::string> AddedLabels::finish() {
  if (pinned_) return names_;
  std::vector<std::string> classes;
  if (kind_ == Kind::kNumbers) {
    for (std::int64_t i = 0; i <= largest_; ++i) classes.push_back(std::to_string(i));
    return classes;
  }
  labels_.resize(names_.size());
  for (const auto& [name, number] : numbers_) {
    labels_[static_cast<std::size_t>(number)] = static_cast<std::int64_t>(classes.size());
    classes.push_back(name);
  }
  return classes;
}

std::int64_t AddedLabels::label(std::int64_t number) const {
  return labels_.empty() ? number : labels_.at(static_cast<std::size_t>(number));
}

namespace {

[[noreturn]] void refuse_objects(const std::string& what, const std::string& advice,
                                 std::string_view key) {
  throw Error(ErrorKind::kUsage, what, {}, advice, std::string(key));
}

void refuse_names(const std::vector<std::string>& names, const char* what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty() || printable(name) != name)
      refuse_objects(fmt::format("'{}' cannot be the name of {}", printable(name), what),
                     "give names of printable characters", {});
    if (!seen.insert(name).second)
      refuse_objects(fmt::format("two of {} are called '{}'", what, name), "give each its own name",
                     {});
  }
}

/// Whether `offsets` divide `values` among `owners`, or there is nothing to divide.
bool divides(const std::vector<std::uint32_t>& offsets, std::size_t owners, std::size_t values) {
  if (offsets.empty()) return values == 0;
  return offsets.size() == owners + 1 && offsets.front() == 0 && offsets.back() == values &&
         std::ranges::is_sorted(offsets);
}

bool columns_fit(const Objects& o, std::size_t keypoints) {
  const std::size_t n = o.size(), polygons = o.points.empty() ? 0 : o.points.size() - 1;
  return o.labels.size() == n && o.flags.size() == n && (o.areas.empty() || o.areas.size() == n) &&
         divides(o.polygons, n, polygons) && divides(o.points, polygons, o.outlines.size()) &&
         divides(o.runs, n, o.counts.size()) &&
         (o.keypoints.empty() || o.keypoints.size() == n * keypoints);
}

template <class T>
std::span<const T> part_of(const std::vector<std::uint32_t>& offsets, const std::vector<T>& values,
                           std::size_t i) {
  if (offsets.empty()) return {};
  return std::span(values).subspan(offsets[i], offsets[i + 1] - offsets[i]);
}

/// Object i, as annotations have it. Throws Error(kCorrupt) for a mask that is none.
AnnotatedObject object_at(const Objects& all, std::size_t i, MaskSize masks,
                          std::size_t keypoints) {
  const Box& box = all.boxes[i];
  AnnotatedObject one{.left = box.left,
                      .top = box.top,
                      .right = box.right,
                      .bottom = box.bottom,
                      .label = all.labels[i],
                      .flags = all.flags[i]};
  if (!all.areas.empty()) one.area = all.areas[i];
  for (std::uint32_t p = all.polygons.empty() ? 0 : all.polygons[i];
       !all.polygons.empty() && p < all.polygons[i + 1]; ++p) {
    const auto corners = part_of(all.points, all.outlines, p);
    one.polygons.emplace_back(corners.begin(), corners.end());
  }
  if (const auto counts = part_of(all.runs, all.counts, i); !counts.empty()) {
    check_run_lengths(counts, masks);
    one.mask = {RunLengths(counts.begin(), counts.end()), masks};
  }
  if (!all.keypoints.empty()) {
    const auto first = all.keypoints.begin() + static_cast<std::ptrdiff_t>(i * keypoints);
    one.keypoints.assign(first, first + static_cast<std::ptrdiff_t>(keypoints));
  }
  return one;
}

}  // namespace

std::vector<TargetRecord> record_of(const ObjectNames& names) {
  if (names.classes.empty()) {
    if (!names.keypoints.empty())
      refuse_objects("key points are named, but no classes of objects", "name the classes, too",
                     {});
    return {};
  }
  refuse_names(names.classes, "the classes of objects");
  refuse_names(names.keypoints, "the key points");
  return {{std::string(kObjectsField),
           std::string(kObjectsTarget),
           {},
           names.classes,
           names.keypoints}};
}

std::vector<std::byte> encode_added(const NewSample& sample, const ImageInfo& image,
                                    const ObjectNames& names) {
  if (sample.objects == nullptr)
    refuse_objects("the sample does not say which objects are in its image",
                   "give it objects; none of them where there are none", sample.key);
  const Objects& given = *sample.objects;
  if (!columns_fit(given, names.keypoints.size()))
    refuse_objects("the columns of the objects do not fit each other", "give each object its own",
                   sample.key);
  ObjectBuilder builder({image.width, image.height, names.classes.size(), names.keypoints.size()});
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string name = fmt::format("object {}", i);
    try {
      builder.add(object_at(given, i, sample.masks, names.keypoints.size()), name);
    } catch (const Error& error) {
      builder.problem(name, error.what());
    }
  }
  if (!builder.problems().empty())
    refuse_objects("the objects cannot be right: " + words_of(builder.problems()),
                   "correct them, or leave them out", sample.key);
  return encode_objects(builder.take());
}

}  // namespace packhorse
