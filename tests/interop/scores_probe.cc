// Prints what DetectionScores says of a JSON on stdin, for tests that compare it with pycocotools:
//
//     {"classes": 3, "parts": 2, "images": [{"objects": [[label, x, y, w, h, area, crowd], ...],
//                                            "detections": [[label, x, y, w, h, score], ...]},
//                                            ...]}
//
// `parts`: that many are filled in turns, and merged, the last one first.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "packhorse/analysis/detection_scores.h"

namespace {

using Json = nlohmann::json;
using packhorse::DetectionReport;
using packhorse::DetectionScores;

packhorse::PlainBox box_of(const Json& row) { return {row.at(1), row.at(2), row.at(3), row.at(4)}; }

Json json_of(const DetectionReport::Score& score) { return score ? Json(*score) : Json(-1.0); }

Json json_of(const DetectionReport& report) {
  Json json;
  for (const auto& score : {report.ap, report.ap50, report.ap75, report.ap_small, report.ap_medium,
                            report.ap_large, report.recall1, report.recall10, report.recall100,
                            report.recall_small, report.recall_medium, report.recall_large})
    json["stats"].push_back(json_of(score));
  json["classes"] = Json::array();
  for (const DetectionReport::OfClass& one : report.classes)
    json["classes"].push_back({{"ap", json_of(one.ap)},
                               {"ap50", json_of(one.ap50)},
                               {"recall", json_of(one.recall)},
                               {"objects", one.objects},
                               {"precision50", one.precision50}});
  return json;
}

}  // namespace

int main() {
  const Json given = Json::parse(std::cin);
  std::vector<DetectionScores> parts(given.at("parts"), DetectionScores(given.at("classes")));
  std::uint64_t number = 0;
  for (const Json& image : given.at("images")) {
    std::vector<packhorse::TrueObject> objects;
    std::vector<packhorse::Detection> detections;
    for (const Json& row : image.at("objects"))
      objects.push_back({box_of(row), row.at(0), row.at(5), row.at(6) != 0});
    for (const Json& row : image.at("detections"))
      detections.push_back({box_of(row), row.at(0), row.at(5)});
    parts[number % parts.size()].add(number, objects, detections);
    ++number;
  }
  DetectionScores all(given.at("classes"));
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) all.merge(part->serialise());
  std::cout << json_of(all.report()) << "\n";
}
