#include "drawing/drawn_text.h"

#include <opencv2/imgproc.hpp>

namespace packhorse::drawing {

namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;

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

int text_width(const std::string& text, TextSize size) {
  int baseline = 0;
  return cv::getTextSize(text, kFont, size.scale, size.stroke, &baseline).width;
}

std::string fitting(std::string text, int width, TextSize size) {
  if (text_width(text, size) <= width) return text;
  while (!text.empty() && text_width(text + "..", size) > width) text.pop_back();
  return text + "..";
}

std::vector<std::string> wrapped(const std::string& text, int width, std::size_t lines) {
  std::vector<std::string> broken;
  std::string rest = text;
  while (!rest.empty() && broken.size() + 1 < lines && text_width(rest) > width) {
    std::size_t end = 0;  // of the words that fit
    for (std::size_t space = rest.find(' '); space != std::string::npos;
         space = rest.find(' ', space + 1)) {
      if (text_width(rest.substr(0, space)) > width) break;
      end = space;
    }
    if (end == 0) break;  // a word longer than a line is cut there
    broken.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  if (!rest.empty() && lines > 0) broken.push_back(fitting(rest, width));
  return broken;
}

void write(cv::Mat& picture, const std::string& text, cv::Point at, int width,
           const cv::Scalar& colour, TextSize size) {
  cv::putText(picture, fitting(text, width, size), at, kFont, size.scale, colour, size.stroke,
              cv::LINE_AA);
}

}  // namespace packhorse::drawing
