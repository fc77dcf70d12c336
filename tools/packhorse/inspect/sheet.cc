#include "inspect/sheet.h"

#include <opencv2/imgproc.hpp>

namespace packhorse::inspect {

namespace {

constexpr int kMargin = 10;  ///< around the sheet and between tiles
constexpr int kLine = 15;    ///< pixels of a line of text
constexpr int kCaption = 2 * kLine + 4;
constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kFontScale = 0.4;

const cv::Scalar kPaper(255, 255, 255), kMat(236, 236, 236), kInk(32, 32, 32), kPale(112, 112, 112),
    kDamage(40, 40, 208);  // BGR

int text_width(const std::string& text) {
  int baseline = 0;
  return cv::getTextSize(text, kFont, kFontScale, 1, &baseline).width;
}

/// Cuts `text` to fit into `width` pixels; a text that was cut ends in "..".
std::string fitting(std::string text, int width) {
  if (text_width(text) <= width) return text;
  while (!text.empty() && text_width(text + "..") > width) text.pop_back();
  return text + "..";
}

void write(cv::Mat& sheet, const std::string& text, cv::Point at, int width,
           const cv::Scalar& colour) {
  cv::putText(sheet, fitting(text, width), at, kFont, kFontScale, colour, 1, cv::LINE_AA);
}

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

void draw(cv::Mat& sheet, const Tile& tile, const cv::Rect& square, const std::string& name) {
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
  write(sheet, "#" + std::to_string(tile.sample), {square.x, y + kLine}, square.width,
        tile.damage.empty() ? kPale : kDamage);
}

}  // namespace

std::string drawable(const std::string& text) {
  std::string drawn;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0u) == 0x80u) continue;  // a continuation byte of UTF-8
    drawn += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return drawn;
}

cv::Size sheet_size(const SheetLayout& layout, std::size_t tiles) {
  const int rows = static_cast<int>((tiles + static_cast<std::size_t>(layout.columns) - 1) /
                                    static_cast<std::size_t>(layout.columns));
  return {kMargin + layout.columns * (layout.side + kMargin),
          kMargin + rows * (layout.side + kCaption + kMargin)};
}

cv::Mat draw_sheet(const SheetLayout& layout, const std::vector<Tile>& tiles,
                   const std::vector<std::string>& classes) {
  cv::Mat sheet(sheet_size(layout, tiles.size()), CV_8UC3, kPaper);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const int column = static_cast<int>(i) % layout.columns;
    const int row = static_cast<int>(i) / layout.columns;
    const cv::Rect square(kMargin + column * (layout.side + kMargin),
                          kMargin + row * (layout.side + kCaption + kMargin), layout.side,
                          layout.side);
    const auto label = static_cast<std::size_t>(tiles[i].label);
    draw(sheet, tiles[i], square, label < classes.size() ? drawable(classes[label]) : "?");
  }
  return sheet;
}

}  // namespace packhorse::inspect
