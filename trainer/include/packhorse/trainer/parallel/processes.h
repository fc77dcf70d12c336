#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/trainer/device/device.h"

namespace c10d {
class ProcessGroup;
}

namespace packhorse::trainer {

/// How this process was started as one of several that train together.
struct Launch {
  int rank = 0, world = 1;              ///< among all
  int local_rank = 0, local_world = 1;  ///< among those of this machine
  std::string host = "127.0.0.1";       ///< where the first process, or its launcher, listens
  std::uint16_t port = 29500;
  bool served = false;        ///< the launcher serves the store at host:port; otherwise rank 0 does
  std::string attempt = "0";  ///< changes when the launcher restarts all processes
};

/// Reads what torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, TORCHELASTIC_...) or srun
/// (SLURM_PROCID, ...; MASTER_ADDR and MASTER_PORT where they are set) puts into the environment.
/// Returns nothing when the process was started alone. `variable` looks one up; nullptr:
/// std::getenv, while no other thread changes the environment. Throws Error(kUsage) when some are
/// missing or make no sense.
std::optional<Launch> find_launch(
    const std::function<const char*(const char*)>& variable = nullptr);

/// The processes that train together: NCCL between GPUs, Gloo between CPUs. All of them must call
/// the same functions in the same order. One thread at a time.
///
/// Errors: when another process is gone, or does not reach the same call within `timeout`, every
/// call throws Error(kIo) that says so, or Error(kInterrupted) where the thread was to stop: the
/// others have stopped then, too. A process that fails need not tell the others.
class Processes {
 public:
  /// Makes a process alone: every call returns at once.
  Processes();
  /// Meets the other processes, waiting at most `timeout`. Gloo listens on the network interface
  /// that the environment names (GLOO_SOCKET_IFNAME), if it does. Throws Error(kUsage) also where
  /// another process has the same GPU.
  Processes(const Launch& launch, const Device& device, std::chrono::seconds timeout);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return launch_.rank; }
  int size() const { return launch_.world; }
  int local_rank() const { return launch_.local_rank; }
  int local_size() const { return launch_.local_world; }
  bool first() const { return rank() == 0; }

  /// Sums over all processes, in place. On a GPU the work is queued on the current stream.
  void sum(at::Tensor tensor) const;
  /// Copies the first process's tensors to all, in place. They must have the same shapes and memory
  /// order everywhere.
  void broadcast(const std::vector<at::Tensor>& tensors) const;
  /// What each process gives, by rank, in all of them.
  std::vector<std::vector<std::byte>> gather(const std::vector<std::byte>& bytes) const;
  /// Throws Error(kUsage) in every process but the first whose `text` differs from the first one's.
  /// `what` says what must agree.
  void check_same(const std::string& what, const std::string& text) const;

  /// The bits that any process sets in this call.
  int flags(int here) const;
  /// Whether any process says yes in this call.
  bool any(bool here) const { return flags(here ? 1 : 0) != 0; }

  /// Waits, on the host, until all processes are here. Work queued on a GPU before this will then
  /// end, since each process has queued its part. Without this, a device could wait for ever for a
  /// process that is gone.
  void meet() const;
  /// Gives up the work under way between the GPUs, so that nothing on this one waits for another
  /// process any more. For a process that is ending because of an error: only the destructor may
  /// follow.
  void abort() noexcept;

  /// nullptr for a process alone.
  c10d::ProcessGroup* group() const;

 private:
  struct Impl;
  Launch launch_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
