// KITTI's label_2 (https://www.cvlibs.net/datasets/kitti/eval_object.php): a line is type truncated
// occluded alpha left top right bottom, and seven numbers of three dimensions, which are not read,
// nor is the score that a detector adds.
#include <fmt/format.h>

#include <array>

#include "annotations/exports/export_notation.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// Regions whose objects nobody has annotated.
constexpr std::string_view kDontCare = "DontCare";

}  // namespace

std::string read_kitti_line(std::string_view line, std::string& label, AnnotatedObject& object) {
  const std::vector<std::string_view> words = words_in(line);
  if (words.size() != 15 && words.size() != 16)
    return fmt::format("it has {} words, not a type and 14 numbers", words.size());
  std::array<double, 16> numbers = {};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto number = numbers_in(words[i], " ");
    if (!number) return "a word after the type is not a number";
    numbers[i] = number->front();
  }
  label = words[0];
  if (numbers[1] > 0) object.flags |= kTruncated;
  if (numbers[2] == 1 || numbers[2] == 2) object.flags |= kOccluded;
  if (label == kDontCare) object.flags |= kCrowd;
  object.left = numbers[4];
  object.top = numbers[5];
  object.right = numbers[6];
  object.bottom = numbers[7];
  return {};
}

bool is_kitti_text(std::string_view head) {
  return begins_with_line(head, read_kitti_line, nullptr);
}

void read_kitti(const ExportFile& file, ExportedImages& out) {
  read_lines(file, out, read_kitti_line, nullptr);
}

}  // namespace packhorse
