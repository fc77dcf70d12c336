#include "watch/step_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"
#include "packhorse/reader/metrics.h"
#include "watch/step_metrics.h"

namespace packhorse::trainer {
namespace {

/// The step of one line of the file; nothing for a line that is cut off, or that this log did not
/// write.
std::optional<std::int64_t> step_of(std::string_view line) {
  try {
    const auto value = parse_json(line, {.bytes = 64u << 10, .depth = 8, .members = 256});
    if (!value.is_object()) return std::nullopt;
    const auto step = value.find("step");
    if (step == value.end() || !step->is_number_integer()) return std::nullopt;
    return step->get<std::int64_t>();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Bytes of the leading lines that are complete and belong to steps up to `last_step`.
std::uintmax_t bytes_to_keep(const std::filesystem::path& path, std::int64_t last_step) {
  const MappedFile file(path);
  const std::string_view text = as_text(file.bytes());
  std::size_t bytes = 0;
  for (std::size_t end; (end = text.find('\n', bytes)) != std::string_view::npos; bytes = end + 1) {
    const auto step = step_of(text.substr(bytes, end - bytes));
    if (!step || *step > last_step) break;
  }
  return bytes;
}

/// The loader's counters, by the names of their metrics without "packhorse_loader_" and "_total".
nlohmann::ordered_json loader_json(const reader::LoaderCounters& counters) {
  constexpr std::string_view kBefore = "packhorse_loader_", kAfter = "_total";
  const reader::LoaderMetrics loader{{}, counters};
  nlohmann::ordered_json json;
  for (const reader::MetricFamily& family : reader::loader_metrics(std::span(&loader, 1))) {
    if (family.type != "counter") continue;
    const std::string key =
        family.name.substr(kBefore.size(), family.name.size() - kBefore.size() - kAfter.size());
    const double value = family.samples.front().value;
    if (key.ends_with("_seconds")) {
      json[key] = value;
    } else {
      json[key] = static_cast<std::uint64_t>(value);
    }
  }
  return json;
}

}  // namespace

StepLog::StepLog(std::filesystem::path path, std::int64_t resumed_step) : path_(std::move(path)) {
  const bool old = resumed_step >= 0 && std::filesystem::exists(path_);
  file_ = open_file(path_, O_WRONLY | O_CREAT | O_APPEND | (old ? 0 : O_TRUNC));
  if (!file_) throw_errno("open", path_);
  if (!old) return;
  const auto bytes = static_cast<off_t>(bytes_to_keep(path_, resumed_step));
  if (uninterrupted([&] { return ::ftruncate(file_.get(), bytes); }) != 0) {
    throw_errno("shorten", path_);
  }
}

void StepLog::add(const StepMetrics& metrics) {
  nlohmann::ordered_json line;
  for (const Figure& figure : step_figures())
    if (figure.key != nullptr) line[figure.key] = figure.value(metrics);
  line["loader"] = loader_json(metrics.loader);
  append_exactly(file_.get(), as_bytes(line.dump() + '\n'), path_);
}

}  // namespace packhorse::trainer
