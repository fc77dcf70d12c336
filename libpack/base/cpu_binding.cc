#include "packhorse/base/cpu_binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr int kMostCpus = 1 << 16;  // Linux is built for 8192 at most

/// A set of any number of CPUs, as the kernel takes it.
class CpuMask {
 public:
  CpuMask() : mask_(kMostCpus / kBits) {}
  bool has(int cpu) const { return (word(cpu) >> (cpu % kBits) & 1) != 0; }
  void add(int cpu) { mask_[static_cast<std::size_t>(cpu / kBits)] |= 1UL << (cpu % kBits); }
  std::size_t bytes() const { return mask_.size() * sizeof(unsigned long); }
  cpu_set_t* data() { return reinterpret_cast<cpu_set_t*>(mask_.data()); }

 private:
  static constexpr int kBits = 8 * sizeof(unsigned long);
  unsigned long word(int cpu) const { return mask_[static_cast<std::size_t>(cpu / kBits)]; }
  std::vector<unsigned long> mask_;
};

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<int> sorted(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::vector<int> all_of(const std::vector<NumaNode>& nodes) {
  std::vector<int> cpus;
  for (const NumaNode& node : nodes) cpus.insert(cpus.end(), node.cpus.begin(), node.cpus.end());
  return sorted(std::move(cpus));
}

const NumaNode* find(const std::vector<NumaNode>& nodes, int number) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NumaNode& node) { return node.number == number; });
  return found == nodes.end() ? nullptr : &*found;
}

/// The CPUs of a list in sysfs; nothing where there is none.
std::vector<int> cpus_in(const fs::path& file) {
  std::string list;
  return std::ifstream(file) >> list ? parse_cpu_list(list) : std::vector<int>();
}

/// Puts those of one core side by side, so that a share of them is whole cores.
void sort_by_core(std::vector<int>& cpus, const fs::path& sysfs) {
  std::map<int, int> core;
  for (const int cpu : cpus) {
    const fs::path topology = sysfs / "cpu" / fmt::format("cpu{}", cpu) / "topology";
    const std::vector<int> siblings = cpus_in(topology / "thread_siblings_list");
    core[cpu] = siblings.empty() ? cpu : siblings.front();
  }
  std::stable_sort(cpus.begin(), cpus.end(), [&](int a, int b) { return core[a] < core[b]; });
}

std::vector<int> part_of(const std::vector<int>& cpus, std::size_t part, std::size_t parts) {
  const std::size_t begin = part * cpus.size() / parts;
  const std::size_t end = std::max(begin + 1, (part + 1) * cpus.size() / parts);
  return sorted({cpus.begin() + static_cast<std::ptrdiff_t>(begin),
                 cpus.begin() + static_cast<std::ptrdiff_t>(end)});
}

/// The node of each process.
std::vector<int> places_of(const std::vector<NumaNode>& nodes, const LocalProcess& process) {
  const auto count = static_cast<std::size_t>(process.count);
  std::vector<int> places;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<int> device =
        process.device_nodes.empty() ? std::nullopt : process.device_nodes.at(i);
    places.push_back(device && find(nodes, *device) != nullptr
                         ? *device
                         : nodes[i * nodes.size() / std::max(count, nodes.size())].number);
  }
  return places;
}

std::vector<int> choose(const std::vector<NumaNode>& nodes, const LocalProcess& process) {
  const bool near_device = std::any_of(process.device_nodes.begin(), process.device_nodes.end(),
                                       [](const auto& node) { return node.has_value(); });
  if (process.bound_before || (process.count == 1 && !near_device)) return {};
  const auto count = static_cast<std::size_t>(process.count);
  const auto mine = static_cast<std::size_t>(process.number);
  if (!near_device && count < nodes.size()) {  // some have several nodes
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(mine * nodes.size() / count);
    const auto end = nodes.begin() + static_cast<std::ptrdiff_t>((mine + 1) * nodes.size() / count);
    return all_of({begin, end});
  }
  const std::vector<int> places = places_of(nodes, process);
  const int node = places.at(mine);
  const auto before = std::count(places.begin(), places.begin() + process.number, node);
  const auto sharing = std::count(places.begin(), places.end(), node);
  return part_of(find(nodes, node)->cpus, static_cast<std::size_t>(before),
                 static_cast<std::size_t>(sharing));
}

}  // namespace

std::vector<int> allowed_cpus() {
  CpuMask mask;
  if (::sched_getaffinity(0, mask.bytes(), mask.data()) != 0)
    throw_errno("ask which CPUs this process may use", {});
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (mask.has(cpu)) cpus.push_back(cpu);
  return cpus;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::string_view rest = text;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t dash = part.find('-');
    const std::optional<int> first = number_in(part.substr(0, dash));
    const std::optional<int> last =
        dash == std::string_view::npos ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostCpus ||
        (!cpus.empty() && *first <= cpus.back()))
      refuse("'" + text + "' is no list of CPUs", "give increasing numbers such as 0-3,8");
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (part.size() == rest.size()) return cpus;
    rest.remove_prefix(part.size() + 1);
  }
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < cpus.size(); begin = end) {
    for (end = begin + 1; end < cpus.size() && cpus[end] == cpus[end - 1] + 1; ++end) {
    }
    text += (text.empty() ? "" : ",") + std::to_string(cpus[begin]);
    if (end - begin > 1) text += "-" + std::to_string(cpus[end - 1]);
  }
  return text;
}

