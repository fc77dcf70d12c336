#include "packhorse/targets/target_options.h"

#include <array>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Notation = TargetOptions::Notation;

struct NotationName {
  std::string_view name, field;
  Notation notation;
};
constexpr std::array<NotationName, 4> kNotations = {
    {{"coco", "json", Notation::kCoco},
     {"coco-records", "json", Notation::kCocoRecords},
     {"yolo", "txt", Notation::kYolo},
     {"voc", "xml", Notation::kVoc}}};

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, "--targets: " + what, {}, advice);
}

const NotationName& notation_of(std::string_view word) {
  for (const NotationName& one : kNotations) {
    if (one.name == word) return one;
  }
  refuse("'" + std::string(word) + "' is no notation",
         "give coco:FILE, coco-records:FILE, yolo or voc; for one split alone val=coco:FILE");
}

}  // namespace

std::string_view TargetOptions::field() const {
  for (const NotationName& one : kNotations) {
    if (one.notation == notation) return one.field;
  }
  return {};
}

std::vector<std::string> TargetOptions::made_fields() const {
  std::vector<std::string> names = {std::string(kObjectsField)};
  if (notation == Notation::kCoco) names.emplace_back(field());
  return names;
}

void TargetOptions::add(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::string head = text.substr(0, colon), split;
  if (const std::size_t equal = head.find('='); equal != std::string::npos) {
    split = head.substr(0, equal);
    head.erase(0, equal + 1);
  }
  const NotationName& found = notation_of(head);
  if (!empty() && notation != found.notation) refuse("two notations", "give all files in one");
  notation = found.notation;
  const bool has_file = colon != std::string::npos && colon + 1 < text.size();
  if (has_file != has_files())
    refuse(has_file ? std::string(found.name) + " is read from each sample's field '" +
                          std::string(found.field) + "', not from a file"
                    : std::string(found.name) + " without a file",
           has_file ? "give --targets " + std::string(found.name)
                    : "give --targets " + std::string(found.name) + ":annotations/instances.json");
  if (!has_file) return;
  if (!files.emplace(split, text.substr(colon + 1)).second)
    refuse("two files for one split", "give each split one file: val=coco:FILE");
}

void TargetOptions::validate() const {
  if (notation == Notation::kNone) {
    if (!classes.empty() || keypoints != 0)
      refuse("it is missing, but its classes or key points are given",
             "give it, or leave them out");
    return;
  }
  if (has_files() && !classes.empty())
    refuse("files of COCO name their classes themselves", "leave out --target-classes");
  if (!has_files() && classes.empty())
    refuse("the classes of the objects are not known", "give --target-classes FILE, a name a line");
  if (keypoints != 0 && notation != Notation::kYolo)
    refuse("only YOLO's lines need to be told their key points", "leave out --target-keypoints");
}

}  // namespace packhorse
