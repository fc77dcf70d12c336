#include "detect_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "common/program.h"
#include "common/terminal.h"
#include "drawing/encoded.h"
#include "drawn_detections.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {

namespace fs = std::filesystem;
using program::Json;

namespace {

constexpr std::size_t kMostDigits = 18;  // of an id
constexpr std::size_t kMostNameBytes = 80;

/// "139" of "000000000139.jpg"; empty for names that are no numbers.
std::string number_in_name(const std::string& name) {
  const std::string stem = fs::path(name).stem();
  if (stem.empty() || stem.size() > kMostDigits ||
      stem.find_first_not_of("0123456789") != std::string::npos)
    return {};
  const std::size_t first = stem.find_first_not_of('0');
  return first == std::string::npos ? "0" : stem.substr(first);
}

/// A name that is safe in a folder, whatever the sample is called.
std::string file_name(std::uint64_t number, const std::string& name) {
  std::string stem = fs::path(name).stem();
  for (char& c : stem) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && c != '-' && c != '.') c = '_';
  }
  return fmt::format("{:06}_{}.jpg", number, stem.substr(0, kMostNameBytes));
}

}  // namespace

DetectOutputs::DetectOutputs(const DetectOutputOptions& options,
                             const std::vector<std::string>& classes,
                             const std::vector<DetectInput>& inputs)
    : options_(options), classes_(classes), decoder_({.limits = options.limits}) {
  if (!options_.pictures.empty() && fs::exists(fs::symlink_status(options_.pictures)))
    throw Error(ErrorKind::kUsage, "the folder for pictures exists", options_.pictures,
                "name another, or remove it");
  if (!options_.coco.empty()) begin_results(inputs);
  if (!options_.pictures.empty()) make_directories(options_.pictures);
}

void DetectOutputs::begin_results(const std::vector<DetectInput>& inputs) {
  if (inputs.size() > 1 && options_.annotations.empty())
    throw Error(ErrorKind::kUsage, "the ids of images of several inputs would be mixed up", {},
                "give one input, or --annotations");
  input_ = inputs.front();
  results_.emplace(options_.coco, choose_ids());
}

CocoIds DetectOutputs::choose_ids() {
  const auto note = [](const std::string& text) {
    fmt::print(stderr, "packhorse-train: note: COCO's ids: {}\n", text);
  };
  if (!options_.annotations.empty())
    return ids_.emplace(CocoIds::of_file(options_.annotations, classes_));
  for (const TargetRecord& target : input_.dataset->targets()) {
    if (target.kind != kObjectsTarget || target.head.empty() || target.classes != classes_)
      continue;
    const std::vector<std::string>& fields = input_.dataset->fields();
    const auto field = std::ranges::find(fields, target.text);
    if (field != fields.end()) record_field_ = static_cast<std::size_t>(field - fields.begin());
    note(record_field_ ? "as the dataset keeps them" : "images by number from 1, categories kept");
    return CocoIds::of_head(target.head, classes_.size());
  }
  numeric_names_ = has_numeric_names();
  note(std::string(numeric_names_ ? "images by the numbers in their names"
                                  : "images by number from 1") +
       ", categories by number from 1, in the order of the model's classes");
  return CocoIds(classes_.size());
}

bool DetectOutputs::has_numeric_names() const {
  if (!input_.dataset->one_file_a_sample()) return false;
  std::set<std::string> numbers;
  for (std::size_t i = 0; i < input_.dataset->size(); ++i) {
    const std::string number = number_in_name(input_.dataset->name(i));
    if (number.empty() || !numbers.insert(number).second) return false;
  }
  return true;
}

void DetectOutputs::begin(const DetectInput& input) {
  input_ = input;
  pictures_before_ = pictures_;
}

void DetectOutputs::add(const SeenPicture& picture) {
  print(picture);
  if (results_) results_->add(image_id(picture), picture.info, picture.detections);
  if (!options_.pictures.empty()) write_picture(picture);
  ++pictures_;
  objects_ += picture.detections.size();
}

void DetectOutputs::end(const std::vector<reader::BadSample>& bad) {
  for (const reader::BadSample& one : bad)
    fmt::print(stderr, "packhorse-train: note: left out: {}\n", printable_text(one.what));
  const std::uint64_t left_out = input_.dataset->size() - (pictures_ - pictures_before_);
  if (left_out > bad.size())
    fmt::print(stderr, "packhorse-train: note: left out: {} more\n",
               program::with_commas(left_out - bad.size()));
  left_out_ += left_out;
}

std::string DetectOutputs::image_id(const SeenPicture& picture) {
  const std::string name = input_.dataset->name(picture.sample);
  if (ids_) {
    // A packed sample has a key for a name, which may be another's number, and the image's path.
    const std::string path = input_.dataset->source_path(picture.sample);
    std::optional<std::string> id = path.empty() ? std::nullopt : ids_->of_image(path);
    if (!id) id = ids_->of_image(name);
    if (!id)
      throw Error(ErrorKind::kUsage,
                  fmt::format("no single image there is called '{}'", printable(name)),
                  options_.annotations, "give the annotations of these images");
    return *id;
  }
  if (record_field_) {
    try {
      if (input_.dataset->read_field(picture.sample, *record_field_, bytes_))
        return CocoIds::of_record(as_text(bytes_));
      throw Error(ErrorKind::kCorrupt, "it lacks what the others keep of COCO's file", {},
                  "give --annotations with the ids of all images");
    } catch (const Error& error) {
      throw error_at(*input_.dataset, picture.sample, error);
    }
  }
  return numeric_names_ ? number_in_name(name) : std::to_string(picture.sample + 1);
}

void DetectOutputs::print(const SeenPicture& picture) const {
  const std::string name = input_.dataset->name(picture.sample);
  if (options_.json) {
    Json json = {{"image", is_utf8(name) ? name : printable(name)},
                 {"dataset", input_.path.empty() ? Json() : Json(input_.path.string())},
                 {"sample", picture.sample},
                 {"width", picture.width},
                 {"height", picture.height},
                 {"objects", Json::array()}};
    for (const Detection& one : picture.detections) {
      const PlainBox& box = one.box;
      json["objects"].push_back({{"class", classes_.at(static_cast<std::size_t>(one.label))},
                                 {"label", one.label},
                                 {"score", one.score},
                                 {"box", {box.x, box.y, box.width, box.height}}});
    }
    fmt::print("{}\n", printable_json(utf8_json(json)));
    return;
  }
  std::map<std::int64_t, std::uint64_t> counts;
  for (const Detection& one : picture.detections) ++counts[one.label];
  std::vector<std::string> words;
  for (const auto& [label, count] : counts)
    words.push_back(fmt::format("{} {}", program::with_commas(count),
                                printable_text(classes_.at(static_cast<std::size_t>(label)))));
  fmt::print("{}: {}\n", printable(name),
             words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", ")));
}

void DetectOutputs::write_picture(const SeenPicture& picture) {
  cv::Mat drawn = decoded_picture(*input_.dataset, picture, decoder_);
  draw_detections(drawn, picture.detections, classes_);
  const std::string name = file_name(pictures_, input_.dataset->name(picture.sample));
  write_file(options_.pictures / name, drawing::encoded(drawn, drawing::Chroma::kFull));
}

void DetectOutputs::finish() {
  if (results_) results_->finish();
  fmt::print(stderr, "packhorse-train: {} in {}{}\n", program::count_text(objects_, "object"),
             program::count_text(pictures_, "picture"),
             left_out_ == 0
                 ? ""
                 : fmt::format("; {} left out", program::count_text(left_out_, "damaged picture")));
}

}  // namespace packhorse::trainer
