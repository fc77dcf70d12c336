#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <fstream>

#include "base/resources.h"
#include "common/storage.h"

namespace packhorse::program {

namespace {

std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

Json machine_json() {
  struct utsname names {};
  ::uname(&names);
  struct sysinfo info {};
  ::sysinfo(&info);
  return {{"processor", processor()},
          {"cpus", available_cpus()},
          {"memory_bytes", std::uint64_t{info.totalram} * info.mem_unit},
          {"kernel", std::string(names.sysname) + " " + names.release},
          {"architecture", names.machine}};
}

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