std::vector<NumaNode> numa_nodes(const fs::path& sysfs) {
  const std::vector<int> allowed = allowed_cpus();
  std::vector<NumaNode> nodes;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(sysfs / "node", code)) {
    const std::string name = entry.path().filename();
    const std::optional<int> number =
        name.starts_with("node") ? number_in(std::string_view(name).substr(4)) : std::nullopt;
    if (!number) continue;
    std::vector<int> cpus = common(cpus_in(entry.path() / "cpulist"), allowed);
    if (!cpus.empty()) nodes.push_back({*number, std::move(cpus)});  // others are memory alone
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.number < b.number; });
  if (nodes.empty()) nodes.push_back({0, allowed});
  for (NumaNode& node : nodes) sort_by_core(node.cpus, sysfs);
  return nodes;
}

std::optional<int> node_of_device(const std::string& pci_address, const fs::path& sysfs) {
  std::string name = pci_address;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  int node = -1;
  if (name.empty() || !(std::ifstream(sysfs / name / "numa_node") >> node) || node < 0)
    return std::nullopt;
  return node;
}

CpuBinding CpuBinding::parse(const std::string& text) {
  if (text == "none") return {};
  if (text == "auto") return {.kind = Kind::kAuto};
  if (text.starts_with("cpus:")) return {Kind::kCpus, 0, parse_cpu_list(text.substr(5))};
  if (text.starts_with("node:")) {
    if (const auto node = number_in(std::string_view(text).substr(5)))
      return {Kind::kNode, *node, {}};
  }
  refuse("'" + text + "' says not what to bind to", "give auto, node:N, cpus:LIST or none");
}

ProcessPlace ProcessPlace::here(std::optional<int> device_node) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string boot;  // containers of one machine have names of their own, but one kernel
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return {boot.empty() ? host.data() : boot, allowed_cpus(), device_node};
}

std::string ProcessPlace::serialise() const {
  return fmt::format("{}\n{}\n{}", machine, cpu_list_text(cpus), device_node.value_or(-1));
}

ProcessPlace ProcessPlace::parse(const std::string& text) {
  std::istringstream lines(text);
  ProcessPlace place;
  std::string cpus;
  int node = -1;
  if (!std::getline(lines, place.machine) || !(lines >> cpus >> node))
    throw Error(ErrorKind::kCorrupt, "another process says wrongly where it runs");
  place.cpus = parse_cpu_list(cpus);
  if (node >= 0) place.device_node = node;
  return place;
}

LocalProcess LocalProcess::among(const std::vector<ProcessPlace>& all, int rank) {
  const ProcessPlace& mine = all.at(static_cast<std::size_t>(rank));
  LocalProcess process{0, 0, {}, false};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].machine != mine.machine) continue;
    if (i < static_cast<std::size_t>(rank)) ++process.number;
    ++process.count;
    process.device_nodes.push_back(all[i].device_node);
    if (all[i].cpus != mine.cpus) process.bound_before = true;
  }
  return process;
}

std::vector<int> cpus_for(const CpuBinding& binding, const std::vector<NumaNode>& nodes,
                          const LocalProcess& process) {
  switch (binding.kind) {
    case CpuBinding::Kind::kNone:
      return {};
    case CpuBinding::Kind::kAuto:
      return choose(nodes, process);
    case CpuBinding::Kind::kNode: {
      if (const NumaNode* node = find(nodes, binding.node)) return sorted(node->cpus);
      std::vector<int> numbers;
      for (const NumaNode& node : nodes) numbers.push_back(node.number);
      refuse(
          fmt::format("there is no NUMA node {} with CPUs that this process may use", binding.node),
          fmt::format("give one of {}", fmt::join(numbers, ", ")));
    }
    case CpuBinding::Kind::kCpus: {
      const std::vector<int> all = all_of(nodes);
      if (common(binding.cpus, all) == binding.cpus) return binding.cpus;
      refuse("this process may not use all of the CPUs " + cpu_list_text(binding.cpus),
             "give some of " + cpu_list_text(all));
    }
  }
  return {};
}

void bind_to(const std::vector<int>& cpus) {
  CpuMask mask;
  for (const int cpu : cpus) mask.add(cpu);
  // Each thread has CPUs of its own; a new one takes those of the thread that starts it.
  std::error_code code;
  for (fs::directory_iterator entry("/proc/self/task", code), end; !code && entry != end;
       entry.increment(code)) {
    const std::optional<int> thread = number_in(entry->path().filename().native());
    if (thread && ::sched_setaffinity(*thread, mask.bytes(), mask.data()) != 0 && errno != ESRCH)
      throw_errno("bind this process to the CPUs " + cpu_list_text(cpus), {});
  }
  if (code)
    throw Error(ErrorKind::kIo, "cannot list the threads of this process: " + code.message(),
                "/proc/self/task", "mount /proc, or leave out --bind");
}

}  // namespace packhorse
