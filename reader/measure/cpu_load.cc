#include "measure/cpu_load.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/resources.h"
#include "measure/measurement.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The CPUs that this process may run on; none where that is not known.
std::vector<int> own_cpus() {
  try {
    return allowed_cpus();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::optional<double> busy_seconds(std::string_view proc_stat, const std::vector<int>& cpus,
                                   double ticks_per_s) {
  double ticks = 0;
  std::size_t found = 0;
  std::istringstream lines{std::string(proc_stat)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    words >> name;
    int cpu = -1;
    if (!name.starts_with("cpu") || name.size() == 3) continue;  // the line of all CPUs together
    const auto [end, code] = std::from_chars(name.data() + 3, name.data() + name.size(), cpu);
    if (code != std::errc() || std::ranges::find(cpus, cpu) == cpus.end()) continue;
    if (!(words >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) continue;
    ticks += user + nice + system + irq + softirq + steal;  // guests' time is in user and nice
    ++found;
  }
  if (found == 0 || found != cpus.size()) return std::nullopt;
  return ticks / ticks_per_s;
}

std::optional<double> stalled_seconds(std::string_view pressure) {
  const std::string_view some = pressure.substr(0, pressure.find('\n'));
  constexpr std::string_view kTotal = "total=";
  const std::size_t at = some.find(kTotal);
  double microseconds = 0;
  if (!some.starts_with("some ") || at == std::string_view::npos) return std::nullopt;
  const char* const begin = some.data() + at + kTotal.size();
  if (std::from_chars(begin, some.data() + some.size(), microseconds).ec != std::errc())
    return std::nullopt;
  return 1e-6 * microseconds;
}

double foreign_cpus(double busy_s, double own_s, double seconds, std::size_t cpus) {
  return std::clamp((busy_s - own_s) / seconds, 0.0, static_cast<double>(cpus));
}

CpuWatch::CpuWatch() : cpus_(own_cpus()), begin_(look()) {}

CpuWatch::Times CpuWatch::look() const {
  return {.at = std::chrono::steady_clock::now(),
          .busy_s = busy_seconds(text_of("/proc/stat"), cpus_,
                                 static_cast<double>(::sysconf(_SC_CLK_TCK))),
          .stalled_s = stalled_seconds(text_of("/proc/pressure/cpu")),
          .own_s = process_usage().cpu_s};
}

CpuLoad CpuWatch::load() const {
  const Times now = look();
  const double seconds = std::chrono::duration<double>(now.at - begin_.at).count();
  CpuLoad load{.cpus = static_cast<int>(cpus_.size())};
  if (seconds <= 0) return load;
  if (now.busy_s && begin_.busy_s) {
    load.foreign_cpus =
        foreign_cpus(*now.busy_s - *begin_.busy_s, now.own_s - begin_.own_s, seconds, cpus_.size());
  }
  if (now.stalled_s && begin_.stalled_s)
    load.pressure = std::clamp((*now.stalled_s - *begin_.stalled_s) / seconds, 0.0, 1.0);
  return load;
}

}  // namespace packhorse::reader
