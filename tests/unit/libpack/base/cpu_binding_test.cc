#include "packhorse/base/cpu_binding.h"

#include <fstream>
#include <future>
#include <thread>

#include "packhorse/base/error.h"
#include "packhorse/base/resources.h"
#include "support/support.h"

namespace packhorse {

namespace {

using Cpus = std::vector<int>;

/// Two sockets of four cores with two threads each, as Linux numbers them.
const std::vector<NumaNode> kTwo = {{0, {0, 8, 1, 9, 2, 10, 3, 11}},
                                    {1, {4, 12, 5, 13, 6, 14, 7, 15}}};
const Cpus kFirst = {0, 1, 2, 3, 8, 9, 10, 11};
const Cpus kSecond = {4, 5, 6, 7, 12, 13, 14, 15};

Cpus chosen(const std::string& text, const LocalProcess& process = {}) {
  return cpus_for(CpuBinding::parse(text), kTwo, process);
}

bool is_refused(const std::string& text) {
  try {
    static_cast<void>(chosen(text));
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kUsage;
  }
  return false;
}

}  // namespace

TEST_CASE("CPU binding: lists are read and written as the kernel does") {
  CHECK(parse_cpu_list("0-3,8") == Cpus{0, 1, 2, 3, 8});
  CHECK(cpu_list_text({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  for (const char* text : {"", "-1", "3-2", "1,1", "2,1", "0-", "0,", "a", "65536", "0 1"}) {
    CAPTURE(text);
    CHECK(is_refused(std::string("cpus:") + text));
  }
}

TEST_CASE("CPU binding: what is asked for is given, or refused") {
  CHECK(chosen("none").empty());
  CHECK(chosen("node:1") == kSecond);
  CHECK(chosen("cpus:3-5") == Cpus{3, 4, 5});
  for (const char* text : {"node:2", "node:", "node:-1", "cpus:16", "cpus:0,99", "1", ""}) {
    CAPTURE(text);
    CHECK(is_refused(text));
  }
}

TEST_CASE("CPU binding: processes are dealt out over the nodes") {
  CHECK(chosen("auto").empty());  // alone, it may as well use all
  CHECK(chosen("auto", {0, 2}) == kFirst);
  CHECK(chosen("auto", {1, 2}) == kSecond);
  CHECK(chosen("auto", {0, 4}) == Cpus{0, 1, 8, 9});  // whole cores
  CHECK(chosen("auto", {1, 4}) == Cpus{2, 3, 10, 11});
  CHECK(chosen("auto", {3, 4}) == Cpus{6, 7, 14, 15});
  Cpus all;  // three processes: two on the first node
  for (int i = 0; i < 3; ++i) {
    const Cpus mine = chosen("auto", {i, 3});
    all.insert(all.end(), mine.begin(), mine.end());
  }
  CHECK(all.size() == 16);
  const std::vector<NumaNode> three = {{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}};
  const auto of_three = [&](const LocalProcess& process) {
    return cpus_for(CpuBinding::parse("auto"), three, process);
  };
  CHECK(of_three({0, 2}) == Cpus{0, 1});  // fewer processes than nodes: no node is left idle
  CHECK(of_three({1, 2}) == Cpus{2, 3, 4, 5});
  for (int i = 0; i < 40; ++i) CHECK(chosen("auto", {i, 40}).size() == 1);  // more than CPUs
}

TEST_CASE("CPU binding: a process is near its device") {
  LocalProcess process{0, 4, {1, 1, 0, 1}};
  CHECK(chosen("auto", process) == Cpus{4, 12});
  process.number = 1;
  CHECK(chosen("auto", process) == Cpus{5, 6, 13});
  process.number = 2;
  CHECK(chosen("auto", process) == kFirst);
  CHECK(chosen("auto", {0, 1, {1}}) == kSecond);
  CHECK(chosen("auto", {0, 1, {7}}) == kFirst);  // a node without CPUs that it may use
  CHECK(chosen("auto", {0, 1, {std::nullopt}}).empty());
}

TEST_CASE("CPU binding: processes tell each other where they are") {
  ProcessPlace other = ProcessPlace::here(1);
  CHECK(other.machine == ProcessPlace::here().machine);
  other = ProcessPlace::parse(other.serialise());
  CHECK(other.serialise() == ProcessPlace::here(1).serialise());
  CHECK(other.device_node == 1);
  for (const char* text : {"", "a", "a\n0-1", "a\nb\n0"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ProcessPlace::parse(text), Error);
  }
  const auto place = [](const char* machine, const Cpus& cpus, std::optional<int> node) {
    return ProcessPlace{machine, cpus, node};
  };
  // Ranks need not be dealt out machine by machine, nor evenly.
  const std::vector<ProcessPlace> all = {place("a", kFirst, 0), place("b", kFirst, 1),
                                         place("a", kFirst, {}), place("a", kFirst, 1)};
  const LocalProcess last = LocalProcess::among(all, 3);
  CHECK(last.number == 2);
  CHECK(last.count == 3);
  CHECK(last.device_nodes == std::vector<std::optional<int>>{0, std::nullopt, 1});
  CHECK_FALSE(last.bound_before);
  CHECK(LocalProcess::among(all, 1).count == 1);
}

TEST_CASE("CPU binding: what another has bound is not divided again") {
  const std::vector<ProcessPlace> all = {{"a", kFirst, {}}, {"a", kSecond, {}}};
  const LocalProcess first = LocalProcess::among(all, 0);
  CHECK(first.bound_before);
  CHECK(chosen("auto", first).empty());
}

TEST_CASE("CPU binding: nodes are those of the kernel with CPUs of this process") {
  const test::TemporaryDirectory directory;
  const Cpus mine = [] {
    Cpus cpus;
    for (const NumaNode& node : numa_nodes("/nowhere"))
      cpus.insert(cpus.end(), node.cpus.begin(), node.cpus.end());
    return cpus;
  }();
  REQUIRE_FALSE(mine.empty());
  test::put(directory / "node/node1/cpulist", std::to_string(mine.back()) + "\n");
  test::put(directory / "node/node0/cpulist", "1000-9999\n");  // of others
  test::put(directory / "node/node2/cpulist", "\n");           // memory alone
  test::put(directory / "node/possible", "0-2\n");
  CHECK(numa_nodes(directory.path()) == std::vector<NumaNode>{{1, {mine.back()}}});
  if (mine.size() >= 2) {  // two threads of a core, numbered apart
    test::put(directory / "node/node1/cpulist", cpu_list_text(mine) + "\n");
    const std::string pair = cpu_list_text({mine.front(), mine.back()}) + "\n";
    for (const int cpu : {mine.front(), mine.back()}) {
      const std::string folder = "cpu/cpu" + std::to_string(cpu) + "/topology/";
      test::put(directory / (folder + "thread_siblings_list"), pair);
    }
    const Cpus cpus = numa_nodes(directory.path()).front().cpus;
    CHECK(cpus.at(0) == mine.front());
    CHECK(cpus.at(1) == mine.back());
  }
  test::put(directory / "0000:af:00.0/numa_node", "1\n");
  test::put(directory / "0000:b0:00.0/numa_node", "-1\n");
  CHECK(node_of_device("0000:AF:00.0", directory.path()) == 1);
  CHECK_FALSE(node_of_device("0000:b0:00.0", directory.path()).has_value());
  CHECK_FALSE(node_of_device("", directory.path()).has_value());
}

TEST_CASE("CPU binding: all threads of the process are bound, and those they start") {
  const Cpus all = numa_nodes("/nowhere").front().cpus;
  std::promise<void> bound;
  int of_earlier = 0;
  int of_later = 0;
  std::thread earlier([&] {
    bound.get_future().wait();
    of_earlier = available_cpus();
    std::thread([&] { of_later = available_cpus(); }).join();
  });
  bind_to({all.back()});
  bound.set_value();
  earlier.join();
  CHECK(numa_nodes("/nowhere").front().cpus == Cpus{all.back()});
  bind_to(all);
  CHECK(of_earlier == 1);
  CHECK(of_later == 1);
  CHECK(numa_nodes("/nowhere").front().cpus == all);
}

}  // namespace packhorse
