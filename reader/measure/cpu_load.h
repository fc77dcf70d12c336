#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// How busy other programs keep the CPUs while something is measured.
namespace packhorse::reader {

/// Seconds that the CPUs with these numbers were busy since the machine started, from the text of
/// /proc/stat. Busy is everything but idle and waiting for a disk; time that a hypervisor gave to
/// others counts. Nothing when a CPU is missing from the text.
std::optional<double> busy_seconds(std::string_view proc_stat, const std::vector<int>& cpus,
                                   double ticks_per_s);
/// Seconds in which some task waited for a CPU, from the text of /proc/pressure/cpu.
std::optional<double> stalled_seconds(std::string_view pressure);

/// How many of `cpus` CPUs others kept busy over `seconds`, in which all of them were busy for
/// `busy_s` seconds and this process for `own_s`. Clamped to 0..`cpus`, since the two clocks tick
/// differently.
double foreign_cpus(double busy_s, double own_s, double seconds, std::size_t cpus);

/// Means over a stretch of time.
struct CpuLoad {
  int cpus = 0;  ///< CPUs that this process may run on
  /// How many of those CPUs other processes and the kernel kept busy.
  std::optional<double> foreign_cpus = {};
  /// Share of the time in which any task of the machine waited for a CPU.
  std::optional<double> pressure = {};
};

/// Watches the CPUs from its construction on, through /proc. Its clock ticks are 10 ms: measure
/// half a second or more. One thread.
class CpuWatch {
 public:
  CpuWatch();
  /// The load until now. Empty if /proc does not say.
  CpuLoad load() const;

 private:
  struct Times {
    std::chrono::steady_clock::time_point at;
    std::optional<double> busy_s, stalled_s;
    double own_s = 0;
  };
  Times look() const;

  std::vector<int> cpus_;
  Times begin_;
};

}  // namespace packhorse::reader
