#include "base/resources.h"

#include <doctest/doctest.h>

#include "base/control_groups.h"
#include "support/support.h"

namespace packhorse::test {

TEST_CASE("resources: version 2: the least quota of the group and those above it") {
  const TemporaryDirectory mount;
  put(mount / "a" / "cpu.max", "400000 100000\n");
  put(mount / "a" / "b" / "cpu.max", "max 100000\n");
  put(mount / "a" / "c" / "cpu.max", "150000 100000\n");
  CHECK(cgroup_cpus(mount.path(), "0::/a/b\n") == 4);
  CHECK(cgroup_cpus(mount.path(), "0::/a/c\n") == 1.5);
  CHECK(!cgroup_cpus(mount.path(), "0::/\n"));
}

TEST_CASE("resources: in a container the quota stands at the mount's root") {
  const TemporaryDirectory mount;
  put(mount / "cpu.max", "200000 100000\n");
  CHECK(cgroup_cpus(mount.path(), "0::/system.slice/docker-1.scope\n") == 2);
  CHECK(cgroup_cpus(mount.path(), "0::/../..\n") == 2);
}

TEST_CASE("resources: version 1, whatever its folder is called") {
  const TemporaryDirectory mount;
  put(mount / "cpu,cpuacct" / "jobs" / "cpu.cfs_quota_us", "250000\n");
  put(mount / "cpu,cpuacct" / "jobs" / "cpu.cfs_period_us", "100000\n");
  put(mount / "cpu" / "cpu.cfs_quota_us", "-1\n");
  put(mount / "cpu" / "cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_cpus(mount.path(), "5:memory:/x\n3:cpu,cpuacct:/jobs\n0::/jobs\n") == 2.5);
  CHECK(!cgroup_cpus(mount.path(), "3:cpu:/jobs\n"));
}

TEST_CASE("resources: memory is what the tightest group leaves, cached files not counted") {
  const TemporaryDirectory mount;
  put(mount / "a" / "memory.max", "10000000\n");
  put(mount / "a" / "memory.current", "9000000\n");
  put(mount / "a" / "memory.stat", "anon 1\nactive_file 7\ninactive_file 4000000\n");
  put(mount / "a" / "b" / "memory.max", "2000000\n");
  put(mount / "a" / "b" / "memory.current", "500000\n");
  put(mount / "a" / "c" / "memory.max", "max\n");
  CHECK(cgroup_memory(mount.path(), "0::/a\n") == 5000000);
  CHECK(cgroup_memory(mount.path(), "0::/a/b\n") == 1500000);
  CHECK(cgroup_memory(mount.path(), "0::/a/c\n") == 5000000);
  CHECK(!cgroup_memory(mount.path(), "0::/\n"));
  put(mount / "a" / "memory.current", "99000000\n");
  CHECK(cgroup_memory(mount.path(), "0::/a\n") == 0);
}

TEST_CASE("resources: memory in version 1, where no limit is a large number") {
  const TemporaryDirectory mount;
  const auto group = mount / "memory" / "jobs" / "7";
  put(group / "memory.limit_in_bytes", "3000000\n");
  put(group / "memory.usage_in_bytes", "2500000\n");
  put(group / "memory.stat", "inactive_file 3\ntotal_inactive_file 1000000\n");
  put(mount / "memory" / "memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(cgroup_memory(mount.path(), "4:memory:/jobs/7\n1:cpu:/\n0::/\n") == 1500000);
  CHECK(!cgroup_memory(mount.path(), "4:memory:/\n"));
  CHECK(!cgroup_memory(mount.path(), "4:memoryless:/jobs/7\n"));
}

TEST_CASE("resources: this process has some memory, and may take more") {
  CHECK(anonymous_memory() > 0);
  CHECK(available_memory() > 0);
}

TEST_CASE("resources: nonsense is no quota, and one CPU is always there") {
  const TemporaryDirectory mount;
  put(mount / "cpu.max", "x y\n");
  CHECK(!cgroup_cpus(mount.path(), "0::/\nrubbish\n::\n"));
  CHECK(!cgroup_cpus(mount.path(), ""));
  CHECK(available_cpus() >= 1);
}

}  // namespace packhorse::test
