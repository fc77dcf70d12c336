#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/reader/loader.h"

namespace packhorse::trainer {

/// Where a model computes.
struct Device {
  enum class Kind { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;  ///< of the GPU
  bool is_cuda() const { return kind == Kind::kCuda; }
  friend bool operator==(const Device&, const Device&) = default;
};

/// "auto" (a GPU where there is one), "cpu" or "cuda"; `local_rank` is this process's number among
/// those of its machine. Throws Error(kUsage) for another name and Error(kUnsupported) when there
/// is no usable GPU for it.
Device pick_device(std::string_view name, int local_rank = 0);

/// The GPU of a process that sees `visible` of them: the one of its number, or the only one, which
/// launchers show each process alone (srun --gpus-per-task=1). Throws Error(kUnsupported).
int pick_gpu(int local_rank, int visible);

/// "cpu", or the GPU's name.
std::string describe(const Device& device);

/// Where a GPU sits, e.g. "0000:65:00.0"; "" for the CPU.
std::string pci_bus_id(const Device& device);

/// Peaks of a GPU's memory so far, in bytes; 0 for the CPU.
struct PeakMemory {
  std::uint64_t allocated = 0;  ///< of tensors, all at once
  std::uint64_t reserved =
      0;  ///< that LibTorch took from the driver, what it keeps cached included
};
PeakMemory peak_memory(const Device& device);

bool cuda_available();

/// Gives LibTorch's operators `threads` threads; call it before the first operator.
void set_compute_threads(int threads);

/// Pinned memory for a GPU, so that copies to it run beside the computation; nothing special for
/// the CPU.
reader::SlotAllocator slot_allocator(const Device& device);

/// LibTorch's version, and whether the CUDA kernels are compiled in.
std::vector<std::pair<std::string, std::string>> library_versions();

/// To be called in a catch block: throws what LibTorch threw as an Error (out of memory and device
/// faults with advice), and anything else as it is. `doing` is what the memory was for.
[[noreturn]] void rethrow_as_error(const std::string& doing = {});

}  // namespace packhorse::trainer
