#include "common/storage.h"

#include <fmt/format.h>

namespace packhorse::program {

std::string storages_text() {
  std::string text = "Simulate storage: add its delays to reading from the page cache:";
  for (const reader::StorageModel& preset : reader::storage_presets())
    text += fmt::format("\n  {}: {}; {}", preset.name, preset.stands_for, delays_text(preset));
  return text + "\nor delays such as open=5ms,access=0.1ms,rate=100MB,depth=4, each optional";
}

std::string delays_text(const reader::StorageModel& storage) {
  return fmt::format(
      "{:.4g} ms to open, {:.4g} ms to access, {}, {} at a time", 1e3 * storage.open_s,
      1e3 * storage.access_s,
      storage.bytes_per_s > 0 ? fmt::format("{:.4g} MB/s", 1e-6 * storage.bytes_per_s) : "any rate",
      storage.depth > 0 ? std::to_string(storage.depth) : "any number");
}

Json delays_json(const reader::StorageModel& storage) {
  return {{"open_ms", 1e3 * storage.open_s},
          {"access_ms", 1e3 * storage.access_s},
          {"mb_per_s", storage.bytes_per_s > 0 ? Json(1e-6 * storage.bytes_per_s) : Json()},
          {"depth", storage.depth > 0 ? Json(storage.depth) : Json()}};
}

}  // namespace packhorse::program
