#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// What else the CPUs do while something is measured.
namespace packhorse::reader {

/// Seconds that the CPUs of these numbers were busy since the machine started, in the text of
/// /proc/stat: all but idle and waiting for a disk; what a hypervisor gave to others counts.
/// Nothing where a CPU is missing in it.
std::optional<double> busy_seconds(std::string_view proc_stat, const std::vector<int>& cpus,
                                   double ticks_per_s);
/// Seconds in which some task waited for a CPU, in the text of /proc/pressure/cpu.
std::optional<double> stalled_seconds(std::string_view pressure);

/// CPUs of `cpus` that others kept busy over `seconds`, in which all of them were busy for `busy_s`
/// seconds and this process for `own_s`: 0 to `cpus`, as the two clocks have not the same ticks.
double foreign_cpus(double busy_s, double own_s, double seconds, std::size_t cpus);

/// Means from a moment on.
struct CpuLoad {
  int cpus = 0;  ///< that this process may run on
  /// CPUs that other processes and the kernel kept busy, of those.
  std::optional<double> foreign_cpus = {};
  /// Share of the time in which some task, ours or another's, waited for a CPU.
  std::optional<double> pressure = {};
};

/// Watches the CPUs from its construction on. By /proc, whose clock ticks are 10 ms: half a second
/// or more tells. One thread.
class CpuWatch {
 public:
  CpuWatch();
  /// Until now. Empty where /proc does not say.
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
