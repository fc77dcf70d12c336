#include "annotations/extra_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "annotations/coco_file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/option.h"
#include "base/printable.h"
#include "labels/given_labels.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/label_image.h"

namespace packhorse {

namespace {

using Kind = ExtraTarget::Kind;

std::vector<std::byte> bytes_of(std::string_view text) {
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

bool is_coco_name(const std::filesystem::path& path) {
  return lower_case(path.extension().string()) == ".json";
}

LabelFile open_captions(const TablePlace& place) {
  if (!is_coco_name(place.file))
    return LabelFile::texts(
        place.file,
        LabelColumns{.path = {}, .label = place.column, .several = true, .one_line = true});
  std::vector<CocoCaption> captions = read_coco_captions(place.file);
  std::size_t next = 0;
  return LabelFile::texts(place.file, [&](LabelRow& row) {
    if (next == captions.size()) return false;
    row = {.path = std::move(captions[next].file_name),
           .label = std::move(captions[next].text),
           .line = next + 1};
    ++next;
    return true;
  });
}

/// The text for readers of other makes: a list of names, or an object of names and scores.
std::string classes_text(const ClassSet& set, const std::vector<std::string>& names) {
  OrderedExactJson json =
      set.scores.empty() ? OrderedExactJson::array() : OrderedExactJson::object();
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    const std::string& name = names[static_cast<std::size_t>(set.labels[i])];
    if (set.scores.empty()) {
      json.push_back(name);
    } else {
      json[name] = static_cast<double>(set.scores[i]);
    }
  }
  return json.dump();
}

/// `by_split` at a split, or at "", which stands for all.
template <class Map>
auto& of_split(Map& by_split, const std::string& split) {
  const auto found = by_split.find(split);
  return found != by_split.end() ? found->second : by_split.find("")->second;
}

}  // namespace

ExtraTargets::ExtraTargets(TargetOptions options) : options_(std::move(options)) {
  Sha256 hash;
  const auto add = [&](const std::string& text) { hash.update(as_bytes(text + '\0')); };
  for (const ExtraTarget& extra : options_.extras) {
    const std::optional<TablePlace> table = table_of(extra);
    add(fmt::format("{} {}", name_of(extra.kind), extra.split));
    if (!table) {
      if (extra.kind == Kind::kClasses || !extra.split.empty())
        throw Error(ErrorKind::kNotFound, "`targets=`: there is no such table", extra.place,
                    "give a CSV or JSONL file: classes:FILE, or classes:FILE:COLUMN");
      (extra.kind == Kind::kMask ? mask_ : caption_) = extra.place;
      add(extra.place);
      continue;
    }
    add(table->column + ' ' + sha256_file(table->file));
    if (extra.kind == Kind::kClasses) {
      classes_.emplace(extra.split, *table);
    } else {
      captions_.emplace(extra.split, open_captions(*table));
      caption_ = kCaptionField;
    }
  }
  if (!mask_.empty() && !options_.names_object_classes()) mask_classes_ = options_.classes;
  if (!classes_.empty()) open_classes();
  for (const std::string& name : class_names_) add(name);
  for (const std::string& name : mask_classes_) add(name);
  fingerprint_ = hash.finish();
}

void ExtraTargets::open_classes() {
  const bool own = mask_.empty() && !options_.names_object_classes();
  std::vector<std::string> pinned = own ? options_.classes : std::vector<std::string>{};
  for (const auto& [split, table] : classes_) {
    if (pinned.empty()) pinned = table.columns();
  }
  LabelNames names(pinned);
  for (auto& [split, table] : classes_) table.add_to(names);
  names.finish();
  for (auto& [split, table] : classes_) table.resolve(names);
  class_names_ = names.classes();
  notes_ = names.notes();
  for (const auto& [split, table] : classes_)
    if (!table.note().empty()) notes_.push_back(table.note());
}

void ExtraTargets::attach_table(const std::string& split, LabelFile& file, Listing& listing) const {
  const auto for_splits = [&](const auto& visit) {
    for (SplitListing& one : listing.splits)
      if (split.empty() || one.split == split) visit(one);
  };
  for_splits([&](const SplitListing& one) {
    for (std::size_t i = 0; i < one.entries.size(); ++i)
      file.mark(names_of_image(one, i, !split.empty()));
  });
  if (!file.note().empty()) listing.notes.push_back(file.note());
  file.note_unused(listing.notes, "image of the " + (split.empty() ? "source" : "split " + split));
  const std::string name = printable(file.path().filename().native());
  for_splits([&](SplitListing& one) {
    one.entries.revise([&](std::size_t i, EntryTable::Facts&) {
      Problem problem;
      if (file.take(names_of_image(one, i, !split.empty()), problem)) return true;
      one.rejects.push_back(
          {printable(one.entries.path_of(i)), {Reason::kNoAnnotation, name + ": " + problem.text}});
      return false;
    });
  });
}

void ExtraTargets::attach(Listing& listing) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(listing.fields, name) != listing.fields.end();
  };
  for (const std::string& name : options_.extra_fields()) {
    if (has(name))
      throw Error(ErrorKind::kUsage,
                  "the source has a field '" + name + "', which `targets=` would make", {},
                  "leave it out with `fields=`");
  }
  for (const auto& [field, made] :
       {std::pair(mask_, false), std::pair(caption_, !captions_.empty())}) {
    if (!field.empty() && !made && !has(field))
      throw Error(ErrorKind::kUsage,
                  "`targets=`: there is no field and no file '" + printable(field) + "'", {},
                  "name the files that hold it: " + opt("fields", field) + " for x." + field +
                      " beside x.jpg, or " + opt("field_from", field + "=FOLDER"));
  }
  for (const SplitListing& split : listing.splits) {
    for (const auto& [what, lacks] :
         {std::pair("classes",
                    !classes_.empty() && !classes_.contains("") && !classes_.contains(split.split)),
          std::pair("caption", !captions_.empty() && !captions_.contains("") &&
                                   !captions_.contains(split.split))}) {
      if (lacks)
        throw Error(ErrorKind::kUsage, "no table is given for the split '" + split.split + "'", {},
                    "give " + opt("targets", split.split + "=" + what + ":FILE"));
    }
  }
  listing.notes.insert(listing.notes.end(), notes_.begin(), notes_.end());
  for (auto& [split, table] : classes_) attach_table(split, table.file(), listing);
  for (auto& [split, file] : captions_) attach_table(split, file, listing);
}

