#include <nlohmann/json.hpp>

#include "packhorse/dataset/packed_dataset.h"
#include "reports/reports.h"

namespace packhorse {

namespace fs = std::filesystem;

ReportJson to_json(const UnpackReport& report) {
  ReportJson json = {{"samples", report.samples}, {"bytes", report.bytes}};
  if (report.objects > 0) json["objects"] = report.objects;
  if (!report.unsaid.empty()) json["unsaid"] = report.unsaid;
  return json;
}

ReportJson to_json(const CopyReport& report) {
  return {{"samples", report.samples},
          {"files", report.files},
          {"bytes", report.bytes},
          {"kept", report.kept},
          {"notes", report.notes}};
}

std::string_view name_of(CardOutcome outcome) {
  switch (outcome) {
    case CardOutcome::kWritten:
      return "written";
    case CardOutcome::kUnchanged:
      return "unchanged";
    case CardOutcome::kKept:
      return "kept";
    case CardOutcome::kNone:
      break;
  }
  return "none";
}

ExportReport export_all_indexes(const fs::path& path, const fs::path& out,
                                const ExportedIndexOptions& options, int jobs) {
  const std::vector<fs::path> paths = find_datasets(path);
  ExportReport report;
  report.splits = paths.front() != path;
  std::vector<CardPart> parts;
  for (const fs::path& one : paths) {
    const fs::path to = !out.empty() && report.splits ? out / one.filename() : out;
    report.datasets.push_back({to.empty() ? one : to, export_indexes(one, to, options, jobs)});
    parts.push_back({one});
  }
  // The card names shards by their paths from where it lies.
  if (out.empty()) report.card = write_card(path, parts);
  return report;
}

ReportJson to_json(const ExportReport& report) {
  std::vector<ReportJson> all;
  for (const ExportReport::Dataset& one : report.datasets) {
    all.push_back({{"path", one.path.string()},
                   {"written", one.files.written},
                   {"unchanged", one.files.unchanged},
                   {"bytes", one.files.bytes}});
  }
  ReportJson json = report.splits ? ReportJson{{"datasets", all}} : all.front();
  json["card"] = name_of(report.card);
  return json;
}

}  // namespace packhorse
