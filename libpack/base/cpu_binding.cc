#include "packhorse/base/cpu_binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr int kMostCpus = CPU_SETSIZE;

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < kMostCpus; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<int> all_of(const std::vector<NumaNode>& nodes) {
  std::vector<int> cpus;
  for (const NumaNode& node : nodes) cpus.insert(cpus.end(), node.cpus.begin(), node.cpus.end());
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

const NumaNode* find(const std::vector<NumaNode>& nodes, int number) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NumaNode& node) { return node.number == number; });
  return found == nodes.end() ? nullptr : &*found;
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
  if (process.count == 1 && !near_device) return {};
  const std::vector<int> places = places_of(nodes, process);
  const auto mine = static_cast<std::size_t>(process.number);
  const int node = places.at(mine);
  const auto before =
      static_cast<std::size_t>(std::count(places.begin(), places.begin() + process.number, node));
  const auto sharing = static_cast<std::size_t>(std::count(places.begin(), places.end(), node));
  const std::vector<int>& cpus = find(nodes, node)->cpus;
  const std::size_t begin = before * cpus.size() / sharing;
  const std::size_t end = std::max(begin + 1, (before + 1) * cpus.size() / sharing);
  return {cpus.begin() + static_cast<std::ptrdiff_t>(begin),
          cpus.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

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
  for (const auto& entry : fs::directory_iterator(sysfs, code)) {
    const std::string name = entry.path().filename();
    const std::optional<int> number =
        name.starts_with("node") ? number_in(std::string_view(name).substr(4)) : std::nullopt;
    std::string list;
    if (!number || !(std::ifstream(entry.path() / "cpulist") >> list)) continue;  // no CPUs: memory
    std::vector<int> cpus = common(parse_cpu_list(list), allowed);
    if (!cpus.empty()) nodes.push_back({*number, std::move(cpus)});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.number < b.number; });
  if (nodes.empty()) nodes.push_back({0, allowed});
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

std::vector<int> cpus_for(const CpuBinding& binding, const std::vector<NumaNode>& nodes,
                          const LocalProcess& process) {
  switch (binding.kind) {
    case CpuBinding::Kind::kNone:
      return {};
    case CpuBinding::Kind::kAuto:
      return choose(nodes, process);
    case CpuBinding::Kind::kNode: {
      if (const NumaNode* node = find(nodes, binding.node)) return node->cpus;
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
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &mask);
  // Each thread has CPUs of its own; a new one takes those of the thread that starts it.
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    const std::optional<int> thread = number_in(entry.path().filename().native());
    if (thread && ::sched_setaffinity(*thread, sizeof mask, &mask) != 0 && errno != ESRCH)
      throw_errno("bind this process to the CPUs " + cpu_list_text(cpus), {});
  }
}

}  // namespace packhorse