std::vector<TargetRecord> ExtraTargets::targets() const {
  std::vector<TargetRecord> targets;
  if (!classes_.empty())
    targets.push_back({.name = std::string(kClassesField),
                       .kind = std::string(kClassesTarget),
                       .text = std::string(kClassesText),
                       .classes = class_names_});
  if (!caption_.empty()) targets.push_back({.name = caption_, .kind = std::string(kCaptionTarget)});
  if (!mask_.empty())
    targets.push_back({.name = mask_,
                       .kind = std::string(kMaskTarget),
                       .classes = mask_classes_,
                       .ignore = kIgnoredLabel});
  return targets;
}

std::vector<ExtraTargets::Made> ExtraTargets::make(const SplitListing& split,
                                                   std::size_t entry) const {
  std::vector<Made> made;
  Problem problem;
  const auto text_in = [&](const auto& by_split, const LabelFile& file) {
    const auto text = file.take(
        names_of_image(split, entry, by_split.contains(split.split) && !split.split.empty()),
        problem);
    if (!text) throw Error(ErrorKind::kCorrupt, problem.text);
    return *text;
  };
  if (!classes_.empty()) {
    const ClassTable& table = of_split(classes_, split.split);
    const ClassSet& set = table.classes(text_in(classes_, table.file()));
    made.push_back({kClassesField, encode_classes(set)});
    made.push_back({kClassesText, bytes_of(classes_text(set, class_names_))});
  }
  if (!captions_.empty()) {
    const LabelFile& file = of_split(captions_, split.split);
    const std::string& caption = file.labels()[static_cast<std::size_t>(text_in(captions_, file))];
    check_caption(as_bytes(caption));
    made.push_back({kCaptionField, bytes_of(caption)});
  }
  return made;
}

void ExtraTargets::check(const Field& field, const ImageInfo& image) const {
  if (field.name == caption_) return check_caption(field.bytes);
  if (field.name != mask_) return;
  const LabelImage mask = decode_label_image(field.bytes, image.width, image.height);
  if (mask_classes_.empty()) return;
  for (const std::uint8_t label : mask.labels) {
    if (label < mask_classes_.size() || label == kIgnoredLabel) continue;
    throw Error(ErrorKind::kCorrupt,
                fmt::format("its mask has the label {}, but there are {} classes, and {} to be "
                            "ignored",
                            label, mask_classes_.size(), kIgnoredLabel));
  }
}

namespace {

constexpr std::size_t kLongestCaption = 1 << 20;

}  // namespace

void check_caption(Bytes caption) {
  const std::string_view text = as_text(caption);
  if (text.size() > kLongestCaption)
    throw Error(ErrorKind::kUnsupported, fmt::format("its caption has {} bytes, the limit is {}",
                                                     text.size(), kLongestCaption));
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    throw Error(ErrorKind::kCorrupt, "its caption is not a text in UTF-8");
}

}  // namespace packhorse
