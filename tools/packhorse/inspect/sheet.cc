#include "inspect/sheet.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <set>

#include "common/terminal.h"
#include "drawing/draw_objects.h"
#include "drawing/drawn_text.h"

namespace packhorse::inspect {

using drawing::class_colour;
using drawing::Colour;
using drawing::drawable;
using drawing::fitting;
using drawing::kMostDrawn;
using drawing::text_width;
using drawing::wrapped;
using drawing::write;

namespace {

constexpr int kMargin = 10;  ///< around the sheet and between tiles
constexpr int kLine = 15;    ///< pixels of a line of text
constexpr int kSwatch = 10;  ///< side of a colour in the legend
constexpr int kLegendRows = 8;

const cv::Scalar kPaper(255, 255, 255), kMat(236, 236, 236), kInk(32, 32, 32), kPale(112, 112, 112),
    kDamage(40, 40, 208);  // BGR

void cross_out(cv::Mat& sheet, const cv::Rect& square) {
  const cv::Point last = square.br() - cv::Point(1, 1);
  cv::rectangle(sheet, square, kDamage, 2);
  cv::line(sheet, square.tl(), last, kDamage, 1, cv::LINE_AA);
  cv::line(sheet, {square.x, last.y}, {last.x, square.y}, kDamage, 1, cv::LINE_AA);
  const std::string word = text_width("damaged") + 8 <= square.width ? "damaged" : "!";
  const int width = text_width(word);
  const cv::Point at(square.x + (square.width - width) / 2, square.y + square.height / 2 + 4);
  cv::rectangle(sheet, cv::Rect(at.x - 3, at.y - 12, width + 6, 17), kPaper, cv::FILLED);
  write(sheet, word, at, width, kDamage);
}

/// Pixels of text below a tile.
int text_height(const SheetLayout& layout) { return (2 + layout.caption_lines) * kLine + 4; }

/// "#17", and with objects how many there are.
std::string number_text(const Tile& tile, const SheetLayout& layout) {
  std::string text = "#" + std::to_string(tile.sample);
  if (!tile.bands.empty()) text += ", " + bands_text(tile.bands);
  if (layout.object_classes.empty() || !tile.damage.empty()) return text;
  text += ", " + program::count_text(tile.objects, "object");
  return tile.objects > kMostDrawn ? text + ", not all drawn" : text;
}

void draw(cv::Mat& sheet, const Tile& tile, const cv::Rect& square, const std::string& name,
          const SheetLayout& layout) {
  cv::rectangle(sheet, square, kMat, cv::FILLED);
  if (tile.picture.empty()) {
    cross_out(sheet, square);
  } else {
    tile.picture.copyTo(sheet(cv::Rect(square.x + (square.width - tile.picture.cols) / 2,
                                       square.y + (square.height - tile.picture.rows) / 2,
                                       tile.picture.cols, tile.picture.rows)));
  }
  const int y = square.y + square.height + kLine;
  write(sheet, name, {square.x, y}, square.width, kInk);
  write(sheet, number_text(tile, layout), {square.x, y + kLine}, square.width,
        tile.damage.empty() ? kPale : kDamage);
  const auto lines = static_cast<std::size_t>(layout.caption_lines);
  int line = 2;
  for (const std::string& text : wrapped(drawable(tile.caption), square.width, lines))
    write(sheet, text, {square.x, y + kLine * line++}, square.width, kInk);
}

std::string pixel_name(const std::vector<std::string>& names, std::size_t label) {
  return label < names.size() ? names[label] : "label " + std::to_string(label);
}

/// Below the tiles: the colours of the classes whose objects are shown.
class Legend {
 public:
  Legend(const SheetLayout& layout, const std::vector<Tile>& tiles, int width) {
    std::set<std::size_t> objects, pixels;
    for (const Tile& tile : tiles) {
      objects.insert(tile.object_labels.begin(), tile.object_labels.end());
      pixels.insert(tile.pixel_labels.begin(), tile.pixel_labels.end());
    }
    std::vector<std::pair<std::size_t, std::string>> labels;
    for (const std::size_t label : objects)
      labels.emplace_back(label, layout.object_classes[label]);
    for (const std::size_t label : pixels)
      labels.emplace_back(label, pixel_name(layout.pixel_classes, label));
    cv::Point at(kMargin, 0);
    for (const auto& [label, full_name] : labels) {
      const std::string name = fitting(drawable(full_name), width / 3);
      const int end = at.x + kSwatch + 5 + text_width(name);
      if (end > width - kMargin && at.x > kMargin) at = {kMargin, at.y + kLine};
      if (at.y == kLegendRows * kLine) break;
      entries_.push_back({label, name, at});
      at.x += kSwatch + 5 + text_width(name) + 2 * kMargin;
    }
    if (entries_.size() < labels.size()) {
      entries_.back().name =
          "and " + std::to_string(labels.size() - entries_.size() + 1) + " more classes";
      entries_.back().more = true;
    }
  }

  int height() const { return entries_.empty() ? 0 : entries_.back().at.y + kLine + kMargin; }

  void draw(cv::Mat& sheet, int top) const {
    for (const Entry& entry : entries_) {
      const cv::Point at = entry.at + cv::Point(0, top);
      const Colour colour = class_colour(entry.label);
      if (!entry.more)
        cv::rectangle(sheet, {at.x, at.y, kSwatch, kSwatch},
                      cv::Scalar(colour.blue, colour.green, colour.red), cv::FILLED);
      const int x = at.x + (entry.more ? 0 : kSwatch + 5);
      write(sheet, entry.name, {x, at.y + kSwatch}, sheet.cols - x, kInk);
    }
  }

 private:
  struct Entry {
    std::size_t label;
    std::string name;
    cv::Point at;
    bool more = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace

cv::Size sheet_size(const SheetLayout& layout, std::size_t tiles) {
  const int rows = static_cast<int>((tiles + static_cast<std::size_t>(layout.columns) - 1) /
                                    static_cast<std::size_t>(layout.columns));
  return {kMargin + layout.columns * (layout.side + kMargin),
          kMargin + rows * (layout.side + text_height(layout) + kMargin)};
}

cv::Mat draw_sheet(const SheetLayout& layout, const std::vector<Tile>& tiles,
                   const std::vector<std::string>& classes) {
  cv::Size size = sheet_size(layout, tiles.size());
  const Legend legend(layout, tiles, size.width);
  const int legend_top = size.height;
  size.height += legend.height();
  cv::Mat sheet(size, CV_8UC3, kPaper);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const int column = static_cast<int>(i) % layout.columns;
    const int row = static_cast<int>(i) / layout.columns;
    const cv::Rect square(kMargin + column * (layout.side + kMargin),
                          kMargin + row * (layout.side + text_height(layout) + kMargin),
                          layout.side, layout.side);
    const auto label = static_cast<std::size_t>(tiles[i].label);
    draw(sheet, tiles[i], square, label < classes.size() ? drawable(classes[label]) : "?", layout);
  }
  legend.draw(sheet, legend_top);
  return sheet;
}

}  // namespace packhorse::inspect
