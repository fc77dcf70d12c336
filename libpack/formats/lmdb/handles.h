#pragma once

#include <lmdb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse::lmdb {

/// Throws Error for an LMDB return code other than 0.
void check(int code, const char* doing, const std::filesystem::path& path);

struct CloseEnv {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
struct CloseCursor {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using Env = std::unique_ptr<MDB_env, CloseEnv>;
using Cursor = std::unique_ptr<MDB_cursor, CloseCursor>;

/// A transaction that aborts unless it is committed.
class Txn {
 public:
  Txn() = default;
  Txn(MDB_env* env, unsigned flags, const std::filesystem::path& path) {
    check(mdb_txn_begin(env, nullptr, flags, &txn_), "begin a transaction on", path);
  }
  ~Txn() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  Txn(Txn&& other) noexcept : txn_(std::exchange(other.txn_, nullptr)) {}
  Txn& operator=(Txn&& other) noexcept {
    std::swap(txn_, other.txn_);
    return *this;
  }
  MDB_txn* get() const { return txn_; }
  explicit operator bool() const { return txn_ != nullptr; }
  void commit(const std::filesystem::path& path) {
    check(mdb_txn_commit(std::exchange(txn_, nullptr)), "commit to", path);
  }

 private:
  MDB_txn* txn_ = nullptr;
};

/// Opens a data file for reading, without a lock file: published shards never change. Throws
/// Error(kCorrupt) when it is cut, since touching its map would then raise SIGBUS.
Env open_read_only(const std::filesystem::path& path);

/// Pages of a walk that may stay mapped, in bytes, before they are given back.
inline constexpr std::uint64_t kMostMapped = 32u << 20;

/// Where the mapping that holds `address` begins. LMDB maps its file from the start, in one piece,
/// but tells the address only for fixed maps; so it is read from the kernel's list of mappings.
const std::byte* start_of_map(const void* address, const std::filesystem::path& path);

std::string library_version();

}  // namespace packhorse::lmdb
