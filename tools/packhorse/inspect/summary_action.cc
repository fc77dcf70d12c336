#include "inspect/summary_action.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/printable.h"
#include "inspect/summary_text.h"
#include "reports/reports.h"

namespace packhorse::inspect {

namespace {

void say_damaged(const PackedDataset& dataset, std::uint64_t images) {
  fmt::print(stderr,
             "packhorse: error: the objects of {} could not be read\n  where: {}\n"
             "  next:  `packhorse inspect --verify full` finds all damage\n",
             program::count_text(images, "image"), printable(dataset.path().native()));
}

}  // namespace

int SummaryAction::run(const std::vector<std::filesystem::path>& paths) const {
  const program::Style style = program::stdout_style();
  std::vector<ReportJson> reports;
  int code = program::kDone;
  for (const std::filesystem::path& path : paths) {
    const PackedDataset dataset(path);
    const Summary summary = summarise(dataset);
    const std::optional<ObjectStats> objects =
        count_objects(dataset, {.images = kObjectsGlance, .jobs = request_.jobs});
    if (objects && objects->damaged > 0) {
      say_damaged(dataset, objects->damaged);
      code = program::kDamage;
    }
    if (request_.json) {
      reports.push_back(to_json(dataset, summary, objects));
    } else {
      fmt::print("{}{}", path == paths.front() ? "" : "\n",
                 summary_text(dataset, summary, objects, style));
    }
  }
  if (request_.json) fmt::print("{}", json_text(one_report(request_.path, paths, reports)));
  return code;
}

}  // namespace packhorse::inspect
