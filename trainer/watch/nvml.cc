#include "watch/nvml.h"

#include <dlfcn.h>

namespace packhorse::trainer {
namespace {

// Copied from nvml.h, which only comes with a CUDA toolkit; the functions' versions fix these
// layouts.
using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu, memory;  // per cent
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};
constexpr int kSuccess = 0;

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <class Function>
void find(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library.get(), name));
}

struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device)(const char* pci_bus_id, NvmlDevice* device) = nullptr;
  int (*utilization)(NvmlDevice device, NvmlUtilization* utilization) = nullptr;
  int (*memory)(NvmlDevice device, NvmlMemory* memory) = nullptr;

  explicit Functions(const Library& library) {
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlShutdown", shutdown);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", device);
    find(library, "nvmlDeviceGetUtilizationRates", utilization);
    find(library, "nvmlDeviceGetMemoryInfo", memory);
  }
  bool complete() const { return init && shutdown && device && utilization && memory; }
};

class LoadedNvml final : public Nvml {
 public:
  LoadedNvml(Library library, const Functions& functions, NvmlDevice device)
      : library_(std::move(library)), functions_(functions), device_(device) {}
  ~LoadedNvml() override { functions_.shutdown(); }
  LoadedNvml(const LoadedNvml&) = delete;
  LoadedNvml& operator=(const LoadedNvml&) = delete;

  std::optional<GpuUse> read() const override {
    NvmlUtilization utilization{};
    NvmlMemory memory{};
    if (functions_.utilization(device_, &utilization) != kSuccess) return std::nullopt;
    if (functions_.memory(device_, &memory) != kSuccess) return std::nullopt;
    return GpuUse{.utilization = utilization.gpu / 100.0,
                  .memory_used_bytes = memory.used,
                  .memory_total_bytes = memory.total};
  }

 private:
  Library library_;
  Functions functions_;
  NvmlDevice device_;
};

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id) {
  Library library(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!library) return nullptr;
  const Functions functions(library);
  if (!functions.complete() || functions.init() != kSuccess) return nullptr;
  NvmlDevice device = nullptr;
  if (functions.device(pci_bus_id.c_str(), &device) != kSuccess) {
    functions.shutdown();
    return nullptr;
  }
  return std::make_unique<LoadedNvml>(std::move(library), functions, device);
}

}  // namespace packhorse::trainer
