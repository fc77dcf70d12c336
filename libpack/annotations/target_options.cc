#include "packhorse/annotations/target_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/option.h"
#include "base/paths.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/class_set.h"

namespace packhorse {

namespace {

using Notation = TargetOptions::Notation;

struct NotationName {
  std::string_view name, field;
  Notation notation;
};
constexpr std::array<NotationName, 13> kNotations = {
    {{"coco", "json", Notation::kCoco},
     {"coco-records", "json", Notation::kCocoRecords},
     {"hf", "json", Notation::kHf},
     {"yolo", "txt", Notation::kYolo},
     {"voc", "xml", Notation::kVoc},
     {"labelme", "json", Notation::kLabelMe},
     {"cvat", "json", Notation::kCvat},
     {"table", "json", Notation::kTable},
     {"label-studio", "json", Notation::kLabelStudio},
     {"via", "json", Notation::kVia},
     {"dota", "json", Notation::kDota},
     {"kitti", "json", Notation::kKitti},
     {"createml", "json", Notation::kCreateMl}}};

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, "`targets=`: " + what, {}, advice);
}

const NotationName& notation_of(std::string_view word) {
  for (const NotationName& one : kNotations) {
    if (one.name == word) return one;
  }
  refuse("'" + std::string(word) + "' is not a notation of annotations",
         "give coco:FILE, coco-records:FILE, hf:FILE, yolo, yolo:data.yaml, voc, labelme:FOLDER, "
         "cvat:FILE, table:FILE, label-studio:FILE, via:FILE, dota:FOLDER, kitti:FOLDER, "
         "createml:FILE, classes:FILE, caption:FIELD or mask:FIELD; for one split alone "
         "val=coco:FILE");
}

struct ExtraName {
  std::string_view name;
  ExtraTarget::Kind kind;
};
constexpr std::array<ExtraName, 3> kExtras = {{{"classes", ExtraTarget::Kind::kClasses},
                                               {"caption", ExtraTarget::Kind::kCaption},
                                               {"mask", ExtraTarget::Kind::kMask}}};

}  // namespace

std::string_view name_of(ExtraTarget::Kind kind) {
  for (const ExtraName& one : kExtras) {
    if (one.kind == kind) return one.name;
  }
  return {};
}

std::string_view TargetOptions::name() const {
  for (const NotationName& one : kNotations) {
    if (one.notation == notation) return one.name;
  }
  return {};
}

bool TargetOptions::has(ExtraTarget::Kind kind) const {
  return std::ranges::any_of(extras,
                             [kind](const ExtraTarget& extra) { return extra.kind == kind; });
}

std::string_view TargetOptions::field() const {
  for (const NotationName& one : kNotations) {
    if (one.notation == notation) return one.field;
  }
  return {};
}

std::optional<TablePlace> table_of(const ExtraTarget& extra) {
  if (extra.kind == ExtraTarget::Kind::kMask) return std::nullopt;
  if (is_file(extra.place)) return TablePlace{extra.place, {}};
  const std::size_t colon = extra.place.rfind(':');
  if (colon == std::string::npos || !is_file(extra.place.substr(0, colon))) return std::nullopt;
  return TablePlace{extra.place.substr(0, colon), extra.place.substr(colon + 1)};
}

std::vector<std::string> TargetOptions::object_fields() const {
  std::vector<std::string> names;
  if (has_objects()) names.emplace_back(kObjectsField);
  if (makes_records()) names.emplace_back(field());
  return names;
}

std::vector<std::string> TargetOptions::extra_fields() const {
  std::vector<std::string> names;
  if (has(ExtraTarget::Kind::kClasses)) {
    names.emplace_back(kClassesField);
    names.emplace_back(kClassesText);
  }
  const bool captions = std::ranges::any_of(extras, [](const ExtraTarget& extra) {
    return extra.kind == ExtraTarget::Kind::kCaption && table_of(extra);
  });
  if (captions) names.emplace_back(kCaptionField);
  return names;
}

std::vector<std::string> TargetOptions::made_fields() const {
  std::vector<std::string> names = object_fields();
  for (std::string& name : extra_fields()) names.push_back(std::move(name));
  return names;
}

