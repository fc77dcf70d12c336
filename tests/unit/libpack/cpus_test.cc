#include "cpus.h"

#include <doctest/doctest.h>

#include "packhorse/pack.h"
#include "support/support.h"

namespace packhorse::test {

TEST_CASE("cpus: version 2: the least quota of the group and those above it") {
  const TemporaryDirectory mount;
  put(mount / "a" / "cpu.max", "400000 100000\n");
  put(mount / "a" / "b" / "cpu.max", "max 100000\n");
  put(mount / "a" / "c" / "cpu.max", "150000 100000\n");
  CHECK(cgroup_quota(mount.path(), "0::/a/b\n") == 4);
  CHECK(cgroup_quota(mount.path(), "0::/a/c\n") == 1.5);
  CHECK(cgroup_quota(mount.path(), "0::/\n") == 0);
}

TEST_CASE("cpus: in a container the quota stands at the mount's root") {
  const TemporaryDirectory mount;
  put(mount / "cpu.max", "200000 100000\n");
  CHECK(cgroup_quota(mount.path(), "0::/system.slice/docker-1.scope\n") == 2);
  CHECK(cgroup_quota(mount.path(), "0::/../..\n") == 2);
}

TEST_CASE("cpus: version 1, whatever its folder is called") {
  const TemporaryDirectory mount;
  put(mount / "cpu,cpuacct" / "jobs" / "cpu.cfs_quota_us", "250000\n");
  put(mount / "cpu,cpuacct" / "jobs" / "cpu.cfs_period_us", "100000\n");
  put(mount / "cpu" / "cpu.cfs_quota_us", "-1\n");
  put(mount / "cpu" / "cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_quota(mount.path(), "5:memory:/x\n3:cpu,cpuacct:/jobs\n0::/jobs\n") == 2.5);
  CHECK(cgroup_quota(mount.path(), "3:cpu:/jobs\n") == 0);
}

TEST_CASE("cpus: nonsense is no quota, and one CPU is always there") {
  const TemporaryDirectory mount;
  put(mount / "cpu.max", "x y\n");
  CHECK(cgroup_quota(mount.path(), "0::/\nrubbish\n::\n") == 0);
  CHECK(cgroup_quota(mount.path(), "") == 0);
  CHECK(available_cpus() >= 1);
}

}  // namespace packhorse::test
