#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace packhorse::trainer {

/// What NVIDIA's driver reports about a GPU, for all programs on it together.
struct GpuUse {
  double utilization =
      0;  ///< share of the last moments (up to a second) in which a kernel ran, 0..1
  std::uint64_t memory_used_bytes = 0, memory_total_bytes = 0;
};

/// NVIDIA's management library. It comes with the driver, so it is loaded when the program runs
/// (libnvidia-ml.so.1). Thread-safe.
class Nvml {
 public:
  /// The GPU at this PCI address ("0000:65:00.0"). Null where the library, the driver or the GPU is
  /// missing.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id);
  virtual ~Nvml() = default;

  /// Returns nothing where the driver does not tell, as for parts of a GPU (MIG) that have no
  /// utilisation.
  virtual std::optional<GpuUse> read() const = 0;
};

}  // namespace packhorse::trainer
