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
constexpr std::array<NotationName, 3> kNotations = {{{"coco", "json", Notation::kCoco},
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
         "give coco:FILE, yolo, yolo:data.yaml or voc; for one split alone val=coco:FILE");
}

}  // namespace

std::string_view TargetOptions::name() const {
  for (const NotationName& one : kNotations) {
    if (one.notation == notation) return one.name;
  }
  return {};
}

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
  const NotationName& found = notation_of(head);
  if (!empty() && notation != found.notation) refuse("two notations", "give all files in one");
  notation = found.notation;
  const bool has_file = colon != std::string::npos && colon + 1 < text.size();
  if (!has_file && notation == Notation::kCoco)
    refuse("coco without a file", "give --targets coco:annotations/instances.json");
  if (has_file && notation == Notation::kVoc)
    refuse("voc is read from each sample's field 'xml', not from a file", "give --targets voc");
  if (!has_file) return;
  if (notation == Notation::kYolo && !split.empty())
    refuse("a data.yaml is for all splits", "give --targets yolo:" + text.substr(colon + 1));
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
  if (notation == Notation::kCoco && !classes.empty())
    refuse("files of COCO name their classes themselves", "leave out --target-classes");
  if (data_yaml() && !classes.empty())
    refuse("a data.yaml names its classes itself", "leave out --target-classes");
  if (data_yaml() && keypoints != 0)
    refuse("a data.yaml says itself which key points there are", "leave out --target-keypoints");
  // The classes of voc may be found in its files.
  if (notation == Notation::kYolo && !data_yaml() && classes.empty())
    refuse("the classes of the objects are not known",
           "give --target-classes FILE, a name a line, or --targets yolo:data.yaml");
  if (keypoints != 0 && notation != Notation::kYolo)
    refuse("only YOLO's lines need to be told their key points", "leave out --target-keypoints");
}

}  // namespace packhorse
