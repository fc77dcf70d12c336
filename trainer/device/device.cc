#include "packhorse/trainer/device/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "base/choices.h"
#include "device/lost_process.h"
#include "packhorse/base/error.h"

#ifdef PACKHORSE_TORCH_HAS_CUDA
#include <ATen/core/CachingHostAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#endif

namespace packhorse::trainer {

bool cuda_available() { return at::hasCUDA() && at::getNumGPUs() > 0; }

Device pick_device(std::string_view name, int local_rank) {
  if (name == "cpu") return {};
  if (name == "auto" && !cuda_available()) return {};
  if (name != "auto" && name != "cuda") {
    throw Error(ErrorKind::kUsage, fmt::format("there is no device '{}'", name), {},
                choice_advice(name, {"auto", "cpu", "cuda"}));
  }
  if (!cuda_available()) {
    throw Error(ErrorKind::kUnsupported, "there is no usable GPU here", {},
                "check that `nvidia-smi` lists one and that the driver supports CUDA 13, or use "
                "`device=cpu`");
  }
  return {Device::Kind::kCuda, pick_gpu(local_rank, static_cast<int>(at::getNumGPUs()))};
}

int pick_gpu(int local_rank, int visible) {
  if (visible == 1) return 0;
  if (local_rank < visible) return local_rank;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("process {} of this machine has no GPU: {} are visible", local_rank, visible), {},
      "start as many processes as there are GPUs, show each process a GPU of its own "
      "(CUDA_VISIBLE_DEVICES, srun --gpus-per-task=1), or use `device=cpu`");
}

void set_compute_threads(int threads) { at::set_num_threads(threads); }

#ifdef PACKHORSE_TORCH_HAS_CUDA

std::string describe(const Device& device) {
  if (!device.is_cuda()) return "cpu";
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device.index) != cudaSuccess) return "cuda";
  return properties.name;
}

std::string pci_bus_id(const Device& device) {
  std::array<char, 32> id{};
  if (!device.is_cuda() ||
      cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device.index) != cudaSuccess) {
    return "";
  }
  return id.data();
}

PeakMemory peak_memory(const Device& device) {
  if (!device.is_cuda()) return {};
  const auto stats =
      c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device.index));
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return {.allocated = static_cast<std::uint64_t>(stats.allocated_bytes[kAll].peak),
          .reserved = static_cast<std::uint64_t>(stats.reserved_bytes[kAll].peak)};
}

reader::SlotAllocator slot_allocator(const Device& device) {
  if (!device.is_cuda()) return {};
  struct Blocks {
    std::mutex mutex;
    std::map<void*, at::DataPtr> leased;
  };
  const auto blocks = std::make_shared<Blocks>();
  reader::SlotAllocator allocator;
  allocator.allocate = [blocks](std::size_t bytes) {
    at::DataPtr block = at::getHostAllocator(at::kCUDA)->allocate(bytes);
    void* address = block.get();
    const std::lock_guard lock(blocks->mutex);
    blocks->leased.emplace(address, std::move(block));
    return address;
  };
  allocator.deallocate = [blocks](void* address, std::size_t) {
    const std::lock_guard lock(blocks->mutex);
    blocks->leased.erase(address);
  };
  return allocator;
}

void wait_for(const Device& device) {
  if (device.is_cuda())
    c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device.index)).synchronize();
}

#else

void wait_for(const Device&) {}

std::string describe(const Device& device) { return device.is_cuda() ? "cuda" : "cpu"; }
std::string pci_bus_id(const Device&) { return ""; }
PeakMemory peak_memory(const Device&) { return {}; }
reader::SlotAllocator slot_allocator(const Device&) { return {}; }

#endif

std::vector<std::pair<std::string, std::string>> library_versions() {
#ifdef PACKHORSE_WITH_CUDA
  const char* const kernels = "on";
#else
  const char* const kernels = "off";
#endif
  return {{"libtorch", TORCH_VERSION},
          {"CUDA kernels", kernels},
          {"GPUs", std::to_string(static_cast<int>(at::getNumGPUs()))}};
}

void rethrow_as_error(const std::string& doing) {
  const std::string at = doing.empty() ? "" : ", with " + doing;
  try {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    throw Error(ErrorKind::kUnsupported, "the GPU's memory is full" + at, {},
                "use a smaller `batch_size=`; fit can also split each batch into more parts "
                "(`accumulate=`), or use `amp=bf16` or a smaller `image_size=`");
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    const std::string first_line = what.substr(0, what.find('\n'));
    if (tells_of_lost_process(what)) throw_lost_process(what);
    if (what.find("DefaultCPUAllocator") != std::string::npos) {
      throw Error(ErrorKind::kUnsupported, "memory is full" + at + ": " + first_line, {},
                  "use a smaller `batch_size=`; fit can also split each batch into more parts "
                  "(`accumulate=`), or use a smaller `image_size=`");
    }
    throw Error(ErrorKind::kUnsupported, "LibTorch failed: " + first_line);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    // Gloo throws its own kind from inside backward().
    if (tells_of_lost_process(error.what())) throw_lost_process(error.what());
    throw;
  }
}

}  // namespace packhorse::trainer
