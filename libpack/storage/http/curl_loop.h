#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "storage/http/transfer.h"
#include "storage/object_store.h"

namespace packhorse {

/// A thread that carries out transfers, all at once, and keeps their connections. Whoever sends
/// them sees to their number. Thread-safe, but for the destructor.
class CurlLoop {
 public:
  /// Throws Error(kUnsupported) where libcurl cannot start.
  explicit CurlLoop(const StorageOptions& options);
  /// Ends what is under way by Error(kInterrupted).
  ~CurlLoop();
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  void send(std::unique_ptr<Transfer> transfer);
  /// Ends soon what was sent up to now and is of this owner or task, by Error(kInterrupted).
  void give_up(const void* name);
  std::thread::id thread_id() const { return thread_.get_id(); }

 private:
  struct Sent {
    std::uint64_t number = 0;  ///< of those sent before
    std::unique_ptr<Transfer> transfer;
  };
  struct Active {
    EasyHandle handle;
    Sent sent;
  };
  /// Transfers of an owner or a task before a number. The next may have the same address.
  struct Unwanted {
    const void* name;
    std::uint64_t before;
  };
  void run();
  bool take_orders();
  void begin(Sent sent);
  void end_finished();
  void end_stalled();
  void end_all();
  /// Takes a transfer off libcurl; its handle may then serve another.
  std::unique_ptr<Transfer> take_off(CURL* handle);
  int patience_ms() const;

  const StorageOptions options_;
  const std::string certificates_;
  MultiHandle multi_;
  std::vector<EasyHandle> idle_;
  std::unordered_map<CURL*, Active> active_;
  std::mutex mutex_;
  std::vector<Sent> inbox_;  ///< with what follows, under mutex_
  std::vector<Unwanted> unwanted_;
  std::uint64_t sent_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

/// Signals go to the program's own threads: this one blocks all but those of its own faults.
void block_signals();

}  // namespace packhorse
