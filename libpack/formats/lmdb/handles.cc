#include "formats/lmdb/handles.h"

#include <cerrno>
#include <fstream>
#include <sstream>

namespace packhorse::lmdb {

void check(int code, const char* doing, const std::filesystem::path& path) {
  if (code == MDB_SUCCESS) return;
  if (code > 0) {  // LMDB passes errno values through
    errno = code;
    throw_errno(doing, path);
  }
  throw Error(ErrorKind::kCorrupt, std::string("cannot ") + doing + ": " + mdb_strerror(code),
              path);
}

Env open_read_only(const std::filesystem::path& path) {
  MDB_env* raw = nullptr;
  check(mdb_env_create(&raw), "set up LMDB for", path);
  Env env(raw);
  // LMDB raises it to the pages in use. The size in the file is what a writer reserved, often a
  // tebibyte: too much for a process whose address space is limited.
  check(mdb_env_set_mapsize(raw, 1), "set up LMDB for", path);
  check(mdb_env_open(raw, path.c_str(), MDB_RDONLY | MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, 0644),
        "open", path);
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(raw, &info);
  mdb_env_stat(raw, &stat);
  if (std::filesystem::file_size(path) < (info.me_last_pgno + 1) * stat.ms_psize) {
    throw Error(ErrorKind::kCorrupt, "the LMDB file is truncated", path,
                "restore it from a copy, or pack again; `mdb_copy -c` succeeds on an intact file");
  }
  return env;
}

const std::byte* start_of_map(const void* address, const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t offset = 0;
    std::string rights;
    char dash = 0;
    std::istringstream fields(line);
    fields >> std::hex >> begin >> dash >> end >> rights >> offset;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (wanted >= begin && wanted < end && offset == 0)
      return reinterpret_cast<const std::byte*>(begin);
  }
  throw Error(ErrorKind::kIo, "cannot tell where LMDB mapped the file (no /proc/self/maps?)", path);
}

std::string library_version() { return mdb_version(nullptr, nullptr, nullptr); }

}  // namespace packhorse::lmdb
