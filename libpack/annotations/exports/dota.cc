// DOTA's texts (https://captain-whu.github.io/DOTA/dataset.html), which Roboflow calls YOLO-OBB: a
// line is x1 y1 x2 y2 x3 y3 x4 y4 class difficult, in pixels.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "annotations/exports/export_notation.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kDotaCorners = 4;

/// Lines that say where the image comes from: "imagesource:GoogleEarth", "gsd:0.1".
bool is_dota_head(std::string_view line) {
  return line.starts_with("imagesource:") || line.starts_with("gsd:");
}

}  // namespace

std::vector<std::string_view> words_in(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(words.back().size());
  }
}

std::string read_dota_line(std::string_view line, std::string& label, AnnotatedObject& object) {
  const std::vector<std::string_view> words = words_in(line);
  if (words.size() != 2 * kDotaCorners + 1 && words.size() != 2 * kDotaCorners + 2)
    return fmt::format("it has {} words, not eight numbers, a class and whether it is difficult",
                       words.size());
  std::vector<Point>& corners = object.polygons.emplace_back();
  for (std::size_t i = 0; i < kDotaCorners; ++i) {
    const auto x = numbers_in(words[2 * i], " "), y = numbers_in(words[2 * i + 1], " ");
    if (!x || !y) return "a corner is not a number";
    corners.push_back({x->front(), y->front()});
  }
  label = words[2 * kDotaCorners];
  if (words.size() == 2 * kDotaCorners + 2) {
    const std::string_view difficult = words.back();
    if (difficult != "0" && difficult != "1" && difficult != "2")
      return "its last word, whether it is difficult, is not 0, 1 or 2";
    if (difficult != "0") object.flags |= kDifficult;
  }
  box_from_polygons(object);
  return {};
}

void read_lines(const ExportFile& file, ExportedImages& out, ReadLine* read,
                bool (*passes)(std::string_view)) {
  ExportedImages::Image& image = out.image(file.name);
  std::string_view text = without_byte_order_mark(file.text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_part(text, '\n');
    if (words_in(line).empty() || (passes != nullptr && passes(line))) continue;
    const std::string name = fmt::format("line {}", number);
    AnnotatedObject object;
    std::string label;
    if (const std::string why = read(line, label, object); !why.empty())
      image.problem(name, why);
    else
      out.add(image, label, object, name);
  }
}

bool begins_with_line(std::string_view head, ReadLine* read, bool (*passes)(std::string_view)) {
  while (!head.empty()) {
    const std::string_view line = take_part(head, '\n');
    if (words_in(line).empty() || (passes != nullptr && passes(line))) continue;
    AnnotatedObject object;
    std::string label;
    return read(line, label, object).empty();
  }
  return false;
}

bool is_dota_text(std::string_view head) {
  return begins_with_line(head, read_dota_line, is_dota_head);
}

void read_dota(const ExportFile& file, ExportedImages& out) {
  read_lines(file, out, read_dota_line, is_dota_head);
}

}  // namespace packhorse
