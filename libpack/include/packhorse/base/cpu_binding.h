#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Binds a process to some of the CPUs, so that its threads and the memory that they touch first
/// are on one side of a machine with several memories (NUMA).
///
/// Sources: sched_setaffinity(2), numa(7), the kernel's Documentation/ABI for
/// /sys/devices/system/node and /sys/bus/pci.
namespace packhorse {

/// CPUs that share a memory.
struct NumaNode {
  int number = 0;
  std::vector<int> cpus;  ///< those that this process may use
  bool operator==(const NumaNode&) const = default;
};

/// The nodes with CPUs that this process may use; one node with all of them where the kernel tells
/// nothing of nodes.
std::vector<NumaNode> numa_nodes(const std::filesystem::path& sysfs = "/sys/devices/system/node");

/// The node that a PCI device such as "0000:65:00.0" is attached to; nothing where the machine does
/// not say.
std::optional<int> node_of_device(const std::string& pci_address,
                                  const std::filesystem::path& sysfs = "/sys/bus/pci/devices");

/// "0-3,8": numbers, increasing. Throws Error(kUsage).
std::vector<int> parse_cpu_list(const std::string& text);
std::string cpu_list_text(const std::vector<int>& cpus);

/// What a user asks for.
struct CpuBinding {
  enum class Kind { kNone, kAuto, kNode, kCpus };
  Kind kind = Kind::kNone;
  int node = 0;
  std::vector<int> cpus = {};
  /// "none", "auto", "node:1" or "cpus:0-3,8". Throws Error(kUsage).
  static CpuBinding parse(const std::string& text);
};

/// One of the processes that work together on a machine.
struct LocalProcess {
  int number = 0, count = 1;
  /// For each of them, the node that its device is attached to, as far as that is known: nothing,
  /// or as many as processes.
  std::vector<std::optional<int>> device_nodes = {};
};

/// The CPUs that a process is to be bound to; none where it needs no binding. kAuto: those of its
/// device's node, else the processes are dealt out over the nodes in order; processes of one node
/// share its CPUs evenly. Throws Error(kUsage) for CPUs or a node that this process may not use.
std::vector<int> cpus_for(const CpuBinding& binding, const std::vector<NumaNode>& nodes,
                          const LocalProcess& process);

/// Binds the threads of this process and all that they will start; to be called while no thread
/// starts others. Throws Error(kIo).
void bind_to(const std::vector<int>& cpus);

}  // namespace packhorse