std::optional<std::filesystem::path> TargetOptions::data_yaml() const {
  if (notation != Notation::kYolo || files.empty()) return std::nullopt;
  return files.begin()->second;
}

void TargetOptions::add(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::string head = text.substr(0, colon), split;
  if (const std::size_t equal = head.find('='); equal != std::string::npos) {
    split = head.substr(0, equal);
    head.erase(0, equal + 1);
  }
  for (const ExtraName& one : kExtras) {
    if (one.name == head) return add_extra({one.kind, text.substr(colon + 1), split}, colon);
  }
  const NotationName& found = notation_of(head);
  if (has_objects() && notation != found.notation) refuse("two notations", "give all files in one");
  notation = found.notation;
  const bool has_file = colon != std::string::npos && colon + 1 < text.size();
  if (!has_file && has_files()) {
    const char* const place = is_export()                 ? ":PLACE"
                              : notation == Notation::kHf ? ":metadata.jsonl"
                                                          : ":annotations/instances.json";
    refuse(std::string(found.name) + " without a file",
           "give " + opt("targets", std::string(found.name) + place));
  }
  if (has_file && notation == Notation::kVoc)
    refuse("voc is read from each sample's field 'xml', not from a file", "give `targets=voc`");
  if (!has_file) return;
  if (notation == Notation::kYolo && !split.empty())
    refuse("a data.yaml is for all splits",
           "give " + opt("targets", "yolo:" + text.substr(colon + 1)));
  if (!files.emplace(split, text.substr(colon + 1)).second)
    refuse("two files for one split", "give each split one file: val=coco:FILE");
}

void TargetOptions::add_extra(ExtraTarget extra, std::size_t colon) {
  const std::string name(name_of(extra.kind));
  if (colon == std::string::npos || extra.place.empty())
    refuse(name + " without a place", extra.kind == ExtraTarget::Kind::kClasses
                                          ? "give the table: classes:FILE, or classes:FILE:COLUMN"
                                          : "name the field that holds it: " + name + ":FIELD");
  if (extra.kind == ExtraTarget::Kind::kMask && !extra.split.empty())
    refuse("masks are fields of all splits", "give mask:FIELD");
  for (const ExtraTarget& other : extras) {
    if (other.kind == extra.kind &&
        (other.split == extra.split || other.split.empty() || extra.split.empty()))
      refuse("two of " + name, "give each split one");
  }
  extras.push_back(std::move(extra));
}

std::string TargetOptions::with_choice(std::string_view choice) const {
  std::string text;
  for (const auto& [split, place] : files) {
    std::error_code code;
    const std::string& file = place.native();
    const bool has_choice = !std::filesystem::exists(place, code);
    text += (text.empty() ? "" : " ") +
            opt("targets", (split.empty() ? "" : split + '=') + std::string(name()) + ':' +
                               file.substr(0, has_choice ? file.rfind(':') : file.npos) + ':' +
                               std::string(choice));
  }
  return text;
}

void TargetOptions::validate() const {
  if (notation == Notation::kNone && keypoints != 0)
    refuse("it is missing, but its key points are given", "give it, or leave them out");
  if (!names_object_classes() && has(ExtraTarget::Kind::kClasses) &&
      has(ExtraTarget::Kind::kMask) && !classes.empty())
    refuse("`target_classes=` could be those of the masks or of the images",
           "leave it out: the table names the images' classes");
  if (notation == Notation::kNone) return;
  if (data_yaml() && keypoints != 0)
    refuse("a data.yaml says itself which key points there are", "leave out `target_keypoints=`");
  // The classes of voc may be found in its files.
  if (notation == Notation::kYolo && !data_yaml() && classes.empty())
    refuse("the classes of the objects are not known",
           "give `target_classes=FILE`, a name a line, or `targets=yolo:data.yaml`");
  if (keypoints != 0 && notation != Notation::kYolo)
    refuse("only YOLO's lines need to be told their key points", "leave out `target_keypoints=`");
}

}  // namespace packhorse
