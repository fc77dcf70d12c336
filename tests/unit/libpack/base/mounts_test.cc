#include "base/mounts.h"

#include <string>

#include "support/support.h"

namespace packhorse {

namespace {

constexpr const char* kMounts =
    "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n"
    "30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw,vers=4.2,local_lock=none,addr=1.2.3.4\n"
    "31 22 0:41 / /old rw - nfs server:/old rw,vers=3,nolock,local_lock=all\n"
    "32 22 0:42 / /flocks rw shared:3 master:1 - nfs4 server:/f rw,local_lock=flock\n"
    "33 22 0:43 / /lustre rw - lustre 10.0.0.1@tcp:/fs rw,flock,lazystatfs\n"
    "34 22 0:44 / /lustre/scratch rw - lustre 10.0.0.1@tcp:/fs rw,localflock\n"
    "35 22 0:45 / /two\\040words rw - fuse.sshfs me@there: rw,user_id=0\n"
    "36 22 0:46 / /hidden rw - nfs4 server:/h rw,local_lock=all\n"
    "37 36 0:47 / /hidden rw - tmpfs tmpfs rw\n"
    "a line of another kernel\n";

std::string found(const char* path) { return local_locks(kMounts, path).value_or("none"); }

}  // namespace

TEST_CASE("mounts: locks that hold on one machine alone are told by type and options") {
  CHECK(found("/tmp/out.partial") == "none");
  CHECK(found("/home/me/out.partial") == "none");
  CHECK(found("/old/out.partial") == "nfs with the mount option local_lock=all");
  CHECK(found("/flocks") == "nfs4 with the mount option local_lock=flock");
  CHECK(found("/flocks-not/out") == "none");
  CHECK(found("/lustre/home/out") == "none");
  CHECK(found("/lustre/scratch/out") == "lustre with the mount option localflock");
  CHECK(found("/two words/out") == "fuse.sshfs");
  CHECK(found("/hidden/out") == "none");
}

TEST_CASE("mounts: the disk of this machine has none") {
  CHECK_FALSE(local_locks(std::filesystem::temp_directory_path() / "not there").has_value());
}

}  // namespace packhorse
