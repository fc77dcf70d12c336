#include "common/machine.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <fstream>

#include "packhorse/base/resources.h"

namespace packhorse::program {

namespace {

std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

Json machine_json() {
  struct utsname names {};
  ::uname(&names);
  struct sysinfo info {};
  ::sysinfo(&info);
  return {{"processor", processor()},
          {"cpus", available_cpus()},
          {"memory_bytes", std::uint64_t{info.totalram} * info.mem_unit},
          {"kernel", std::string(names.sysname) + " " + names.release},
          {"architecture", names.machine}};
}

}  // namespace packhorse::program
