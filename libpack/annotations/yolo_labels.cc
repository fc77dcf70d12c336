#include "annotations/yolo_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostNumbers = 1u << 16;  // in a line
constexpr std::string_view kBlanks = " \t";

/// The numbers of a line. False when a word is none, or when there are too many.
bool read_numbers(std::string_view line, std::vector<double>& numbers) {
  numbers.clear();
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return true;
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    const auto value = parse_number<double>(word);
    if (!value || numbers.size() == kMostNumbers) return false;
    numbers.push_back(*value);
    line.remove_prefix(word.size());
  }
}

/// A line's object, its coordinates made pixels.
class LineObject {
 public:
  LineObject(const AnnotationFrame& frame, YoloKeypoints keypoints)
      : frame_(frame), keypoints_(keypoints) {}

  /// Returns why the line is no object, or "".
  std::string read(const std::vector<double>& line, AnnotatedObject& object) const {
    constexpr double kLargest = std::numeric_limits<std::int32_t>::max();
    if (line.empty() || !(line[0] >= 0 && line[0] <= kLargest) || line[0] != std::floor(line[0]))
      return "it does not begin with the number of a class";
    object.label = static_cast<std::int64_t>(line[0]);
    const std::size_t n = line.size() - 1;
    const std::size_t with_keypoints = 4 + keypoints_.count * keypoints_.numbers;
    if (n == 4 || n == with_keypoints) {
      take_box(line, object);
      if (n != 4) take_keypoints(line, object);
      return {};
    }
    if (keypoints_.count == 0 && n >= 6 && n % 2 == 0) {
      take_polygon(line, object);
      return {};
    }
    return fmt::format("{} numbers follow the class, which are {}", n,
                       keypoints_.count == 0 ? "neither a box nor a polygon"
                                             : "neither a box nor a box with key points");
  }

 private:
  double x(double relative) const { return relative * frame_.width; }
  double y(double relative) const { return relative * frame_.height; }

  void take_box(const std::vector<double>& line, AnnotatedObject& object) const {
    object.left = x(line[1] - line[3] / 2);
    object.right = x(line[1] + line[3] / 2);
    object.top = y(line[2] - line[4] / 2);
    object.bottom = y(line[2] + line[4] / 2);
  }

  void take_keypoints(const std::vector<double>& line, AnnotatedObject& object) const {
    for (std::size_t at = 5; at < line.size(); at += keypoints_.numbers) {
      const bool there = line[at] != 0 || line[at + 1] != 0;
      const double visibility = keypoints_.numbers == 3 ? line[at + 2] : there ? 2 : 0;
      object.keypoints.push_back({static_cast<float>(x(line[at])),
                                  static_cast<float>(y(line[at + 1])),
                                  static_cast<float>(visibility)});
    }
  }

  void take_polygon(const std::vector<double>& line, AnnotatedObject& object) const {
    std::vector<Point>& points = object.polygons.emplace_back();
    for (std::size_t at = 1; at < line.size(); at += 2)
      points.push_back({x(line[at]), y(line[at + 1])});
    box_from_polygons(object);
  }

  const AnnotationFrame& frame_;
  YoloKeypoints keypoints_;
};

}  // namespace

void add_yolo_objects(std::string_view text, const AnnotationFrame& frame, YoloKeypoints keypoints,
                      ObjectBuilder& builder) {
  const LineObject reader(frame, keypoints);
  std::vector<double> numbers;
  text = without_byte_order_mark(text);
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view row = take_part(text, '\n');
    if (row.ends_with('\r')) row.remove_suffix(1);
    const std::string name = fmt::format("line {}", line);
    if (!read_numbers(row, numbers)) {
      builder.problem(name, "a word in it is not a number");
      continue;
    }
    if (numbers.empty()) continue;
    AnnotatedObject object;
    const std::string why = reader.read(numbers, object);
    if (why.empty())
      builder.add(object, name);
    else
      builder.problem(name, why);
  }
}

}  // namespace packhorse
