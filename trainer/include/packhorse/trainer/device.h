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

/// "auto" (a GPU where there is one), "cpu" or "cuda"; `index` is that of the GPU, for one of
/// several processes on a machine. Throws Error(kUsage) for another name and Error(kUnsupported)
/// when there is no such usable GPU.
Device pick_device(std::string_view name, int index = 0);

/// "cpu", or the GPU's name.
std::string describe(const Device& device);

/// Where a GPU sits, e.g. "0000:65:00.0"; "" for the CPU.
std::string pci_bus_id(const Device& device);

/// The most of a GPU's memory that LibTorch has held at once so far, in bytes; 0 for the CPU.
std::uint64_t peak_memory_bytes(const Device& device);

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
