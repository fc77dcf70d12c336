#include "packhorse/trainer/parallel/processes.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#ifdef PACKHORSE_TORCH_HAS_CUDA
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <thread>

#include "base/stop.h"
#include "device/lost_process.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

using c10::intrusive_ptr;
using c10::make_intrusive;

/// Runs `work` among processes; anything it throws means a lost process, which has obeyed a stop
/// where this one is to stop, too.
template <class Work>
auto among_processes(const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    obey_stop();
    throw_lost_process(error.what_without_backtrace());
  } catch (const std::exception& error) {
    obey_stop();
    throw_lost_process(error.what());
  }
}

/// Gloo listens on the address that the host's name resolves to, unless all processes are on one
/// machine.
auto gloo_device(const Launch& launch) {
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  }
  if (launch.local_world == launch.world) {
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

struct Processes::Impl {
  Impl(const Launch& launch, [[maybe_unused]] const Device& device, std::chrono::seconds timeout) {
    c10d::TCPStoreOptions options;
    options.port = launch.port;
    options.isServer = launch.rank == 0 && !launch.served;
    options.waitWorkers = false;
    options.timeout = timeout;
    // The launcher's store outlives a restart. The prefix keeps values of an earlier attempt from
    // being read.
    store = make_intrusive<c10d::PrefixStore>("/packhorse/" + launch.attempt,
                                              make_intrusive<c10d::TCPStore>(launch.host, options));
    group = make_intrusive<c10d::ProcessGroup>(store, launch.rank, launch.world);
    const auto gloo_options = c10d::ProcessGroupGloo::Options::create(timeout);
    gloo_options->devices.push_back(gloo_device(launch));
    gloo = make_intrusive<c10d::ProcessGroupGloo>(make_intrusive<c10d::PrefixStore>("gloo", store),
                                                  launch.rank, launch.world, gloo_options);
    group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO,
                      intrusive_ptr<c10d::Backend>(gloo));
    group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
#ifdef PACKHORSE_TORCH_HAS_CUDA
    if (device.is_cuda()) {
      claim(device);
      c10::cuda::set_device(static_cast<c10::DeviceIndex>(device.index));
      const auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
      // Longer than Gloo's: where both wait for a process that is lost, Gloo's error reaches the
      // user, while NCCL's watchdog ends the program.
      nccl_options->timeout = 2 * timeout;
      auto nccl =
          make_intrusive<c10d::ProcessGroupNCCL>(make_intrusive<c10d::PrefixStore>("nccl", store),
                                                 launch.rank, launch.world, nccl_options);
      group->setBackend(at::kCUDA, c10d::ProcessGroup::BackendType::NCCL,
                        intrusive_ptr<c10d::Backend>(std::move(nccl)));
      group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
    }
#endif
    group->setGroupName("default");
  }

  /// Claims a GPU for one process. NCCL would report a shared one in its own way, or hang.
  void claim(const Device& device) const {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string gpu = pci_bus_id(device);
    if (store->add(fmt::format("gpu/{}/{}", host.data(), gpu), 1) == 1) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("another process of this training uses the same GPU, {} of {}", gpu,
                            host.data()),
                {}, "start only as many processes on a machine as it has GPUs");
  }

  /// Until the first process has set it, or for so long that get() gives up. The store itself would
  /// wait in one piece, without a look at a stop.
  void wait_for(const std::string& key) const {
    const auto until = std::chrono::steady_clock::now() + store->getTimeout();
    while (!store->check({key}) && std::chrono::steady_clock::now() < until) {
      obey_stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  intrusive_ptr<c10d::Work> reduce(const at::Tensor& tensor, c10d::ReduceOp::RedOpType by) const {
    c10d::AllreduceOptions options;
    options.reduceOp = by;
    std::vector<at::Tensor> tensors = {tensor};
    return group->allreduce(tensors, options);
  }

  intrusive_ptr<c10d::Store> store;
  intrusive_ptr<c10d::ProcessGroup> group;
  intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  mutable int checks = 0;
  bool aborted = false;
};

Processes::Processes() = default;

Processes::Processes(const Launch& launch, const Device& device, std::chrono::seconds timeout)
    : launch_(launch) {
  try {
    impl_ = std::make_unique<Impl>(launch, device, timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string what = error.what();
    throw Error(
        ErrorKind::kIo,
        fmt::format("process {} of {} could not connect to the others at {}:{} within {} s: {}",
                    launch.rank, launch.world, launch.host, launch.port, timeout.count(),
                    what.substr(0, what.find('\n'))),
        {}, "check that all of them are running and can reach this address");
  }
}

// NCCL's threads and communicators must be ended while the others are still there; left to the end
// of the program, they wait for those that have gone, or for the CUDA that has.
Processes::~Processes() {
  try {
    if (impl_ && !impl_->aborted) impl_->group->shutdown();
  } catch (const std::exception&) {
    // A process is lost: what was said about that is better than what NCCL would say here.
  }
}

void Processes::sum(at::Tensor tensor) const {
  if (!impl_) return;
  among_processes([&] { impl_->reduce(tensor, c10d::ReduceOp::SUM)->wait(); });
}

void Processes::broadcast(const std::vector<at::Tensor>& tensors) const {
  if (!impl_) return;
  among_processes([&] {
    for (const auto& tensor : tensors) {
      // Tensors are sent as they lie in memory, so their memory order must be the same everywhere.
      std::vector<at::Tensor> one = {tensor};
      impl_->group->broadcast(one)->wait();
    }
  });
}

std::vector<std::vector<std::byte>> Processes::gather(const std::vector<std::byte>& bytes) const {
  if (!impl_) return {bytes};
  const at::Tensor sizes = at::zeros({size()}, at::kLong);
  sizes[rank()] = static_cast<std::int64_t>(bytes.size());
  sum(sizes);
  // Each fills its part of one tensor, which is zero elsewhere.
  const at::Tensor all = at::zeros({sizes.sum().item<std::int64_t>()}, at::kByte);
  auto* const data = reinterpret_cast<std::byte*>(all.mutable_data_ptr<std::uint8_t>());
  const auto* const ends = sizes.const_data_ptr<std::int64_t>();
  std::copy(bytes.begin(), bytes.end(),
            data + std::accumulate(ends, ends + rank(), std::int64_t{0}));
  if (all.numel() > 0) sum(all);
  std::vector<std::vector<std::byte>> parts;
  const std::byte* from = data;
  for (int i = 0; i < size(); from += ends[i++]) parts.emplace_back(from, from + ends[i]);
  return parts;
}

void Processes::check_same(const std::string& what, const std::string& text) const {
  if (!impl_) return;
  const std::string key = fmt::format("same/{}", impl_->checks++);
  const auto expected = among_processes([&] {
    if (first()) impl_->store->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
    impl_->wait_for(key);
    return impl_->store->get(key);
  });
  if (std::string(expected.begin(), expected.end()) == text) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("process {} has {} that process 0 does not have", rank(), what), {},
              "start all processes with the same command, on the same data");
}

void Processes::meet() const { any(false); }

void Processes::abort() noexcept try {
  if (!impl_) return;
  impl_->aborted = true;
  impl_->group->abort();
} catch (const std::exception&) {
  // The communicators are gone, as far as they can be.
}

int Processes::flags(int here) const {
  if (!impl_) return here;
  const auto ballot = at::full({1}, here, at::kInt);
  among_processes([&] { impl_->reduce(ballot, c10d::ReduceOp::BOR)->wait(); });
  return ballot.item<int>();
}

c10d::ProcessGroup* Processes::group() const { return impl_ ? impl_->group.get() : nullptr; }

}  // namespace packhorse::trainer
