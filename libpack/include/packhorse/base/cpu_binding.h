#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Binds a process to some of the CPUs, so that its threads and the memory that they touch first
/// are on one side of a machine with several memories (NUMA).
///
/// Sources: sched_setaffinity(2), numa(7), the kernel's Documentation/ABI for
/// /sys/devices/system/node, /sys/devices/system/cpu and /sys/bus/pci.
namespace packhorse {

/// The CPUs that this process may use, increasing. Throws Error(kIo).
std::vector<int> allowed_cpus();

/// CPUs that share a memory.
struct NumaNode {
  int number = 0;
  std::vector<int> cpus;  ///< those that this process may use; those of one core side by side
  bool operator==(const NumaNode&) const = default;
};

/// The nodes with CPUs that this process may use; one node with all of them where the kernel tells
/// nothing of nodes. Throws Error(kIo).
std::vector<NumaNode> numa_nodes(const std::filesystem::path& sysfs = "/sys/devices/system");

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

/// Where a process is, which the others of a job must know to divide their machine.
struct ProcessPlace {
  std::string machine;             ///< the same for all processes of one kernel
  std::vector<int> cpus;           ///< those it may use
  std::optional<int> device_node;  ///< the node of its device, where that is known
  /// This process's.
  static ProcessPlace here(std::optional<int> device_node = {});
  std::string serialise() const;
  /// Throws Error(kCorrupt).
  static ProcessPlace parse(const std::string& text);
};

/// One of the processes that work together on a machine.
struct LocalProcess {
  int number = 0, count = 1;
  /// For each of them, the node that its device is attached to, where that is known: nothing, or as
  /// many as processes.
  std::vector<std::optional<int>> device_nodes = {};
  /// They may not use the same CPUs, since whatever started them has bound them already.
  bool bound_before = false;
  /// The process `rank` among those of its machine, which all are told alike.
  static LocalProcess among(const std::vector<ProcessPlace>& all, int rank);
};

/// The CPUs that a process is to be bound to, increasing; none where it needs no binding. kAuto:
/// those of its device's node, else the processes are dealt out over the nodes in order; processes
/// of one node share its CPUs evenly, whole cores where that can be; nothing for processes that are
/// bound already. Throws Error(kUsage) for CPUs or a node that this process may not use.
std::vector<int> cpus_for(const CpuBinding& binding, const std::vector<NumaNode>& nodes,
                          const LocalProcess& process);

/// Binds the threads of this process and all that they will start; to be called while no thread
/// starts others. Throws Error(kIo).
void bind_to(const std::vector<int>& cpus);

}  // namespace packhorse
