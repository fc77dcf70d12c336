#include "packhorse/reports/report_json.h"

#include <nlohmann/json.hpp>

#include "packhorse/base/printable.h"

namespace packhorse {

std::string json_text(const ReportJson& json) {
  return printable_json(json.dump(2, ' ', false, ReportJson::error_handler_t::replace)) + "\n";
}

ReportJson one_report(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& paths,
                      const std::vector<ReportJson>& reports) {
  return paths.front() == path ? reports.front() : ReportJson{{"datasets", reports}};
}

}  // namespace packhorse
