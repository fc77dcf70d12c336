#include "detection_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "common/terminal.h"
#include "drawing/draw_objects.h"
#include "drawing/encoded.h"
#include "drawing/html.h"
#include "drawn_detections.h"
#include "packhorse/version.h"

namespace packhorse::trainer {

using drawing::escaped;
using drawing::number_cell;
using drawing::swatch;
using program::count_text;
using program::with_commas;

namespace {

constexpr int kPictureSide = 480;        // pixels
constexpr int kWide = 220, kHigh = 150;  // user units of a curve's frame
constexpr int kLeft = 30, kBottom = 24;  // room for its numbers

std::string score_text(const DetectionReport::Score& score) {
  return score ? fmt::format("{:.4f}", *score) : "-";
}

std::string scores_part(const Scores& scores) {
  std::string html = "<h2>Scores</h2>\n<table>\n";
  for (const ScoreName& name : score_names(scores.task)) {
    const double value = scores.at(name.key);
    html += fmt::format("<tr><th>{}</th>{}</tr>\n", escaped(name.title),
                        number_cell(std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"));
  }
  return html + "</table>\n";
}

std::string classes_part(const DetectionPage& page) {
  std::string html =
      "<h2>Classes</h2>\n<table>\n<tr><th></th><th>class</th><th>objects</th><th>found</th>"
      "<th>AP</th><th>AP50</th><th>recall</th></tr>\n";
  for (std::size_t label = 0; label < page.classes.size(); ++label) {
    const DetectionReport::OfClass& of = page.scores.detection->classes.at(label);
    html += "<tr><td>" + swatch(label) + "</td><td>" + escaped(page.classes[label]) + "</td>" +
            number_cell(with_commas(of.objects)) + number_cell(with_commas(of.detections)) +
            number_cell(score_text(of.ap)) + number_cell(score_text(of.ap50)) +
            number_cell(score_text(of.recall)) + "</tr>\n";
  }
  return html + "</table>\n";
}

/// Precision over recall at an overlap of 0.5.
std::string curve(const std::string& name, std::size_t label, const DetectionReport::OfClass& of) {
  std::string points;
  for (std::size_t i = 0; i < of.precision50.size(); ++i)
    points += fmt::format("{:.1f},{:.1f} ", kLeft + kWide * static_cast<double>(i) / (kRecalls - 1),
                          5 + kHigh * (1 - of.precision50[i]));
  std::string svg = fmt::format(
      "<figure><figcaption>{} {}, AP50 {}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"precision over recall\">\n",
      swatch(label), escaped(name), score_text(of.ap50), kLeft + kWide + 10, 5 + kHigh + kBottom);
  for (const double at : {0.0, 0.5, 1.0}) {
    const double x = kLeft + kWide * at, y = 5 + kHigh * (1 - at);
    svg += fmt::format(
        "<path d=\"M{0} {1:.0f}h{2}M{3:.0f} 5v{4}\" stroke=\"var(--line)\" fill=\"none\"/>"
        "<text x=\"{5}\" y=\"{6:.0f}\" class=\"label\">{7}</text>"
        "<text x=\"{3:.0f}\" y=\"{8}\" text-anchor=\"middle\">{7}</text>\n",
        kLeft, y, kWide, x, kHigh, kLeft - 5, y + 4, at, 5 + kHigh + 18);
  }
  return svg +
         fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     points, drawing::hex_text(drawing::class_colour(label))) +
         "</svg></figure>\n";
}

std::string curves_part(const DetectionPage& page) {
  std::string html =
      "<h2>Precision (upwards) over recall, at an overlap of 0.5</h2>\n<div class=\"charts "
      "small\">\n";
  for (std::size_t label = 0; label < page.classes.size(); ++label) {
    const DetectionReport::OfClass& of = page.scores.detection->classes.at(label);
    if (!of.precision50.empty()) html += curve(page.classes[label], label, of);
  }
  return html + "</div>\n";
}

std::string image_text(const cv::Mat& picture, const char* what) {
  const int longest = std::max(picture.cols, picture.rows);
  cv::Mat scaled = picture;
  if (longest > kPictureSide) {
    const double scale = double{kPictureSide} / longest;
    cv::resize(picture, scaled, {}, scale, scale, cv::INTER_AREA);
  }
  return fmt::format("<img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\">",
                     drawing::jpeg_uri(drawing::encoded(scaled, drawing::Chroma::kFull)),
                     scaled.cols, scaled.rows, what);
}

std::string worst_part(const DetectionPage& page) {
  std::string html = fmt::format(
      "<h2>Worst pictures</h2>\n<p class=\"note\">Left: what is in the picture (crowds dashed). "
      "Right: detections with a score of at least {}.</p>\n",
      WorstPictures::kSure);
  if (page.worst.empty()) return html + "<p>No picture has a mistake.</p>\n";
  reader::Decoder decoder({.limits = page.limits});
  for (const WorstPictures::Picture& one : page.worst) {
    const cv::Mat picture = decoded_picture(page.dataset, one.seen, decoder);
    cv::Mat truth = picture.clone(), found = picture.clone();
    draw_truth(truth, one.seen.objects, page.classes);
    draw_detections(found, one.seen.detections, page.classes);
    html +=
        fmt::format("<h4>{} <small>{} missed, {}</small></h4>\n<div class=\"pair\">{}{}</div>\n",
                    escaped(page.dataset.name(one.seen.sample)), with_commas(one.mistakes.missed),
                    count_text(one.mistakes.false_alarms, "false alarm"),
                    image_text(truth, "in the picture"), image_text(found, "found"));
  }
  return html;
}

}  // namespace

void WorstPictures::add(const SeenPicture& picture) {
  SeenPicture sure = picture;
  std::erase_if(sure.detections, [](const Detection& one) { return one.score < kSure; });
  const Mistakes mistakes = mistakes_of(sure.objects, sure.detections);
  if (mistakes.count() == 0) return;
  const auto place = std::upper_bound(
      pictures_.begin(), pictures_.end(), mistakes.count(),
      [](std::uint64_t count, const Picture& other) { return count > other.mistakes.count(); });
  pictures_.insert(place, {std::move(sure), mistakes});
  if (pictures_.size() > most_) pictures_.pop_back();
}

std::string detection_page(const DetectionPage& page) {
  return drawing::html_page(
      page.title, count_text(page.scores.images, "image") + "; packhorse-train " + version(),
      scores_part(page.scores) + classes_part(page) + curves_part(page) + worst_part(page));
}

}  // namespace packhorse::trainer
