#pragma once

#include <opencv2/core.hpp>
#include <string>
#include <vector>

/// Text in pictures, by OpenCV's font.
namespace packhorse::drawing {

/// How large letters are: 1 is about 22 pixels high.
struct TextSize {
  double scale = 0.4;
  int stroke = 1;  ///< pixels
};

/// Text as OpenCV can draw it: characters it has no shapes for become '?'.
std::string drawable(const std::string& text);

int text_width(const std::string& text, TextSize size = {});

/// Cuts `text` to fit into `width` pixels; a text that was cut ends in "..".
std::string fitting(std::string text, int width, TextSize size = {});

/// Breaks `text` between its words into at most `lines` lines of `width` pixels; the last one is
/// cut.
std::vector<std::string> wrapped(const std::string& text, int width, std::size_t lines);

/// Writes with the baseline's left end at `at`; cut to fit into `width` pixels.
void write(cv::Mat& picture, const std::string& text, cv::Point at, int width,
           const cv::Scalar& colour, TextSize size = {});

}  // namespace packhorse::drawing
