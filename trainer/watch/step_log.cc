#include "packhorse/trainer/watch/step_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "packhorse/base/error.h"
#include "packhorse/base/json.h"
#include "packhorse/base/mapped_file.h"

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
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  const reader::LoaderCounters& loader = metrics.loader;
  const nlohmann::ordered_json line = {
      {"epoch", metrics.epoch},
      {"step", metrics.step},
      {"loss", metrics.loss},
      {"lr", metrics.lr},
      {"images_per_s", metrics.images_per_s},
      {"data_wait_share", metrics.data_wait_share},
      {"device_memory_bytes", metrics.device_memory_bytes},
      {"device_memory_allocated_bytes", metrics.device_memory_allocated_bytes},
      {"loader",
       {{"samples", loader.samples},
        {"read_bytes", loader.bytes},
        {"read_seconds", seconds(loader.read_ns)},
        {"decode_seconds", seconds(loader.decode_ns)},
        {"slot_wait_seconds", seconds(loader.slot_wait_ns)},
        {"consumer_wait_seconds", seconds(loader.consumer_wait_ns)},
        {"batches", loader.batches},
        {"ready_batches_sum", loader.ready_batches_sum},
        {"bad_samples", loader.bad_samples}}}};
  append_exactly(file_.get(), as_bytes(line.dump() + '\n'), path_);
}

}  // namespace packhorse::trainer
