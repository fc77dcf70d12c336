#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/reader/loader.h"

namespace packhorse::trainer {

/// The device that a model computes on.
struct Device {
  enum class Kind { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;  ///< of the GPU
  bool is_cuda() const { return kind == Kind::kCuda; }
  friend bool operator==(const Device&, const Device&) = default;
};

/// `name`: "auto" (a GPU if there is one), "cpu" or "cuda". `local_rank` is this process's number
/// on its machine. Throws Error(kUsage) for another name and Error(kUnsupported) when there is no
/// usable GPU.
Device pick_device(std::string_view name, int local_rank = 0);

/// Picks the GPU of a process that sees `visible` GPUs: the one with its number, or the only one
/// when the launcher shows each process its own (srun --gpus-per-task=1). Throws
/// Error(kUnsupported).
int pick_gpu(int local_rank, int visible);

/// "cpu", or the GPU's name.
std::string describe(const Device& device);

/// The PCI address of a GPU, e.g. "0000:65:00.0"; "" for the CPU.
std::string pci_bus_id(const Device& device);

/// Peak use of a GPU's memory so far, in bytes; 0 for the CPU.
struct PeakMemory {
  std::uint64_t allocated = 0;  ///< by all tensors together
  std::uint64_t reserved = 0;   ///< taken from the driver by LibTorch, including its cache
};
PeakMemory peak_memory(const Device& device);

/// Waits until what is queued on the current stream is done; on the CPU nothing ever is. Throws
/// what LibTorch throws when the device has failed.
void wait_for(const Device& device);

bool cuda_available();

/// Gives LibTorch's operators `threads` threads; call it before the first operator.
void set_compute_threads(int threads);

/// Allocates pinned memory for a GPU, so that copies to it run beside the computation; ordinary
/// memory for the CPU.
reader::SlotAllocator slot_allocator(const Device& device);

/// LibTorch's version, and whether the CUDA kernels are compiled in.
std::vector<std::pair<std::string, std::string>> library_versions();

/// Call in a catch block. Throws what LibTorch threw as an Error (out of memory and device faults
/// with advice), and anything else unchanged. `doing` says what the memory was for.
[[noreturn]] void rethrow_as_error(const std::string& doing = {});

}  // namespace packhorse::trainer
